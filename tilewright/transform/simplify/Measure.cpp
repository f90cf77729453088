#include "tilewright/transform/simplify/Measure.h"

#include "tilewright/dialect/sdy/SdyDialect.h"
#include "tilewright/dialect/stablehlo/ops/BinaryOps.h"
#include "tilewright/dialect/stablehlo/ops/ControlFlowOps.h"
#include "tilewright/dialect/stablehlo/ops/CreationOps.h"
#include "tilewright/dialect/stablehlo/ops/DataMovementOps.h"
#include "tilewright/dialect/stablehlo/ops/LinearAlgebraOps.h"
#include "tilewright/dialect/stablehlo/ops/ReductionOps.h"
#include "tilewright/dialect/stablehlo/ops/UnaryOps.h"
#include "tilewright/support/Concat.h"
#include "tilewright/transform/simplify/Constants.h"
#include "tilewright/transform/simplify/Patterns.h"
#include "tilewright/transform/simplify/Rules.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/StringSwitch.h"

#include <algorithm>

using namespace mlir;

namespace tilewright::simplify {
namespace {

/// Whether an op is a constant, or a broadcast or reshape of a splat.
bool isFree(Operation *op) {
  return isa<stablehlo::ConstantOp>(op) ||
         (isa<stablehlo::BroadcastInDimOp, stablehlo::ReshapeOp>(op) && splatOf(op->getResult(0)));
}

bool isElementwise(Operation *op) {
  return op->hasTrait<OpTrait::Elementwise>() || isa<stablehlo::SelectOp, stablehlo::ClampOp>(op);
}

/// The weight of a data movement; 0 for other ops.
int64_t weightOfMovement(Operation *op) {
  if (auto reverse = dyn_cast<stablehlo::ReverseOp>(op))
    return 1 + static_cast<int64_t>(reverse.getDimensions().size());
  return llvm::StringSwitch<int64_t>(op->getName().stripDialect())
      .Cases({"reshape", "concatenate", "iota"}, 1)
      .Case("slice", 2)
      .Case("broadcast_in_dim", 3)
      .Case("transpose", 4)
      .Case("pad", 5)
      .Default(0);
}

/// The weight of a branch, call, tuple, token or annotation; 0 for other ops.
int64_t weightOfControl(Operation *op) {
  if (isa<stablehlo::IfOp, stablehlo::CaseOp>(op))
    return 1 + op->getNumResults();
  if (isa_and_present<sdy::SdyDialect>(op->getDialect()))
    return op->hasTrait<OpTrait::IsTerminator>() ? 0 : 1;
  return llvm::StringSwitch<int64_t>(op->getName().stripDialect())
      .Case("create_token", 2)
      .Cases({"map", "async_start", "async_done", "tuple", "get_tuple_element", "after_all",
              "custom_call", "composite", "optimization_barrier"},
             1)
      .Default(0);
}

bool isLegacy(Operation *op) {
  return llvm::StringSwitch<bool>(op->getName().stripDialect())
      .Cases({"dot", "einsum", "unary_einsum", "torch_index_select", "broadcast",
              "batch_norm_inference", "batch_norm_training", "batch_norm_grad",
              "dynamic_broadcast_in_dim", "dynamic_reshape", "dynamic_iota", "dynamic_pad",
              "real_dynamic_slice", "dynamic_gather", "dynamic_conv", "get_dimension_size",
              "set_dimension_size"},
             true)
      .Default(false);
}

/// How many times rules may still rewrite an op because of its form. A rule rewrites each of these
/// once: a select or clamp with a scalar operand, a bitcast that splits bytes, a matmul whose
/// result has another kind of element type than its operands, a matmul of predicates, a matmul
/// whose types can express its algorithm, and an argmax that depends on the order of its elements.
int64_t irregularities(Operation *op) {
  if (op->getNumOperands() == 0 || op->getNumResults() == 0 || !typeOf(op->getOperand(0)) ||
      !typeOf(op->getResult(0)))
    return 0;
  if (auto bitcast = dyn_cast<stablehlo::BitcastConvertOp>(op))
    return splitsBytes(bitcast);
  if (isa<stablehlo::DotGeneralOp, stablehlo::ConvolutionOp>(op)) {
    auto dot = dyn_cast<stablehlo::DotGeneralOp>(op);
    if (kindOfNumber(typeOf(op->getOperand(0)).getElementType()) ==
        kindOfNumber(typeOf(op->getResult(0)).getElementType()))
      return dot && (hasUnspelledAlgorithm(dot) || multipliesPredicates(dot));
    // Once the kinds are the same, the types may be able to express the algorithm.
    return dot && dot.getAlgorithm() ? 2 : 1;
  }
  if (auto reduce = dyn_cast<stablehlo::ReduceOp>(op))
    return indexOfFirstNan(reduce) != nullptr;
  if (!isa<stablehlo::SelectOp, stablehlo::ClampOp>(op))
    return 0;
  return llvm::any_of(op->getOperands(), [&](Value operand) {
    return typeOf(operand) && typeOf(operand).getRank() != typeOf(op->getResult(0)).getRank();
  });
}

/// The number of results that have uses but are empty tensors.
int64_t emptyResults(Operation *op) {
  return llvm::count_if(op->getResults(), [](Value result) {
    auto type = dyn_cast<RankedTensorType>(result.getType());
    return type && type.hasStaticShape() && type.getNumElements() == 0 && !result.use_empty();
  });
}

bool isCommutative(Operation *op) {
  return isa<stablehlo::AddOp, stablehlo::MultiplyOp, stablehlo::AndOp, stablehlo::OrOp,
             stablehlo::XorOp, stablehlo::MaximumOp, stablehlo::MinimumOp>(op);
}

/// The distance of a splat from the canonical form for its size.
int64_t detourOfSplat(Operation *op) {
  if (!isFree(op))
    return 0;
  if (auto constant = dyn_cast<stablehlo::ConstantOp>(op)) {
    auto elements = dyn_cast<DenseElementsAttr>(constant.getValue());
    const bool isLarge = elements && elements.isSplat() && constant.getType().getRank() > 0 &&
                         constant.getType().hasStaticShape() &&
                         bytesOf(constant.getType()) > maxSplatBytes;
    return isLarge ? 3 : 0; // more than the broadcast that replaces it
  }
  int64_t length = 0;
  for (Operation *at = op; at && !isa<stablehlo::ConstantOp>(at);
       at = at->getOperand(0).getDefiningOp())
    length += 2;
  RankedTensorType type = typeOf(op->getResult(0));
  const bool isSmall = type.hasStaticShape() && bytesOf(type) <= maxSplatBytes;
  // The canonical form of a large splat is one broadcast of a scalar; a reshape is never canonical.
  return length + (isSmall && isa<stablehlo::BroadcastInDimOp>(op) ? 1 : 0);
}

class Measurer {
public:
  explicit Measurer(Operation *function) {
    markLive(function);
    visit(function->getRegion(0), 0);
  }

