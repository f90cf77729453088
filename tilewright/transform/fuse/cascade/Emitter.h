// Emitter: StableHLO for the nodes of a cascade, at some elements of each row.
#ifndef TILEWRIGHT_TRANSFORM_FUSE_CASCADE_EMITTER_H
#define TILEWRIGHT_TRANSFORM_FUSE_CASCADE_EMITTER_H

#include "tilewright/dialect/stablehlo/ShapedBuilder.h"
#include "tilewright/dialect/stablehlo/ops/LinearAlgebraOps.h"
#include "tilewright/transform/fuse/cascade/Online.h"

namespace tilewright::cascade {

/// Emits each node once. A node that varies along the axis has the shape of the slice, any other
/// one has the shape of the rows.
class Emitter {
public:
  /// Whether the parameters are the final results, or those of the elements so far. Partial results
  /// are relative to finite numbers, so that none becomes NaN before the end: if a parameter is not
  /// finite yet, they are relative to 0.
  enum class Stage : uint8_t { partial, final };

  /// `parameters` are the results that nodes read. `slice` is not needed for nodes that do not vary
  /// along the axis.
  Emitter(mlir::OpBuilder &builder, mlir::Location loc, const Cascade &cascade, unsigned pass,
          const Values &parameters, Stage stage, Slice slice = {})
      : b(builder, loc), cascade(cascade), pass(pass), parameters(parameters), stage(stage),
        slice(slice) {}

  /// The value of a node for the parameters.
  mlir::Value emit(const Node &node);
  /// The value of a node that partial results are relative to.
  mlir::Value emitParameter(const Node &node);
  /// The value of a variable of a form that partial results are relative to; 0 if it is not steady.
  mlir::Value emitVariable(const Form &form, const Node &node);
  /// The map of a reduction without its factor and its offset, at all elements of the slice.
  mlir::Value emitMap(const Form &form, const Node &map);
  /// The derivative of the map by its variables, divided by the factorials of `order`.
  mlir::Value emitDerivative(const Form &form, const std::vector<int> &order, mlir::Type element);
  /// Whether an element of the slice reads the parameters that the form hides from some elements.
  mlir::Value emitReaders(const Form &form);
  /// A sum of products of parameters, as numbers of type `element`; null if it has no terms.
  mlir::Value emitLinear(const Linear &sum, mlir::Type element);
  /// The part of a tensor that the slice covers; `dim` is the tensor's dimension along the axis.
  mlir::Value sliceOf(mlir::Value value, int64_t dim);
  /// The value broadcast to each element of the slice.
  mlir::Value atElements(mlir::Value value);
  mlir::Value number(double value, mlir::Type element);

private:
  using Value = mlir::Value;
  enum class Place : uint8_t { map, exponent };

  bool isLive(const Node &node) const;
  Value sliceOfMatmul(stablehlo::DotGeneralOp dot, int64_t dim);
  Value emitLeaf(const Node &node);
  Value emitOp(const Node &node, llvm::ArrayRef<Value> operands);
  Value emitIn(Place place, const Form &form, const Node &node);
  /// The product of powers of nodes, in type `element`. Nodes are parameters, or variables of
  /// `form` if it is not null.
  Value emitProduct(double coefficient, const Factors &factors, mlir::Type element,
                    const Form *form);
  Value binary(llvm::StringRef name, Value a, Value b);
  llvm::SmallVector<int64_t, 4> rowShape() const;
  llvm::SmallVector<int64_t, 4> sliceShape() const;

  stablehlo::ShapedBuilder b;
  const Cascade &cascade;
  unsigned pass;
  const Values &parameters;
  Stage stage;
  Slice slice;
  llvm::DenseMap<unsigned, Value> emitted;
};

} // namespace tilewright::cascade

#endif // TILEWRIGHT_TRANSFORM_FUSE_CASCADE_EMITTER_H
