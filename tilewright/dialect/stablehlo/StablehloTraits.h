// Traits shared by many ops. The templates call the checks in StablehloTraits.cpp.
#ifndef TILEWRIGHT_DIALECT_STABLEHLO_STABLEHLOTRAITS_H
#define TILEWRIGHT_DIALECT_STABLEHLO_STABLEHLOTRAITS_H

#include "mlir/IR/OpDefinition.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace tilewright::stablehlo {

namespace detail {
mlir::LogicalResult verifySameShape(mlir::Operation *op);
mlir::LogicalResult verifySameBaselineElementType(mlir::Operation *op);
bool allShapesStatic(mlir::Operation *op);
} // namespace detail

/// Operands and results have the same shape, as far as it is static.
template <typename ConcreteOp>
class SameShape : public mlir::OpTrait::TraitBase<ConcreteOp, SameShape> {
public:
  static mlir::LogicalResult verifyTrait(mlir::Operation *op) {
    return detail::verifySameShape(op);
  }
};

/// Operands and results have the same element type, up to quantization parameters.
template <typename ConcreteOp>
class SameBaselineElementType
    : public mlir::OpTrait::TraitBase<ConcreteOp, SameBaselineElementType> {
public:
  static mlir::LogicalResult verifyTrait(mlir::Operation *op) {
    return detail::verifySameBaselineElementType(op);
  }
};

/// Implements ConditionallySpeculatable. See Stablehlo_SpeculatableIfStatic.
template <typename ConcreteOp>
class SpeculatableIfStatic : public mlir::OpTrait::TraitBase<ConcreteOp, SpeculatableIfStatic> {
public:
  mlir::Speculation::Speculatability getSpeculatability() {
    mlir::Operation *op = this->getOperation();
    if (!detail::allShapesStatic(op))
      return mlir::Speculation::NotSpeculatable;
    return op->getNumRegions() == 0 ? mlir::Speculation::Speculatable
                                    : mlir::Speculation::RecursivelySpeculatable;
  }
};

} // namespace tilewright::stablehlo

#endif // TILEWRIGHT_DIALECT_STABLEHLO_STABLEHLOTRAITS_H
