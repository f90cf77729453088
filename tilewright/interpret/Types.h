// Converts MLIR's types and attributes to the reference interpreter's.
#ifndef TILEWRIGHT_INTERPRET_TYPES_H
#define TILEWRIGHT_INTERPRET_TYPES_H

#include "tilewright/interpret/Tensor.h"

#include "mlir/IR/BuiltinAttributeInterfaces.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Location.h"

#include <optional>
#include <string>

namespace tilewright::interpret {

/// The storage type of an element: i64 for `index`, the storage type for a quantized type. nullopt
/// for types that are not element types.
std::optional<ElementType> elementTypeOf(mlir::Type type);

/// The inverse of elementTypeOf(), except that quantized types are not restored.
mlir::Type typeOf(ElementType type, mlir::MLIRContext &context);

/// - interpretShape: a dimension is dynamic, so its size is known only at run time.
Result<Shape> staticShapeOf(mlir::RankedTensorType type);

/// Whether a tensor matches this type: element type, rank and static sizes.
bool isTensorOf(const Tensor &tensor, mlir::RankedTensorType type);

/// The tensor of a constant. If the attribute's bytes already have our layout, they are not copied,
/// and the tensor must not outlive the MLIR context.
Result<Tensor> constantTensor(mlir::ElementsAttr attribute, Context &context);

/// The integers of a constant, in order.
std::vector<int64_t> integersOf(mlir::ElementsAttr attribute);

} // namespace tilewright::interpret

#endif // TILEWRIGHT_INTERPRET_TYPES_H
