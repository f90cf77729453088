// Rows of real and complex elements.
#include "tilewright/runtime/cpu/library/rows/VectorRows.h"

namespace tilewright::runtime::cpu::detail {

template <typename Number> static std::unique_ptr<RowArithmetic> rowsOf(Combiner op) {
  switch (op) {
  case Combiner::add:
    return std::make_unique<VectorRows<Number, AddOp>>();
  case Combiner::multiply:
    return std::make_unique<VectorRows<Number, MultiplyOp>>();
  default:
    break;
  }
  if constexpr (Number::hasVectors) {
    if (op == Combiner::maximum)
      return std::make_unique<VectorRows<Number, MaximumOp>>();
    if (op == Combiner::minimum)
      return std::make_unique<VectorRows<Number, MinimumOp>>();
  }
  return nullptr;
}

std::unique_ptr<RowArithmetic> realRows(Combiner op, ElementType type) {
  switch (type) {
  case ElementType::f32:
    return rowsOf<PlainNumber<float>>(op);
  case ElementType::f64:
    return rowsOf<PlainNumber<double>>(op);
  case ElementType::bf16:
    return rowsOf<Bf16Number>(op);
  case ElementType::f16:
    return rowsOf<F16Number>(op);
  case ElementType::c64:
    return rowsOf<ComplexNumber<float>>(op);
  case ElementType::c128:
    return rowsOf<ComplexNumber<double>>(op);
  default:
    return nullptr;
  }
}

} // namespace tilewright::runtime::cpu::detail
