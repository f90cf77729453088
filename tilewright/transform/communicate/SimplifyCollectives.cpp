// communicate-simplify: removes collectives that are not needed, and merges sums that one
// collective can compute.
#include "tilewright/dialect/stablehlo/Collectives.h"
#include "tilewright/dialect/stablehlo/StablehloDialect.h"
#include "tilewright/dialect/stablehlo/ops/BinaryOps.h"
#include "tilewright/dialect/stablehlo/ops/CollectiveOps.h"
#include "tilewright/dialect/stablehlo/ops/ControlFlowOps.h"
#include "tilewright/dialect/stablehlo/ops/CreationOps.h"
#include "tilewright/dialect/stablehlo/ops/IndexingOps.h"
#include "tilewright/interpret/PassLog.h"
#include "tilewright/transform/communicate/Collective.h"
#include "tilewright/transform/communicate/Passes.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Remarks.h"

using namespace mlir;

namespace tilewright::communicate {

#define GEN_PASS_DEF_SIMPLIFYCOLLECTIVESPASS
#include "tilewright/transform/communicate/Passes.h.inc"

namespace {

constexpr llvm::StringLiteral passName = "communicate-simplify";

/// The reduction whose only result is `value`, if nothing else uses that; null otherwise.
Operation *soleReduction(Value value) {
  Operation *op = value.getDefiningOp();
  return isa_and_present<stablehlo::AllReduceOp, stablehlo::ReduceScatterOp>(op) &&
                 op->getNumResults() == 1 && value.hasOneUse()
             ? op
             : nullptr;
}

/// Whether f(reduce(x), reduce(y)) equals reduce(f(x, y)), where f is the op and reduce is
/// `reduction`.
bool distributes(Operation *f, StringRef reduction) {
  if (isa<stablehlo::AddOp, stablehlo::SubtractOp>(f))
    return reduction == stablehlo::AddOp::getOperationName();
  return isa<stablehlo::MultiplyOp, stablehlo::MaximumOp, stablehlo::MinimumOp>(f) &&
         f->getName().getStringRef() == reduction;
}

/// f(reduce(x), reduce(y)) becomes reduce(f(x, y)).
bool reassociate(Operation *f) {
  if (f->getNumOperands() != 2 || f->getNumResults() != 1)
    return false;
  Operation *x = soleReduction(f->getOperand(0)), *y = soleReduction(f->getOperand(1));
  if (!x || !y || x->getBlock() != f->getBlock() || y->getBlock() != f->getBlock())
    return false;
  const std::optional<CollectiveKey> key = keyOf(x);
  if (!key || key != keyOf(y) || !distributes(f, key->reduction) ||
      x->getOperand(0).getType() != y->getOperand(0).getType())
    return false;
  TILEWRIGHT_LOG(passName, f, "is reduced once: both operands are reductions of the same ranks");
  OpBuilder builder(f);
  Value combined =
      cloneWith(builder, f, {x->getOperand(0), y->getOperand(0)}, x->getOperand(0).getType())
          ->getResult(0);
  Operation *reduced = cloneWith(builder, x, combined, f->getResult(0).getType());
  f->getResult(0).replaceAllUsesWith(reduced->getResult(0));
  f->erase();
  x->erase();
  y->erase();
  return true;
}

/// A slice of an all_reduce by which each rank keeps its own part (`exec.own_part`, the dimension)
/// becomes a reduce_scatter.
bool scatter(stablehlo::DynamicSliceOp slice) {
  auto own = slice->getAttrOfType<IntegerAttr>("exec.own_part");
  auto reduce = slice.getOperand().getDefiningOp<stablehlo::AllReduceOp>();
  if (!own || !reduce || reduce->getNumResults() != 1 || !reduce->hasOneUse() || !keyOf(reduce) ||
      slice->getBlock() != reduce->getBlock())
    return false;
  TILEWRIGHT_LOG(passName, reduce, "becomes a reduce_scatter: each rank keeps only its part");
  OpBuilder builder(slice);
  OperationState state(reduce->getLoc(), stablehlo::ReduceScatterOp::getOperationName());
  state.addOperands(reduce->getOperand(0));
  state.addTypes(slice.getType());
  state.addAttribute("scatter_dimension", builder.getI64IntegerAttr(own.getInt()));
  state.addAttribute("replica_groups", reduce.getReplicaGroupsAttr());
  if (auto channel = reduce.getChannelHandleAttr())
    state.addAttribute("channel_handle", channel);
  if (reduce.getUseGlobalDeviceIds())
    state.addAttribute("use_global_device_ids", builder.getUnitAttr());
  IRMapping mapping;
  reduce.getComputation().cloneInto(state.addRegion(), mapping);
  Operation *scattered = builder.create(state);
  for (NamedAttribute attribute : reduce->getDiscardableAttrs())
    scattered->setDiscardableAttr(attribute.getName(), attribute.getValue());
  slice->getResult(0).replaceAllUsesWith(scattered->getResult(0));
  slice->erase();
  reduce->erase();
  return true;
}

/// Whether this type can represent a number exactly.
bool isExact(Type element, int64_t number) {
  if (auto type = dyn_cast<IntegerType>(element))
    return type.getWidth() > 1;
  auto type = dyn_cast<FloatType>(element);
  if (!type)
    return false;
  APFloat value(static_cast<double>(number));
  bool losesInfo = false;
  value.convert(type.getFloatSemantics(), APFloat::rmNearestTiesToEven, &losesInfo);
  return !losesInfo;
}

/// A reduction of n equal values is arithmetic: n times the value for a sum, the value for a
/// maximum.
bool computeLocally(Operation *op) {
  auto reduce = dyn_cast<stablehlo::AllReduceOp>(op);
  if (!reduce || !op->hasAttr("exec.replicated"))
    return false;
  const std::optional<CollectiveKey> key = keyOf(op);
  if (!key)
    return false;
  const bool isSum = key->reduction == stablehlo::AddOp::getOperationName();
  const bool isSelf = key->reduction == stablehlo::MaximumOp::getOperationName() ||
                      key->reduction == stablehlo::MinimumOp::getOperationName() ||
                      key->reduction == stablehlo::AndOp::getOperationName() ||
                      key->reduction == stablehlo::OrOp::getOperationName();
  const int64_t ranks = ranksOf(op);
  if (!isSelf && !(isSum && isExact(key->element, ranks)))
    return false;
  TILEWRIGHT_LOG(passName, op, "is arithmetic: its operand is the same on all ranks of a group");
  OpBuilder builder(op);
  for (auto [operand, result] : llvm::zip_equal(op->getOperands(), op->getResults())) {
    Value value = operand;
    if (isSum) {
      auto type = cast<RankedTensorType>(operand.getType());
      TypedAttr count =
          isa<FloatType>(key->element)
              ? TypedAttr(builder.getFloatAttr(key->element, static_cast<double>(ranks)))
              : TypedAttr(IntegerAttr::get(key->element,
                                           APInt(key->element.getIntOrFloatBitWidth(),
                                                 static_cast<uint64_t>(ranks), false, true)));
      Value factor = stablehlo::ConstantOp::create(
          builder, op->getLoc(), type, cast<ElementsAttr>(DenseElementsAttr::get(type, count)));
      value = stablehlo::MultiplyOp::create(builder, op->getLoc(), type, operand, factor);
    }
    result.replaceAllUsesWith(value);
  }
  op->erase();
  return true;
}

/// Erases collectives that nothing uses, and those that repeat an earlier one.
void eraseDuplicates(func::FuncOp function) {
  DenseMap<Value, SmallVector<Operation *, 1>> earlier; // by first operand
  auto isDone = [&](Operation *op) {
    if (op->use_empty())
      return true;
    const std::optional<CollectiveKey> key = keyOf(op);
    if (!key || op->hasAttr(stablehlo::repeatedAttribute))
      return false;
    SmallVector<Operation *, 1> &same = earlier[op->getOperand(0)];
    for (Operation *other : same)
      if (other->getOperands() == op->getOperands() &&
          other->getResultTypes() == op->getResultTypes() && keyOf(other) == key &&
          other->getBlock()->findAncestorOpInBlock(*op)) {
        TILEWRIGHT_LOG(passName, op, "takes the result of an earlier collective of the same value");
        op->replaceAllUsesWith(other);
        return true;
      }
    same.push_back(op);
    return false;
  };
  SmallVector<Operation *> collectives;
  function.walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (stablehlo::isCollective(op))
      collectives.push_back(op);
  });
  for (Operation *op : collectives)
    if (isDone(op))
      op->erase();
}

