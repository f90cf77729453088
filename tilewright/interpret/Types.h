// From MLIR's types and attributes to the evaluator's.
#ifndef TILEWRIGHT_INTERPRET_TYPES_H
#define TILEWRIGHT_INTERPRET_TYPES_H

#include "tilewright/interpret/Tensor.h"

#include "mlir/IR/BuiltinAttributeInterfaces.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Location.h"

#include <optional>
#include <string>

namespace tilewright::interpret {

/// What an element of this type is stored as: `index` as i64, a quantized type
/// as its storage type. Nothing for types that are not elements.
std::optional<ElementType> elementTypeOf(mlir::Type type);

/// The inverse, up to quantization.
mlir::Type typeOf(ElementType type, mlir::MLIRContext &context);

/// - interpretShape: a dimension is dynamic, so only a value can say its size.
Result<Shape> staticShapeOf(mlir::RankedTensorType type);

/// Whether a tensor is one of this type: element type, rank and static sizes.
bool isTensorOf(const Tensor &tensor, mlir::RankedTensorType type);

/// The tensor of a constant. Its bytes stay where the attribute has them if
/// they have our layout, so the tensor must not outlive the MLIR context.
Result<Tensor> constantTensor(mlir::ElementsAttr attribute, Context &context);

/// The integers of a constant, in order.
std::vector<int64_t> integersOf(mlir::ElementsAttr attribute);

/// "step.mlir:7:10", the innermost place a person can open, or "" if there is none.
std::string placeOf(mlir::Location location);

} // namespace tilewright::interpret

#endif // TILEWRIGHT_INTERPRET_TYPES_H
