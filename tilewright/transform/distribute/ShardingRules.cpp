#include "tilewright/transform/distribute/ShardingRules.h"

#include "tilewright/dialect/stablehlo/ops/BinaryOps.h"
#include "tilewright/dialect/stablehlo/ops/CallOps.h"
#include "tilewright/dialect/stablehlo/ops/ControlFlowOps.h"
#include "tilewright/dialect/stablehlo/ops/CreationOps.h"
#include "tilewright/dialect/stablehlo/ops/DataMovementOps.h"
#include "tilewright/dialect/stablehlo/ops/IndexingOps.h"
#include "tilewright/dialect/stablehlo/ops/LinearAlgebraOps.h"
#include "tilewright/dialect/stablehlo/ops/ReductionOps.h"
#include "tilewright/dialect/stablehlo/ops/UnaryOps.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Quant/IR/QuantTypes.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/SymbolTable.h"
#include "llvm/ADT/TypeSwitch.h"

#include <algorithm>
#include <complex>

using namespace mlir;

namespace tilewright::distribute {
namespace {

ArrayRef<int64_t> shapeOf(Value value) {
  return cast<RankedTensorType>(value.getType()).getShape();
}

/// A rule in which every dimension is replicated.
ShardingRule emptyRule(Operation *op) {
  ShardingRule rule;
  for (Value operand : op->getOperands())
    rule.operands.emplace_back(shapeOf(operand).size(), ShardingRule::replicated);
  for (Value result : op->getResults())
    rule.results.emplace_back(shapeOf(result).size(), ShardingRule::replicated);
  return rule;
}

/// One loop for each dimension of the first result; operands of the same rank share the loops.
ShardingRule elementwise(Operation *op) {
  ShardingRule rule = emptyRule(op);
  rule.loops = static_cast<int>(rule.results[0].size());
  for (auto *values : {&rule.operands, &rule.results})
    for (SmallVector<int> &dims : *values)
      if (dims.size() == rule.results[0].size())
        for (auto [dim, loop] : llvm::enumerate(dims))
          loop = static_cast<int>(dim);
  return rule;
}

/// The elementwise rule, but only dimensions for which `keeps` returns true can be sharded.
ShardingRule keeping(Operation *op, StringRef why, llvm::function_ref<bool(int64_t)> keeps) {
  ShardingRule rule = elementwise(op);
  rule.why = why;
  for (auto *values : {&rule.operands, &rule.results})
    for (SmallVector<int> &dims : *values)
      for (auto [dim, loop] : llvm::enumerate(dims))
        if (!keeps(static_cast<int64_t>(dim)))
          loop = ShardingRule::replicated;
  return rule;
}

ShardingRule broadcastRule(Operation *op, ArrayRef<int64_t> dimensions) {
  ShardingRule rule = emptyRule(op);
  for (int &loop : rule.results[0])
    loop = rule.loops++;
  ArrayRef<int64_t> from = shapeOf(op->getOperand(0)), to = shapeOf(op->getResult(0));
  for (auto [dim, into] : llvm::enumerate(dimensions))
    if (from[dim] == to[into])
      rule.operands[0][dim] = rule.results[0][into];
  return rule;
}

/// Splits both shapes into groups of dimensions with the same number of elements, such as 64x5 and
/// 320. The major dimensions of a group, here 64 and 320, share a loop; the minor dimensions are
/// not sharded.
ShardingRule reshapeRule(Operation *op) {
  ShardingRule rule = emptyRule(op);
  rule.why = "merges or splits";
  ArrayRef<int64_t> from = shapeOf(op->getOperand(0)), to = shapeOf(op->getResult(0));
  if (llvm::is_contained(from, 0))
    return rule;
  size_t i = 0, j = 0;
  while (i < from.size() && j < to.size()) {
    if (from[i] == 1) {
      ++i;
      continue;
    }
    if (to[j] == 1) {
      ++j;
      continue;
    }
    rule.operands[0][i] = rule.results[0][j] = rule.loops++;
    int64_t left = from[i++], right = to[j++];
    while (left != right) {
      if (left < right && i < from.size())
        left *= from[i++];
      else if (right < left && j < to.size())
        right *= to[j++];
      else
        return rule;
    }
  }
  return rule;
}

ShardingRule transposeRule(stablehlo::TransposeOp op) {
  ShardingRule rule = emptyRule(op);
  for (auto [dim, from] : llvm::enumerate(op.getPermutation()))
    rule.results[0][dim] = rule.operands[0][static_cast<size_t>(from)] = rule.loops++;
  return rule;
}

ShardingRule productRule(Operation *op, ArrayRef<int64_t> lhsBatch, ArrayRef<int64_t> rhsBatch,
                         ArrayRef<int64_t> lhsContracting, ArrayRef<int64_t> rhsContracting) {
  ShardingRule rule = emptyRule(op);
  SmallVector<int> &lhs = rule.operands[0], &rhs = rule.operands[1], &result = rule.results[0];
  size_t dim = 0;
  for (auto [one, other] : llvm::zip_equal(lhsBatch, rhsBatch))
    lhs[static_cast<size_t>(one)] = rhs[static_cast<size_t>(other)] = result[dim++] = rule.loops++;
  for (auto [one, other] : llvm::zip_equal(lhsContracting, rhsContracting)) {
    lhs[static_cast<size_t>(one)] = rhs[static_cast<size_t>(other)] = rule.loops;
    rule.combined.push_back(rule.loops++);
  }
  for (SmallVector<int> *side : {&lhs, &rhs})
    for (int &loop : *side)
      if (loop == ShardingRule::replicated)
        loop = result[dim++] = rule.loops++;
  rule.combine = "stablehlo.add";
  return rule;
}

ShardingRule dotRule(stablehlo::DotOp op) {
  const auto last = static_cast<int64_t>(shapeOf(op.getLhs()).size()) - 1;
  return productRule(op, {}, {}, {last}, {0});
}

ShardingRule convolutionRule(stablehlo::ConvolutionOp op) {
  ShardingRule rule = emptyRule(op);
  rule.why = "slides a window over or splits into groups";
  stablehlo::ConvDimensionNumbersAttr numbers = op.getDimensionNumbers();
  auto at = [](SmallVector<int> &dims, int64_t dim) -> int & {
    return dims[static_cast<size_t>(dim)];
  };
  if (op.getBatchGroupCount() != 1)
    return rule;
  at(rule.operands[0], numbers.getInputBatchDimension()) =
      at(rule.results[0], numbers.getOutputBatchDimension()) = rule.loops++;
  if (op.getFeatureGroupCount() != 1)
    return rule;
  at(rule.operands[1], numbers.getKernelOutputFeatureDimension()) =
      at(rule.results[0], numbers.getOutputFeatureDimension()) = rule.loops++;
  at(rule.operands[0], numbers.getInputFeatureDimension()) =
      at(rule.operands[1], numbers.getKernelInputFeatureDimension()) = rule.loops;
  rule.combined.push_back(rule.loops++);
  rule.combine = "stablehlo.add";
  return rule;
}

/// The op of a region that combines two scalars with a single commutative, associative op;
/// otherwise empty.
StringRef combinerOf(Region &region) {
  Block &block = region.front();
  if (block.getNumArguments() != 2 || !llvm::hasNItems(block, 2))
    return {};
  Operation &op = block.front();
  if (!isa<stablehlo::AddOp, stablehlo::MultiplyOp, stablehlo::MaximumOp, stablehlo::MinimumOp,
           stablehlo::AndOp, stablehlo::OrOp>(op) ||
      block.getTerminator()->getOperand(0) != op.getResult(0) ||
      op.getOperand(0) == op.getOperand(1) || !llvm::all_of(op.getOperands(), [&](Value operand) {
        auto argument = dyn_cast<BlockArgument>(operand);
        return argument && argument.getOwner() == &block;
      }))
    return {};
  return op.getName().getStringRef();
}

/// Whether combining with `value` any number of times changes nothing.
bool isNeutral(Value value, StringRef combine) {
  if (combine != "stablehlo.add" && combine != "stablehlo.multiply")
    return true; // the others are idempotent
  const int neutral = combine == "stablehlo.add" ? 0 : 1;
  // Look through broadcasts.
  while (auto broadcast = value.getDefiningOp<stablehlo::BroadcastInDimOp>())
    value = broadcast.getOperand();
  DenseElementsAttr constant;
  if (!matchPattern(value, m_Constant(&constant)) || !constant.isSplat())
    return false;
  if (isa<FloatType>(constant.getElementType()))
    return neutral ? constant.getSplatValue<APFloat>().isExactlyValue(1)
                   : constant.getSplatValue<APFloat>().isZero();
  if (auto type = dyn_cast<ComplexType>(constant.getElementType())) {
    if (!isa<FloatType>(type.getElementType()))
      return false;
    auto value = constant.getSplatValue<std::complex<APFloat>>();
    return value.imag().isZero() &&
           (neutral ? value.real().isExactlyValue(1) : value.real().isZero());
  }
  if (constant.getElementType().isInteger(1))
    return false;
  return constant.getSplatValue<APInt>() == static_cast<uint64_t>(neutral);
}

ShardingRule reduceRule(stablehlo::ReduceOp op) {
  ShardingRule rule = emptyRule(op);
  rule.why = "reduces with a body or an initial value that does not allow partial results";
  SmallVector<int> loopOf(rule.operands[0].size(), ShardingRule::replicated);
  size_t dim = 0;
  for (auto [from, loop] : llvm::enumerate(loopOf))
    if (!llvm::is_contained(op.getDimensions(), static_cast<int64_t>(from)))
      rule.results[0][dim++] = loop = rule.loops++;
  StringRef combine = op.getInputs().size() == 1 ? combinerOf(op.getBody()) : StringRef();
  if (!combine.empty() && isNeutral(op.getInitValues()[0], combine)) {
    rule.combine = combine;
    for (int &loop : loopOf)
      if (loop == ShardingRule::replicated) {
        loop = rule.loops;
        rule.combined.push_back(rule.loops++);
      }
  }
  for (size_t i = 0; i < op.getInputs().size(); ++i)
    rule.operands[i] = loopOf;
  for (size_t i = 1; i < rule.results.size(); ++i)
    rule.results[i] = rule.results[0];
  return rule;
}

bool isOneAt(std::optional<ArrayRef<int64_t>> values, int64_t dim) {
  return !values || (*values)[static_cast<size_t>(dim)] == 1;
}

/// Whether the window has size 1, stride 1 and no padding in a dimension.
bool isStill(int64_t dim, ArrayRef<int64_t> sizes, std::optional<ArrayRef<int64_t>> strides,
             std::optional<DenseIntElementsAttr> padding) {
  const auto at = static_cast<size_t>(dim);
  if (padding)
    for (size_t i : {2 * at, 2 * at + 1})
      if (!padding->getValues<APInt>()[i].isZero())
        return false;
  return sizes[at] == 1 && isOneAt(strides, dim);
}

ShardingRule reduceWindowRule(stablehlo::ReduceWindowOp op) {
  return keeping(op, "slides a window over", [&](int64_t dim) {
    return isStill(dim, op.getWindowDimensions(), op.getWindowStrides(), op.getPadding()) &&
           isOneAt(op.getBaseDilations(), dim) && isOneAt(op.getWindowDilations(), dim);
  });
}

ShardingRule selectAndScatterRule(stablehlo::SelectAndScatterOp op) {
  return keeping(op, "slides a window over", [&](int64_t dim) {
    return !op.getWindowDimensions() ||
           isStill(dim, *op.getWindowDimensions(), op.getWindowStrides(), op.getPadding());
  });
}

ShardingRule dynamicSliceRule(stablehlo::DynamicSliceOp op) {
  // A slice of full size starts at 0, because the start index is clamped.
  return keeping(op, "slices", [&](int64_t dim) {
    const auto at = static_cast<size_t>(dim);
    return shapeOf(op.getOperand())[at] == op.getSliceSizes()[at];
  });
}

ShardingRule dynamicUpdateRule(stablehlo::DynamicUpdateSliceOp op) {
  return keeping(op, "updates a part of", [&](int64_t dim) {
    const auto at = static_cast<size_t>(dim);
    return shapeOf(op.getOperand())[at] == shapeOf(op.getUpdate())[at];
  });
}

ShardingRule gatherRule(stablehlo::GatherOp op) {
  ShardingRule rule = emptyRule(op);
  rule.why = "gathers from";
  stablehlo::GatherDimensionNumbersAttr numbers = op.getDimensionNumbers();
  SmallVector<int> &operand = rule.operands[0], &indices = rule.operands[1],
                   &result = rule.results[0];
  // Batch dimensions of the result are those of the indices, in order.
  size_t next = 0;
  for (auto [dim, loop] : llvm::enumerate(result))
    if (!llvm::is_contained(numbers.getOffsetDims(), static_cast<int64_t>(dim))) {
      if (static_cast<int64_t>(next) == numbers.getIndexVectorDim())
        ++next;
      loop = indices[next++] = rule.loops++;
    }
  for (auto [from, index] :
       llvm::zip_equal(numbers.getOperandBatchingDims(), numbers.getStartIndicesBatchingDims()))
    operand[static_cast<size_t>(from)] = indices[static_cast<size_t>(index)];
  // Window dimensions of the result are those of the operand that are not collapsed, in order.
  size_t offset = 0;
  for (size_t dim = 0; dim < operand.size(); ++dim) {
    const auto at = static_cast<int64_t>(dim);
    if (llvm::is_contained(numbers.getCollapsedSliceDims(), at) ||
        llvm::is_contained(numbers.getOperandBatchingDims(), at))
      continue;
    const auto into = static_cast<size_t>(numbers.getOffsetDims()[offset++]);
    if (op.getSliceSizes()[dim] == shapeOf(op.getOperand())[dim] &&
        !llvm::is_contained(numbers.getStartIndexMap(), at))
      operand[dim] = result[into] = rule.loops++;
  }
  return rule;
}

ShardingRule scatterRule(stablehlo::ScatterOp op) {
  ShardingRule rule = emptyRule(op);
  rule.why = "scatters along";
  if (op.getInputs().size() != 1)
    return rule;
  stablehlo::ScatterDimensionNumbersAttr numbers = op.getScatterDimensionNumbers();
  SmallVector<int> &operand = rule.operands[0], &indices = rule.operands[1],
                   &updates = rule.operands[2], &result = rule.results[0];
  StringRef combine = combinerOf(op.getUpdateComputation());
  const bool combines = !combine.empty() && isNeutral(op.getInputs()[0], combine);
  size_t next = 0;
  for (auto [dim, loop] : llvm::enumerate(updates)) {
    if (llvm::is_contained(numbers.getUpdateWindowDims(), static_cast<int64_t>(dim)))
      continue;
    if (static_cast<int64_t>(next) == numbers.getIndexVectorDim())
      ++next;
    const auto index = static_cast<int64_t>(next++);
    const auto *batching = llvm::find(numbers.getScatterIndicesBatchingDims(), index);
    if (batching != numbers.getScatterIndicesBatchingDims().end()) {
      const auto from = static_cast<size_t>(numbers.getInputBatchingDims()[static_cast<size_t>(
          batching - numbers.getScatterIndicesBatchingDims().begin())]);
      loop = indices[static_cast<size_t>(index)] = operand[from] = result[from] = rule.loops++;
    } else if (combines) {
      loop = indices[static_cast<size_t>(index)] = rule.loops;
      rule.combined.push_back(rule.loops++);
      rule.combine = combine;
    }
  }
  size_t window = 0;
  for (size_t dim = 0; dim < operand.size(); ++dim) {
    const auto at = static_cast<int64_t>(dim);
    if (llvm::is_contained(numbers.getInsertedWindowDims(), at) ||
        llvm::is_contained(numbers.getInputBatchingDims(), at))
      continue;
    const auto from = static_cast<size_t>(numbers.getUpdateWindowDims()[window++]);
    if (shapeOf(op.getUpdates()[0])[from] == shapeOf(op.getInputs()[0])[dim] &&
        !llvm::is_contained(numbers.getScatterDimsToOperandDims(), at))
      operand[dim] = result[dim] = updates[from] = rule.loops++;
  }
  return rule;
}

func::FuncOp decompositionOf(stablehlo::CompositeOp op) {
  return SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(op, op.getDecompositionAttr());
}

/// Whether a composite's decomposition is elementwise and has only scalars and tensors of the
/// result's shape, so that it can be applied to a shard.
bool isElementwise(stablehlo::CompositeOp op) {
  func::FuncOp meaning = decompositionOf(op);
  if (!meaning || meaning.isExternal() || op->getNumOperands() != 1 || op->getNumResults() != 1)
    return false;
  ArrayRef<int64_t> shape = shapeOf(op.getResult(0));
  return llvm::all_of(meaning.front().without_terminator(), [&](Operation &inner) {
    const bool isKnown =
        inner.hasTrait<OpTrait::Elementwise>() ||
        isa<stablehlo::SelectOp, stablehlo::ClampOp, stablehlo::BroadcastInDimOp>(inner) ||
        (isa<stablehlo::ConstantOp>(inner) &&
         cast<stablehlo::ConstantOp>(inner).getValue().isSplat());
    return isKnown && llvm::all_of(inner.getResults(), [&](Value result) {
             auto type = dyn_cast<RankedTensorType>(result.getType());
             return type && (type.getRank() == 0 || type.getShape() == shape);
           });
  });
}

/// Clones the decomposition for the shard: every tensor of the global shape gets the shard's shape.
void fitDecomposition(stablehlo::CompositeOp op) {
  func::FuncOp global = decompositionOf(op);
  ArrayRef<int64_t> from = shapeOf(global.getArgument(0)), to = shapeOf(op.getResult(0));
  if (from == to)
    return;
  func::FuncOp shard = global.clone();
  auto fit = [&](Value value) {
    auto type = cast<RankedTensorType>(value.getType());
    if (type.getShape() == from)
      value.setType(type.clone(to));
  };
  fit(shard.getArgument(0));
  for (Operation &inner : shard.front().without_terminator()) {
    llvm::for_each(inner.getResults(), fit);
    fitAttributes(&inner);
  }
  shard.setType(FunctionType::get(op->getContext(), op->getOperandTypes(), op->getResultTypes()));
  SymbolTable symbols(op->getParentOfType<ModuleOp>());
  op.setDecomposition(symbols.insert(shard).getValue());
}

bool isPlainTensor(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor && tensor.hasStaticShape() && !tensor.getEncoding() &&
         !isa<quant::QuantizedType>(tensor.getElementType());
}

} // namespace

bool passesOn(Operation *op) {
  if (isa<stablehlo::OptimizationBarrierOp>(op))
    return true;
  auto call = dyn_cast<stablehlo::CustomCallOp>(op);
  if (!call || call->getOperandTypes() != call->getResultTypes())
    return false;
  StringRef target = call.getCallTargetName();
  return target == "Sharding" || target == "LayoutConstraint" ||
         target == "annotate_device_placement" || target == "MoveToHost" ||
         target == "MoveToDevice";
}

/// A callback that every device calls with its own shards (`jax.debug.print(partitioned=True)`).
/// Operands of the same shape are sharded alike.
static std::optional<ShardingRule> callbackRule(Operation *op) {
  auto call = dyn_cast<stablehlo::CustomCallOp>(op);
  if (!call || call.getCallTargetName() != "xla_ffi_partitioned_python_cpu_callback" ||
      call->getNumResults() != 0 || !llvm::all_of(op->getOperandTypes(), isPlainTensor))
    return std::nullopt;
  ShardingRule rule = emptyRule(op);
  for (unsigned i = 0; i < op->getNumOperands(); ++i) {
    unsigned first = 0;
    while (shapeOf(op->getOperand(first)) != shapeOf(op->getOperand(i)))
      ++first;
    if (first < i)
      rule.operands[i] = rule.operands[first];
    else
      for (int &loop : rule.operands[i])
        loop = rule.loops++;
  }
  return rule;
}

/// A custom call that is batched over its leading dimensions, as in JAX's linear algebra. JAX
/// annotates the number of batch dimensions.
static std::optional<ShardingRule> batchedCallRule(Operation *op) {
  auto call = dyn_cast<stablehlo::CustomCallOp>(op);
  auto said = call ? call->getAttrOfType<DictionaryAttr>("mhlo.frontend_attributes") : nullptr;
  auto text = said ? said.getAs<StringAttr>("num_batch_dims") : nullptr;
  size_t count = 0;
  if (!text || text.getValue().getAsInteger(10, count) || count == 0 || call.getHasSideEffect())
    return std::nullopt;
  ShardingRule rule = emptyRule(op);
  rule.loops = static_cast<int>(count);
  rule.why = "operates along";
  const ArrayRef<int64_t> first = shapeOf(op->getOperands().front());
  auto mark = [&](Value value, SmallVector<int> &dims) {
    const ArrayRef<int64_t> shape = shapeOf(value);
    if (first.size() < count || shape.size() < count ||
        shape.take_front(count) != first.take_front(count))
      return false;
    for (size_t dim = 0; dim < count; ++dim)
      dims[dim] = static_cast<int>(dim);
    return true;
  };
  for (auto [operand, dims] : llvm::zip_equal(op->getOperands(), rule.operands))
    if (!mark(operand, dims))
      return std::nullopt;
  for (auto [result, dims] : llvm::zip_equal(op->getResults(), rule.results))
    if (!mark(result, dims))
      return std::nullopt;
  return rule;
}

std::optional<ShardingRule> shardingRuleOf(Operation *op) {
  if (std::optional<ShardingRule> rule = callbackRule(op))
    return rule;
  if (op->getNumResults() == 0 || !llvm::all_of(op->getOperandTypes(), isPlainTensor) ||
      !llvm::all_of(op->getResultTypes(), isPlainTensor))
    return std::nullopt;
  if (op->getNumOperands() > 0)
    if (std::optional<ShardingRule> rule = batchedCallRule(op))
      return rule;
  using Rule = std::optional<ShardingRule>;
  return llvm::TypeSwitch<Operation *, Rule>(op)
      .Case<stablehlo::SelectOp, stablehlo::ClampOp, stablehlo::MapOp, stablehlo::IotaOp>(
          [](Operation *op) { return elementwise(op); })
      .Case([](stablehlo::ConstantOp op) -> Rule {
        if (!op.getValue().isSplat())
          return std::nullopt;
        return elementwise(op);
      })
      .Case([](stablehlo::CompositeOp op) -> Rule {
        if (!isElementwise(op))
          return std::nullopt;
        return elementwise(op);
      })
      .Case([](stablehlo::BitcastConvertOp op) -> Rule {
        const int64_t rank =
            std::min(shapeOf(op.getOperand()).size(), shapeOf(op.getResult()).size());
        if (shapeOf(op.getOperand()).size() == shapeOf(op.getResult()).size())
          return elementwise(op);
        ShardingRule rule = emptyRule(op);
        for (int64_t dim = 0; dim < rank; ++dim)
          rule.operands[0][static_cast<size_t>(dim)] = rule.results[0][static_cast<size_t>(dim)] =
              rule.loops++;
        return rule;
      })
      .Case([](stablehlo::BroadcastInDimOp op) {
        return broadcastRule(op, op.getBroadcastDimensions());
      })
      .Case([](stablehlo::ReshapeOp op) { return reshapeRule(op); })
      .Case([](stablehlo::TransposeOp op) { return transposeRule(op); })
      .Case([](stablehlo::ReverseOp op) {
        return keeping(op, "reverses",
                       [&](int64_t dim) { return !llvm::is_contained(op.getDimensions(), dim); });
      })
      .Case([](stablehlo::ConcatenateOp op) {
        return keeping(op, "concatenates",
                       [&](int64_t dim) { return dim != static_cast<int64_t>(op.getDimension()); });
      })
      .Case([](stablehlo::SliceOp op) {
        return keeping(op, "slices", [&](int64_t dim) {
          const auto at = static_cast<size_t>(dim);
          return op.getStrides()[at] == 1 &&
                 shapeOf(op.getOperand())[at] == shapeOf(op.getResult())[at];
        });
      })
      .Case([](stablehlo::PadOp op) {
        return keeping(op, "pads", [&](int64_t dim) {
          const auto at = static_cast<size_t>(dim);
          return op.getEdgePaddingLow()[at] == 0 && op.getEdgePaddingHigh()[at] == 0 &&
                 op.getInteriorPadding()[at] == 0;
        });
      })
      .Case([](stablehlo::SortOp op) {
        const auto rank = static_cast<int64_t>(shapeOf(op.getResult(0)).size());
        const int64_t sorted = op.getDimension() < 0 ? op.getDimension() + rank : op.getDimension();
        return keeping(op, "sorts", [&](int64_t dim) { return dim != sorted; });
      })
      .Case([](stablehlo::ReduceOp op) { return reduceRule(op); })
      .Case([](stablehlo::ReduceWindowOp op) { return reduceWindowRule(op); })
      .Case([](stablehlo::SelectAndScatterOp op) { return selectAndScatterRule(op); })
      .Case([](stablehlo::DynamicSliceOp op) { return dynamicSliceRule(op); })
      .Case([](stablehlo::DynamicUpdateSliceOp op) { return dynamicUpdateRule(op); })
      .Case([](stablehlo::GatherOp op) { return gatherRule(op); })
      .Case([](stablehlo::ScatterOp op) { return scatterRule(op); })
      .Case([](stablehlo::DotGeneralOp op) {
        stablehlo::DotDimensionNumbersAttr numbers = op.getDotDimensionNumbers();
        return productRule(
            op, numbers.getLhsBatchingDimensions(), numbers.getRhsBatchingDimensions(),
            numbers.getLhsContractingDimensions(), numbers.getRhsContractingDimensions());
      })
      .Case([](stablehlo::DotOp op) { return dotRule(op); })
      .Case([](stablehlo::ConvolutionOp op) { return convolutionRule(op); })
      .Case<stablehlo::CholeskyOp, stablehlo::TriangularSolveOp>([](Operation *op) {
        const auto rank = static_cast<int64_t>(shapeOf(op->getResult(0)).size());
        return keeping(op, "solves along", [&](int64_t dim) { return dim < rank - 2; });
      })
      .Case([](stablehlo::FftOp op) {
        const auto rank = static_cast<int64_t>(shapeOf(op.getResult()).size());
        const auto transformed = static_cast<int64_t>(op.getFftLength().size());
        return keeping(op, "transforms", [&](int64_t dim) { return dim < rank - transformed; });
      })
      .Default([](Operation *op) -> Rule {
        if (op->hasTrait<OpTrait::Elementwise>() && op->getNumResults() == 1 &&
            llvm::all_of(op->getOperands(), [&](Value operand) {
              return shapeOf(operand) == shapeOf(op->getResult(0));
            }))
          return elementwise(op);
        return std::nullopt;
      });
}

void fitAttributes(Operation *op) {
  Builder builder(op->getContext());
  if (auto slice = dyn_cast<stablehlo::SliceOp>(op)) {
    // A sharded dimension is not sliced, so the limit is the size of the shard.
    SmallVector<int64_t> limits(slice.getLimitIndices());
    for (auto [dim, limit] : llvm::enumerate(limits))
      if (slice.getStartIndices()[dim] == 0 && slice.getStrides()[dim] == 1)
        limit = shapeOf(slice.getResult())[dim];
    slice.setLimitIndices(limits);
  } else if (auto slice = dyn_cast<stablehlo::DynamicSliceOp>(op)) {
    slice.setSliceSizes(shapeOf(slice.getResult()));
  } else if (auto gather = dyn_cast<stablehlo::GatherOp>(op)) {
    SmallVector<int64_t> sizes(gather.getSliceSizes());
    for (auto [size, operand] : llvm::zip_equal(sizes, shapeOf(gather.getOperand())))
      size = std::min(size, operand);
    gather.setSliceSizes(sizes);
  } else if (auto composite = dyn_cast<stablehlo::CompositeOp>(op)) {
    fitDecomposition(composite);
  } else if (auto constant = dyn_cast<stablehlo::ConstantOp>(op)) {
    auto type = cast<RankedTensorType>(constant.getType());
    constant.setValueAttr(cast<DenseElementsAttr>(constant.getValue()).resizeSplat(type));
  }
}

} // namespace tilewright::distribute
