#include "tilewright/interpret/kernels/Products.h"

#include "tilewright/numerics/Convert.h"
#include "tilewright/support/Concat.h"

#include <algorithm>

namespace tilewright::interpret {

using numerics::isComplex;
using numerics::isReal;
using numerics::spelling;

/// 0 to 3: pred, integer, real, complex.
static int kindOfNumber(ElementType type) {
  if (type == ElementType::pred)
    return 0;
  return isComplex(type) ? 3 : isReal(type) ? 2 : 1;
}

ProductTypes productTypes(ElementType lhs, ElementType rhs, ElementType result) {
  const int kind = std::max(kindOfNumber(lhs), kindOfNumber(rhs)), wanted = kindOfNumber(result);
  if (kind < wanted)
    return {result, result, result};
  if (kind > wanted)
    return {lhs, rhs, numerics::bitWidth(lhs) >= numerics::bitWidth(rhs) ? lhs : rhs};
  return {lhs, rhs, result};
}

Result<Arithmetic> arithmeticFor(std::string_view op, ElementType lhs, ElementType rhs,
                                 ElementType result) {
  auto isOneOf = [&](ElementType type) { return lhs == type || rhs == type || result == type; };
  auto mismatch = [&] {
    return Status(Error::operandType, concat(op, ": products of ", spelling(lhs), " and ",
                                             spelling(rhs), " cannot be accumulated in ",
                                             spelling(result), "; convert the operands first"));
  };
  if (isComplex(lhs) || isComplex(rhs) || isComplex(result)) {
    if (!isComplex(result))
      return mismatch();
    return isOneOf(ElementType::c128) || isOneOf(ElementType::f64) ? Arithmetic::wideComplex
                                                                   : Arithmetic::complex;
  }
  if (isReal(lhs) || isReal(rhs) || isReal(result)) {
    if (!isReal(result))
      return mismatch();
    return isOneOf(ElementType::f64) ? Arithmetic::wideReal : Arithmetic::real;
  }
  return Arithmetic::integer;
}

ElementType operandTypeOf(Arithmetic arithmetic) {
  switch (arithmetic) {
  case Arithmetic::integer:
    return ElementType::ui64;
  case Arithmetic::real:
    return ElementType::f32;
  case Arithmetic::wideReal:
    return ElementType::f64;
  case Arithmetic::complex:
    return ElementType::c64;
  case Arithmetic::wideComplex:
    break;
  }
  return ElementType::c128;
}

static void store(ElementType from, const void *values, int64_t count, Tensor &result,
                  int64_t first) {
  std::byte *target =
      result.mutableData() + static_cast<size_t>(first) * numerics::storageBytes(result.type());
  numerics::convert(from, static_cast<const std::byte *>(values), result.type(), target,
                    static_cast<size_t>(count));
}

/// Rounds sums to `Narrow` in chunks that fit on the stack, and stores them.
template <typename Narrow, typename Wide>
static void storeNarrowed(ElementType from, const Wide *sums, int64_t count, Tensor &result,
                          int64_t first) {
  constexpr int64_t piece = 256;
  Narrow narrow[piece];
  for (int64_t done = 0; done < count; done += piece) {
    const int64_t now = std::min(piece, count - done);
    for (int64_t i = 0; i < now; ++i)
      narrow[i] = static_cast<Narrow>(sums[done + i]);
    store(from, narrow, now, result, first + done);
  }
}

void storeSums(const uint64_t *sums, int64_t count, Tensor &result, int64_t first) {
  store(ElementType::ui64, sums, count, result, first);
}
void storeSums(const double *sums, int64_t count, Tensor &result, int64_t first) {
  store(ElementType::f64, sums, count, result, first);
}
void storeSums(const long double *sums, int64_t count, Tensor &result, int64_t first) {
  storeNarrowed<double>(ElementType::f64, sums, count, result, first);
}
void storeSums(const std::complex<double> *sums, int64_t count, Tensor &result, int64_t first) {
  store(ElementType::c128, sums, count, result, first);
}
void storeSums(const std::complex<long double> *sums, int64_t count, Tensor &result,
               int64_t first) {
  storeNarrowed<std::complex<double>>(ElementType::c128, sums, count, result, first);
}

} // namespace tilewright::interpret
