// Rules: helpers of the functions that build sharding rules. Each file of this folder has the rules
// of one group of ops; shardingRuleOf() in ShardingRules.cpp chooses among them.
#ifndef TILEWRIGHT_TRANSFORM_DISTRIBUTE_RULES_RULES_H
#define TILEWRIGHT_TRANSFORM_DISTRIBUTE_RULES_RULES_H

#include "tilewright/dialect/stablehlo/ops/CallOps.h"
#include "tilewright/dialect/stablehlo/ops/CreationOps.h"
#include "tilewright/dialect/stablehlo/ops/DataMovementOps.h"
#include "tilewright/dialect/stablehlo/ops/IndexingOps.h"
#include "tilewright/dialect/stablehlo/ops/LinearAlgebraOps.h"
#include "tilewright/dialect/stablehlo/ops/ReductionOps.h"
#include "tilewright/dialect/stablehlo/ops/UnaryOps.h"
#include "tilewright/transform/distribute/ShardingRules.h"

namespace tilewright::distribute {

llvm::ArrayRef<int64_t> shapeOf(mlir::Value value);
/// A tensor of static shape without encoding or quantization.
bool isPlainTensor(mlir::Type type);

/// A rule without loops.
ShardingRule emptyRule(mlir::Operation *op);
/// One loop for each dimension of the first result; operands of the same rank share the loops.
ShardingRule elementwiseRule(mlir::Operation *op);
/// The elementwise rule, except that loops over dimensions for which `keeps` returns false have
/// kind `others`. Empty dimensions cannot be shifted, so their loops stay whole.
ShardingRule keepingRule(mlir::Operation *op, llvm::StringRef why,
                         llvm::function_ref<bool(int64_t)> keeps,
                         LoopKind others = LoopKind::whole);

/// The op of a region that combines two scalars with a single commutative, associative op;
/// otherwise empty.
llvm::StringRef combinerOf(mlir::Region &region);
/// Whether combining with `value` any number of times changes nothing.
bool isNeutral(mlir::Value value, llvm::StringRef combine);
/// The neutral element of an op: an IntegerAttr, a FloatAttr, or an array of two FloatAttrs for a
/// complex type. Null if the type or the op has none that is known.
mlir::Attribute neutralElement(mlir::Type element, llvm::StringRef combine);
/// The op that assembles a value if one device holds it and all others hold the neutral element;
/// empty if the element type has none.
llvm::StringRef masksBy(mlir::Type element);

// Movement.cpp
ShardingRule bitcastRule(stablehlo::BitcastConvertOp op);
ShardingRule broadcastRule(stablehlo::BroadcastInDimOp op);
ShardingRule reshapeRule(stablehlo::ReshapeOp op);
ShardingRule transposeRule(stablehlo::TransposeOp op);
ShardingRule reverseRule(stablehlo::ReverseOp op);
ShardingRule concatenateRule(stablehlo::ConcatenateOp op);
/// What foldSlices() made; nullopt for other calls.
std::optional<ShardingRule> foldedSlicesRule(stablehlo::CustomCallOp op);
ShardingRule sliceRule(stablehlo::SliceOp op);
ShardingRule padRule(stablehlo::PadOp op);

// Products.cpp
ShardingRule dotRule(stablehlo::DotOp op);
ShardingRule dotGeneralRule(stablehlo::DotGeneralOp op);
ShardingRule convolutionRule(stablehlo::ConvolutionOp op);
/// cholesky and triangular_solve.
ShardingRule solveRule(mlir::Operation *op);
ShardingRule fftRule(stablehlo::FftOp op);

// Reductions.cpp
ShardingRule reduceRule(stablehlo::ReduceOp op);
ShardingRule reduceWindowRule(stablehlo::ReduceWindowOp op);
/// A window that reaches from each element to the beginning of a dimension, or to its end if
/// `isReverse`. JAX writes cumulative sums and similar functions in this form.
struct ScanForm {
  int64_t dim;
  bool isReverse;
};
/// `shape` is that of the whole operand.
std::optional<ScanForm> scanFormOf(stablehlo::ReduceWindowOp op, llvm::ArrayRef<int64_t> shape);
ShardingRule selectAndScatterRule(stablehlo::SelectAndScatterOp op);
ShardingRule sortRule(stablehlo::SortOp op);

// Random.cpp
ShardingRule randomBitsRule(stablehlo::RngBitGeneratorOp op);
/// The number of elements that a generator makes from one counter.
int64_t elementsPerCounter(stablehlo::RngBitGeneratorOp op);

// Indexing.cpp
ShardingRule dynamicSliceRule(stablehlo::DynamicSliceOp op);
ShardingRule dynamicUpdateRule(stablehlo::DynamicUpdateSliceOp op);
ShardingRule gatherRule(stablehlo::GatherOp op);
ShardingRule scatterRule(stablehlo::ScatterOp op);

// Calls.cpp
std::optional<ShardingRule> compositeRule(stablehlo::CompositeOp op);
/// The sort in the decomposition of "chlo.top_k", which is a stable sort of the operand with the
/// positions of its elements, and slices of both results. Null for other composites.
stablehlo::SortOp topKSortOf(stablehlo::CompositeOp op);
/// A callback that every device calls with its own shards (`jax.debug.print(partitioned=True)`).
/// Operands of the same shape are sharded alike.
std::optional<ShardingRule> callbackRule(mlir::Operation *op);
/// A custom call that is batched over its leading dimensions, as in JAX's linear algebra. JAX
/// annotates the number of batch dimensions.
std::optional<ShardingRule> batchedCallRule(mlir::Operation *op);

// Custom.cpp
/// A custom call with a rule of its own (`sdy.sharding_rule`): each device calls it with its
/// shards.
std::optional<ShardingRule> customRule(mlir::Operation *op);

} // namespace tilewright::distribute

#endif // TILEWRIGHT_TRANSFORM_DISTRIBUTE_RULES_RULES_H
