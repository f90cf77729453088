// DeviceElements: expresses reductions that a GPU library does not support by those that it does.
#ifndef TILEWRIGHT_TRANSFORM_COMMUNICATE_DEVICEELEMENTS_H
#define TILEWRIGHT_TRANSFORM_COMMUNICATE_DEVICEELEMENTS_H

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"

#include <optional>

namespace tilewright::communicate {

/// An equivalent way to reduce elements: encode them, reduce the encoded parts by another
/// operation, and decode the result. The result is the same, bit for bit.
class DeviceReduction {
public:
  enum class Codec {
    fold,    // none: gather the values of all members and combine them in the program
    wide,    // integers of 2, 4 and 16 bits, in wider ones; the result is truncated
    boolean, // i1 as ui8: `and` is a minimum, `or` a maximum, `xor` a sum of which one bit counts
    ordered, // maximum and minimum of floats, as integers of the same order in which a NaN wins
    complex, // sums of complex numbers, as real and imaginary parts
  };
  enum class Operation { add, multiply, maximum, minimum };

  DeviceReduction(Codec codec, Operation operation) : codec(codec), operation(operation) {}
  bool isFold() const { return codec == Codec::fold; }

  llvm::SmallVector<mlir::Value> encode(mlir::OpBuilder &builder, mlir::Location loc,
                                        mlir::Value value) const;
  mlir::Value decode(mlir::OpBuilder &builder, mlir::Location loc, mlir::ValueRange parts,
                     mlir::RankedTensorType type) const;
  /// Replaces the region of a collective by the operation on `element`.
  void setCombiner(mlir::Region &region, mlir::Type element) const;

private:
  const Codec codec;
  const Operation operation;
};

/// The form for an all_reduce or reduce_scatter; nullopt if the library supports it directly: sums
/// and products of integers of 8, 32 and 64 bits and of f16, bf16, f32 and f64, and maximum and
/// minimum of these integers.
std::optional<DeviceReduction> reductionFormOf(mlir::Operation *op);

/// Whether a region over scalars can be applied to tensors.
bool isElementwise(mlir::Region &body);
/// Applies a region with one result to tensors of the same shape, element by element.
mlir::Value applyToTensors(mlir::OpBuilder &builder, mlir::Location loc, mlir::Region &body,
                           mlir::ValueRange arguments);

} // namespace tilewright::communicate

#endif // TILEWRIGHT_TRANSFORM_COMMUNICATE_DEVICEELEMENTS_H