  Measure measure{};

private:
  struct Position {
    int64_t depth = 0;  // length of the longest chain of ops before the value
    int64_t height = 0; // data movements since the value was computed
  };

  int64_t &at(Quantity quantity) { return measure[static_cast<size_t>(quantity)]; }

  /// Finds the live ops: those with side effects, and those that a live op depends on.
  void markLive(Operation *function) {
    SmallVector<Operation *> pending;
    auto need = [&](Operation *op) {
      for (; op && op != function && live.insert(op).second; op = op->getParentOp())
        pending.push_back(op);
    };
    auto needEffectsIn = [&](Region &region) {
      for (Operation &op : region.front())
        if (op.hasTrait<OpTrait::IsTerminator>() || !wouldOpBeTriviallyDead(&op))
          need(&op);
    };
    needEffectsIn(function->getRegion(0));
    while (!pending.empty()) {
      Operation *op = pending.pop_back_val();
      for (Value operand : op->getOperands())
        need(operand.getDefiningOp());
      for (Region &region : op->getRegions())
        if (!region.empty())
          needEffectsIn(region);
    }
  }

  Position positionOf(Value value) const { return positions.lookup(value); }

  void visit(Region &region, int64_t loops) {
    if (region.empty())
      return;
    for (Operation &op : region.front())
      if (live.contains(&op))
        visitOp(&op, loops);
  }

  void visitOp(Operation *op, int64_t loops) {
    count(op, loops);
    Position position;
    for (Value operand : op->getOperands()) {
      position.depth = std::max(position.depth, positionOf(operand).depth + 1);
      position.height = std::max(position.height, positionOf(operand).height);
    }
    position.depth = std::max<int64_t>(position.depth, 1);
    if (isElementwise(op))
      at(Quantity::movedBefore) += position.height;
    else if (weightOfMovement(op) > 0)
      ++position.height;
    else
      position.height = 0;
    if (isFree(op))
      position = {};
    auto loop = dyn_cast<stablehlo::WhileOp>(op);
    if (loop)
      for (Region &region : op->getRegions())
        for (auto [argument, operand] : llvm::zip(region.getArguments(), op->getOperands()))
          positions[argument] = {positionOf(operand).depth + 1, positionOf(operand).height};
    for (Region &region : op->getRegions()) {
      visit(region, loops + (loop ? 1 : 0));
      if (!region.empty() && region.front().mightHaveTerminator())
        for (Value yielded : region.front().getTerminator()->getOperands())
          position.depth = std::max(position.depth, positionOf(yielded).depth + 1);
    }
    for (OpResult result : op->getResults())
      positions[result] = {position.depth, heightOf(result, position)};
  }

