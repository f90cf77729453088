// Queries about constants, and construction of new ones.
#ifndef TILEWRIGHT_TRANSFORM_SIMPLIFY_CONSTANTS_H
#define TILEWRIGHT_TRANSFORM_SIMPLIFY_CONSTANTS_H

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/PatternMatch.h"

#include <optional>

namespace tilewright::simplify {

/// A larger splat is written as a broadcast of a scalar, because a constant would occupy memory
/// that must be filled.
constexpr int64_t maxSplatBytes = 1024;

mlir::RankedTensorType typeOf(mlir::Value value);
/// Whether the type is a tensor of static shape.
bool isStatic(mlir::Value value);
/// The size in memory, where each element takes whole bytes.
int64_t bytesOf(mlir::RankedTensorType type);

/// The value of every element if `value` is known to be a splat: an IntegerAttr, a FloatAttr, or an
/// array of two FloatAttrs for a complex value. Looks through broadcasts and reshapes.
mlir::Attribute splatOf(mlir::Value value);

/// The elements, if `value` is a constant; null otherwise.
mlir::ElementsAttr constantOf(mlir::Value value);

/// The elements of an integer constant, as indices: numbers beyond int64_t become its maximum.
/// nullopt if it has more than `limit` elements.
std::optional<llvm::SmallVector<int64_t>> integersOf(mlir::Value value, int64_t limit = 4096);
/// The value of an integer scalar or splat; nullopt if it is not constant, or not an int64_t.
std::optional<int64_t> integerOf(mlir::Value value);

/// Whether every element is zero; for floats, positive zero.
bool isPositiveZero(mlir::Value value);
/// Whether every element is -0.0.
bool isNegativeZero(mlir::Value value);
bool isOne(mlir::Value value);
/// Whether every element is an integer with all bits set, or true.
bool isAllOnes(mlir::Value value);

/// A splat constant of `type`; `value` has the form that splatOf() returns. A large splat is built
/// as a broadcast of a scalar.
mlir::Value makeSplat(mlir::OpBuilder &builder, mlir::Location location,
                      mlir::RankedTensorType type, mlir::Attribute value);
/// An integer or float constant. The type must represent the number exactly.
mlir::Value makeNumber(mlir::OpBuilder &builder, mlir::Location location,
                       mlir::RankedTensorType type, double number);
/// A reshape of the value to `type`, or the value itself if it has that type already.
mlir::Value reshapeTo(mlir::OpBuilder &builder, mlir::Location location, mlir::Value value,
                      mlir::RankedTensorType type);

bool isInteger(mlir::Value value);
bool isFloat(mlir::Value value);

} // namespace tilewright::simplify

#endif // TILEWRIGHT_TRANSFORM_SIMPLIFY_CONSTANTS_H
