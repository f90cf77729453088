// What patterns ask about constants, and how they make new ones.
#ifndef TILEWRIGHT_TRANSFORM_SIMPLIFY_CONSTANTS_H
#define TILEWRIGHT_TRANSFORM_SIMPLIFY_CONSTANTS_H

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/PatternMatch.h"

#include <optional>

namespace tilewright::simplify {

/// A splat above this size is written as a broadcast of a scalar: as a constant
/// it would be memory that somebody has to fill.
constexpr int64_t maxSplatBytes = 1024;

mlir::RankedTensorType typeOf(mlir::Value value);
/// Whether the type is a tensor of static shape.
bool isStatic(mlir::Value value);
/// The size in memory; elements take whole bytes.
int64_t bytesOf(mlir::RankedTensorType type);

/// The value that every element of `value` has, if that is known: an IntegerAttr,
/// a FloatAttr, or an array of two FloatAttr. Looks through broadcasts and reshapes.
mlir::Attribute splatOf(mlir::Value value);

/// The elements, if `value` is a constant; null otherwise.
mlir::ElementsAttr constantOf(mlir::Value value);

/// The elements of an integer constant, at most `limit` of them.
std::optional<llvm::SmallVector<int64_t>> integersOf(mlir::Value value, int64_t limit = 4096);
/// The one element of an integer scalar (or splat).
std::optional<int64_t> integerOf(mlir::Value value);

/// Every element is zero, positive zero for floats.
bool isPositiveZero(mlir::Value value);
/// Every element is -0.0.
bool isNegativeZero(mlir::Value value);
bool isOne(mlir::Value value);
/// Integer with all bits set, or true.
bool isAllOnes(mlir::Value value);

/// A constant of `type` with every element `value`, which is of the kind that
/// splatOf gives; as a broadcast of a scalar if it is large.
mlir::Value makeSplat(mlir::OpBuilder &builder, mlir::Location location,
                      mlir::RankedTensorType type, mlir::Attribute value);
/// An integer or float constant; the number must be exact in the type.
mlir::Value makeNumber(mlir::OpBuilder &builder, mlir::Location location,
                       mlir::RankedTensorType type, double number);
/// A reshape to `type`, or the value itself if it has that type.
mlir::Value reshapeTo(mlir::OpBuilder &builder, mlir::Location location, mlir::Value value,
                      mlir::RankedTensorType type);

bool isInteger(mlir::Value value);
bool isFloat(mlir::Value value);

} // namespace tilewright::simplify

#endif // TILEWRIGHT_TRANSFORM_SIMPLIFY_CONSTANTS_H