  /// The height of a result. For a loop or branch, the maximum over all values that the result may
  /// have.
  int64_t heightOf(OpResult result, const Position &position) const {
    Operation *op = result.getOwner();
    const unsigned number = result.getResultNumber();
    int64_t height = position.height;
    if (auto loop = dyn_cast<stablehlo::WhileOp>(op))
      height =
          std::max(positionOf(op->getOperand(number)).height,
                   positionOf(loop.getBody().front().getTerminator()->getOperand(number)).height);
    else if (isa<stablehlo::IfOp, stablehlo::CaseOp>(op))
      for (Region &region : op->getRegions())
        height =
            std::max(height, positionOf(region.front().getTerminator()->getOperand(number)).height);
    return height;
  }

  void count(Operation *op, int64_t loops) {
    at(Quantity::nesting) += loops;
    if (!isa<stablehlo::ConstantOp>(op))
      at(Quantity::emptyValues) += emptyResults(op);
    at(Quantity::splatForms) += detourOfSplat(op);
    if (isFree(op))
      return;
    for (Value operand : op->getOperands())
      at(Quantity::operandDepth) += positionOf(operand).depth;
    if (op->hasTrait<OpTrait::IsTerminator>())
      return;
    at(Quantity::irregular) += irregularities(op);
    if (isCommutative(op) && splatOf(op->getOperand(0)) && !splatOf(op->getOperand(1)))
      ++at(Quantity::constantsLeft);
    if (isa<stablehlo::ConcatenateOp>(op))
      at(Quantity::concatenated) += op->getNumOperands();
    at(Quantity::movements) += weightOfMovement(op);
    if (isa<stablehlo::WhileOp>(op)) {
      at(Quantity::loopState) += 1 + op->getNumOperands();
      at(Quantity::uncounted) += op->hasAttr("exec.trip_count") ? 0 : 1;
    } else if (int64_t weight = weightOfControl(op)) {
      at(Quantity::control) += weight;
    } else if (isLegacy(op)) {
      ++at(Quantity::legacy);
    } else if (auto reduce = dyn_cast<stablehlo::ReduceOp>(op)) {
      RankedTensorType type = typeOf(reduce.getInputs()[0]);
      at(Quantity::reductions) +=
          1 + (type ? type.getRank() : 0) + static_cast<int64_t>(reduce.getDimensions().size());
    } else if (op->getName().stripDialect().starts_with("dynamic_")) {
      ++at(Quantity::dynamicSlices);
    } else if (isa<stablehlo::PowerOp>(op)) {
      ++at(Quantity::powers);
    } else if (isa<stablehlo::DivideOp, stablehlo::CompareOp>(op)) {
      ++at(Quantity::quotients);
    } else if (isElementwise(op)) {
      ++at(Quantity::elementwise);
    } else if (weightOfMovement(op) == 0) {
      ++at(Quantity::structured);
    }
  }

  llvm::DenseSet<Operation *> live;
  llvm::DenseMap<Value, Position> positions;
};

constexpr llvm::StringLiteral quantityNames[] = {
#define TILEWRIGHT_QUANTITY(name, words) #name,
#include "tilewright/transform/simplify/Rules.def"
};

constexpr RuleRow ruleRows[] = {
#define TILEWRIGHT_RULE(name, quantity) {#name, Quantity::quantity},
#include "tilewright/transform/simplify/Rules.def"
};

} // namespace

Measure measureOf(Operation *function) { return Measurer(function).measure; }

std::string toString(const Measure &measure) {
  std::string text;
  for (auto [name, number] : llvm::zip_equal(quantityNames, measure))
    text += concat(text.empty() ? "" : ", ", name.str(), " ", number);
  return text;
}

llvm::ArrayRef<RuleRow> rules() { return ruleRows; }

bool isProgress(llvm::StringRef rule, const Measure &before, const Measure &after) {
  const RuleRow *row = llvm::find_if(rules(), [&](const RuleRow &r) { return r.name == rule; });
  const size_t last = row == rules().end() ? 0 : static_cast<size_t>(row->quantity) + 1;
  return std::lexicographical_compare(after.begin(), after.begin() + last, before.begin(),
                                      before.begin() + last);
}

} // namespace tilewright::simplify
