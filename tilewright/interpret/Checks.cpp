#include "tilewright/interpret/Checks.h"

#include "tilewright/numerics/Float.h"
#include "tilewright/support/Concat.h"

#include <cmath>
#include <limits>

namespace tilewright::interpret {

/// "[1, 2]", the index of element `position`.
static std::string indexOf(const Shape &shape, int64_t position) {
  std::vector<int64_t> index(static_cast<size_t>(shape.rank()));
  for (size_t dim = index.size(); dim > 0; --dim) {
    const int64_t size = shape[static_cast<int64_t>(dim) - 1];
    index[dim - 1] = position % size;
    position /= size;
  }
  return listed(index);
}

/// Fails unless `agrees(actual, expected)` holds for all elements. `describe` formats the distance
/// between two elements.
template <typename Agrees, typename Describe>
static Status compare(const Tensor &actual, const Tensor &expected, std::string_view rule,
                      Agrees agrees, Describe describe) {
  if (actual.type() != expected.type() || actual.shape() != expected.shape())
    return Status(Error::interpretCheck,
                  concat("operands of a check must have the same type, got ", actual.typeString(),
                         " and ", expected.typeString()));
  int64_t differences = 0, first = 0;
  for (int64_t i = 0; i < actual.elementCount(); ++i)
    if (!agrees(actual.at(i), expected.at(i)) && differences++ == 0)
      first = i;
  if (differences == 0)
    return Status();
  const Scalar got = actual.at(first), want = expected.at(first);
  return Status(Error::interpretCheck,
                concat(differences, " of ", actual.elementCount(), " elements are not ", rule,
                       ", the first at ", indexOf(actual.shape(), first), ": got ",
                       toString(actual.type(), got), ", expected ", toString(actual.type(), want),
                       describe(got, want)));
}

Status expectEqual(const Tensor &actual, const Tensor &expected) {
  const ElementType type = actual.type();
  auto same = [](double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); };
  return compare(
      actual, expected, "equal",
      [type, same](const Scalar &a, const Scalar &b) {
        if (numerics::isComplex(type))
          return same(a.r, b.r) && same(a.im, b.im);
        return numerics::isReal(type) ? same(a.r, b.r) : a.u == b.u;
      },
      [](const Scalar &, const Scalar &) { return std::string(); });
}

uint64_t ulpsApart(ElementType type, double a, double b) {
  if (a == b || (std::isnan(a) && std::isnan(b)))
    return 0;
  if (!std::isfinite(a) || !std::isfinite(b))
    return std::numeric_limits<uint64_t>::max();
  // Without the sign bit, the encoding of a value is its index in the sequence of non-negative
  // values.
  const unsigned padding = numerics::formatOf(type).paddingBits;
  const uint64_t up = numerics::encode(type, std::fabs(a)) >> padding;
  const uint64_t down = numerics::encode(type, std::fabs(b)) >> padding;
  if (std::signbit(a) != std::signbit(b))
    return up + down;
  return up > down ? up - down : down - up;
}

Status expectClose(const Tensor &actual, const Tensor &expected, uint64_t ulps) {
  const ElementType component = numerics::componentOf(actual.type());
  if (!numerics::isReal(component))
    return expectEqual(actual, expected);
  auto distance = [component](const Scalar &a, const Scalar &b, bool complex) {
    const uint64_t real = ulpsApart(component, a.r, b.r);
    return complex ? std::max(real, ulpsApart(component, a.im, b.im)) : real;
  };
  const bool complex = numerics::isComplex(actual.type());
  return compare(
      actual, expected, concat("within ", ulps, " ulp"),
      [&](const Scalar &a, const Scalar &b) { return distance(a, b, complex) <= ulps; },
      [&](const Scalar &a, const Scalar &b) {
        return concat(", ", distance(a, b, complex), " ulp apart");
      });
}

Status expectAlmostEqual(const Tensor &actual, const Tensor &expected, double tolerance) {
  if (!numerics::isReal(numerics::componentOf(actual.type())))
    return expectEqual(actual, expected);
  auto agrees = [tolerance](double a, double b) {
    if (a == b || (std::isnan(a) && std::isnan(b)))
      return true;
    return std::isfinite(a) && std::isfinite(b) && std::fabs(a - b) <= tolerance;
  };
  const bool complex = numerics::isComplex(actual.type());
  return compare(
      actual, expected, concat("within ", tolerance),
      [&](const Scalar &a, const Scalar &b) {
        return agrees(a.r, b.r) && (!complex || agrees(a.im, b.im));
      },
      [](const Scalar &, const Scalar &) { return std::string(); });
}

} // namespace tilewright::interpret