/// Reports scheduling hints of users (jax.experimental.xla_metadata) by name, because nothing reads
/// them.
void reportAnnotations(func::FuncOp function) {
  function.walk([](Operation *op) {
    auto annotations = op->getAttrOfType<DictionaryAttr>("mhlo.frontend_attributes");
    for (NamedAttribute annotation :
         annotations ? annotations.getValue() : ArrayRef<NamedAttribute>()) {
      const StringRef name = annotation.getName();
      if (name.contains("schedul") || name.contains("latency") || name.contains("async") ||
          name.contains("overlap") || name.contains("pipeline"))
        remark::missed(op->getLoc(),
                       remark::RemarkOpts::name("communicate").category("communicate"))
            << remark::add("annotation {0} of {1} is ignored", name, op->getName().getStringRef())
            << remark::reason("{0}", "the order of steps is computed from predicted times");
    }
  });
}

struct SimplifyCollectives : impl::SimplifyCollectivesPassBase<SimplifyCollectives> {
  void runOnOperation() override {
    func::FuncOp function = getOperation();
    if (function.isExternal() || function.isPrivate())
      return;
    reportAnnotations(function);
    SmallVector<Operation *> ops;
    function.walk([&](Operation *op) {
      if (isa<stablehlo::AllReduceOp, stablehlo::AddOp, stablehlo::SubtractOp,
              stablehlo::MultiplyOp, stablehlo::MaximumOp, stablehlo::MinimumOp,
              stablehlo::DynamicSliceOp>(op))
        ops.push_back(op);
    });
    // In program order: a chain of sums is reduced once, at its end. Only reductions in front of
    // the visited op are erased, and those come earlier in the list.
    for (Operation *op : ops) {
      if (auto slice = dyn_cast<stablehlo::DynamicSliceOp>(op))
        scatter(slice);
      else if (isa<stablehlo::AllReduceOp>(op))
        computeLocally(op);
      else
        reassociate(op);
    }
    eraseDuplicates(function);
  }
};

} // namespace
} // namespace tilewright::communicate
