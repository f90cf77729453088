// Rows of integers and booleans. Wrapping operations compute with unsigned types even for signed
// elements.
#include "tilewright/runtime/cpu/library/rows/VectorRows.h"

namespace tilewright::runtime::cpu::detail {

template <typename Signed>
static std::unique_ptr<RowArithmetic> rowsOf(Combiner op, bool isSigned) {
  using Unsigned = std::make_unsigned_t<Signed>;
  switch (op) {
  case Combiner::add:
    return std::make_unique<VectorRows<PlainNumber<Unsigned>, AddOp>>();
  case Combiner::multiply:
    return std::make_unique<VectorRows<PlainNumber<Unsigned>, MultiplyOp>>();
  case Combiner::maximum:
    if (isSigned)
      return std::make_unique<VectorRows<PlainNumber<Signed>, MaximumOp>>();
    return std::make_unique<VectorRows<PlainNumber<Unsigned>, MaximumOp>>();
  case Combiner::minimum:
    if (isSigned)
      return std::make_unique<VectorRows<PlainNumber<Signed>, MinimumOp>>();
    return std::make_unique<VectorRows<PlainNumber<Unsigned>, MinimumOp>>();
  case Combiner::bitAnd:
    return std::make_unique<VectorRows<PlainNumber<Unsigned>, AndOp>>();
  case Combiner::bitOr:
    return std::make_unique<VectorRows<PlainNumber<Unsigned>, OrOp>>();
  case Combiner::bitXor:
    return std::make_unique<VectorRows<PlainNumber<Unsigned>, XorOp>>();
  default:
    return nullptr;
  }
}

namespace {
/// `and` for booleans: its identity is true, not all bits set.
struct BooleanAndOp : AndOp {
  template <typename T> static constexpr T identity() { return T(1); }
};
} // namespace

/// Booleans are bytes of 0 and 1, whose sum is `or` and whose product is `and`.
static Combiner ofBooleans(Combiner op) {
  switch (op) {
  case Combiner::add:
  case Combiner::maximum:
    return Combiner::bitOr;
  case Combiner::multiply:
  case Combiner::minimum:
    return Combiner::bitAnd;
  default:
    return op;
  }
}

std::unique_ptr<RowArithmetic> integerRows(Combiner op, ElementType type) {
  const bool isSigned = numerics::isSigned(type);
  if (type == ElementType::pred) {
    if (ofBooleans(op) == Combiner::bitAnd)
      return std::make_unique<VectorRows<PlainNumber<uint8_t>, BooleanAndOp>>();
    return rowsOf<int8_t>(ofBooleans(op), false);
  }
  switch (numerics::isInteger(type) ? numerics::bitWidth(type) : 0) {
  case 8:
    return rowsOf<int8_t>(op, isSigned);
  case 16:
    return rowsOf<int16_t>(op, isSigned);
  case 32:
    return rowsOf<int32_t>(op, isSigned);
  case 64:
    return rowsOf<int64_t>(op, isSigned);
  default:
    return nullptr;
  }
}

} // namespace tilewright::runtime::cpu::detail
