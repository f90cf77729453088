// Finds cascades, and describes decisions.
#include "tilewright/transform/fuse/cascade/Cascade.h"

#include "tilewright/dialect/stablehlo/ops/BinaryOps.h"
#include "tilewright/dialect/stablehlo/ops/LinearAlgebraOps.h"
#include "tilewright/dialect/stablehlo/ops/ReductionOps.h"
#include "tilewright/support/Concat.h"

#include "llvm/ADT/EquivalenceClasses.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace tilewright::cascade {

/// A cascade of more reductions is not examined.
static constexpr size_t maxReductions = 32;

std::string_view nameOf(Condition condition) {
  switch (condition) {
  case Condition::none:
    return "none";
  case Condition::nonempty:
    return "nonempty";
  case Condition::identity:
    return "identity";
  case Condition::alignment:
    return "alignment";
  case Condition::separability:
    return "separability";
  case Condition::exponents:
    return "exponents";
  case Condition::rank:
    return "rank";
  case Condition::range:
    return "range";
  case Condition::distributivity:
    return "distributivity";
  }
  return "";
}

bool Reduction::isMatmul() const { return isa<stablehlo::DotGeneralOp>(op); }

unsigned Cascade::indexOf(Operation *op) const {
  unsigned index = 0;
  while (index < reductions.size() && reductions[index].op != op)
    ++index;
  return index;
}

bool Cascade::canSplit() const {
  return space().length() > 0 && llvm::none_of(reductions, [](const Reduction &reduction) {
           return reduction.failed == Condition::identity;
         });
}

std::string describe(const Reduction &reduction) {
  const Form &form = reduction.form;
  if (reduction.failed != Condition::none)
    return concat(nameOf(reduction.failed), ": ", reduction.why);
  if (form.isIndependent())
    return "independent of earlier results of the pass";
  std::string text;
  auto append = [&](std::string part) { text += text.empty() ? part : concat(", ", part); };
  if (!form.exponent.empty())
    append("rescaled by an exponential when the extremum changes");
  if (!form.variables.empty())
    append(concat("shifted as a polynomial, ", form.derivatives.size(), " sums"));
  if (!form.factor.empty())
    append("multiplied by a factor at the end");
  if (!form.offset.empty())
    append("offset at the end");
  return text;
}

std::string Cascade::describe() const {
  std::string text =
      concat(reductions.size(), " reductions in ", passes, passes == 1 ? " pass" : " passes", "\n");
  for (auto [i, reduction] : llvm::enumerate(reductions))
    text += concat("  r", i, " = ", reduction.op->getName().stripDialect().str(), " of ",
                   toString(*reduction.maps[0]), ": pass ", reduction.pass, ", ",
                   cascade::describe(reduction), "\n");
  return text;
}

static Combiner combinerOf(Region &body) {
  Block &block = body.front();
  if (block.getNumArguments() != 2 || !llvm::hasNItems(block, 2))
    return Combiner::other;
  Operation &op = block.front();
  if (op.getNumOperands() != 2 || op.getNumResults() != 1 ||
      block.back().getOperand(0) != op.getResult(0) || op.getOperand(0) == op.getOperand(1) ||
      !llvm::all_of(op.getOperands(), llvm::IsaPred<BlockArgument>))
    return Combiner::other;
  Type element = cast<RankedTensorType>(op.getResult(0).getType()).getElementType();
  // Sums and products of booleans are other functions.
  if (element.isInteger(1))
    return Combiner::other;
  return llvm::TypeSwitch<Operation *, Combiner>(&op)
      .Case<stablehlo::AddOp>([](auto) { return Combiner::sum; })
      .Case<stablehlo::MultiplyOp>([](auto) { return Combiner::product; })
      .Case<stablehlo::MaximumOp>([](auto) { return Combiner::maximum; })
      .Case<stablehlo::MinimumOp>([](auto) { return Combiner::minimum; })
      .Default([](auto) { return Combiner::other; });
}

static bool hasStaticShape(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  return type && type.hasStaticShape();
}

/// The spaces in which an op is a reduction, and the operand that has the space's shape.
static SmallVector<std::pair<Space, unsigned>, 2> spacesOf(Operation *op) {
  SmallVector<std::pair<Space, unsigned>, 2> spaces;
  if (!llvm::all_of(op->getOperands(), hasStaticShape))
    return spaces;
  auto shapeOf = [&](unsigned i) {
    return SmallVector<int64_t, 4>(cast<RankedTensorType>(op->getOperand(i).getType()).getShape());
  };
  if (auto reduce = dyn_cast<stablehlo::ReduceOp>(op)) {
    SmallVector<int64_t, 4> axes(reduce.getDimensions());
    llvm::sort(axes);
    if (!axes.empty())
      spaces.push_back({Space{shapeOf(0), axes}, 0});
  } else if (auto dot = dyn_cast<stablehlo::DotGeneralOp>(op)) {
    stablehlo::DotDimensionNumbersAttr numbers = dot.getDotDimensionNumbers();
    if (numbers.getLhsContractingDimensions().size() == 1) {
      spaces.push_back({Space{shapeOf(0), {numbers.getLhsContractingDimensions()[0]}}, 0});
      spaces.push_back({Space{shapeOf(1), {numbers.getRhsContractingDimensions()[0]}}, 1});
    }
  }
  return spaces;
}

/// Adds an op to the reductions of a space. A matmul is added only if it reads some of them.
static bool addReduction(Expressions &nodes, std::vector<Reduction> &reductions, Operation *op,
                         unsigned operand) {
  Reduction reduction;
  reduction.op = op;
  reduction.mappedOperand = operand;
  if (auto reduce = dyn_cast<stablehlo::ReduceOp>(op)) {
    reduction.combiner = combinerOf(reduce.getBody());
    for (Value input : reduce.getInputs())
      reduction.maps.push_back(nodes.of(input));
  } else {
    reduction.combiner = Combiner::sum;
    reduction.maps.push_back(nodes.of(op->getOperand(operand)));
    if (reduction.maps[0]->reads.empty())
      return false;
  }
  // A matmul's result has columns, so it is never a number for each row.
  if (!reduction.isMatmul())
    nodes.addReduction(op, static_cast<unsigned>(reductions.size()));
  reductions.push_back(std::move(reduction));
  return true;
}

std::vector<std::unique_ptr<Cascade>> findCascades(Block &block) {
  struct InSpace {
    Expressions nodes;
    std::vector<Reduction> reductions;
    llvm::EquivalenceClasses<unsigned> connected;
  };
  std::map<Space, std::unique_ptr<InSpace>> spaces;
  for (Operation &op : block)
    for (auto &[space, operand] : spacesOf(&op)) {
      auto &found = spaces[space];
      if (!found)
        found.reset(new InSpace{Expressions(space), {}, {}});
      const auto index = static_cast<unsigned>(found->reductions.size());
      if (!addReduction(found->nodes, found->reductions, &op, operand))
        continue;
      found->connected.insert(index);
      for (const Node *map : found->reductions[index].maps)
        for (unsigned read : map->reads)
          found->connected.unionSets(index, read);
      // A matmul belongs to the first operand that reads earlier results.
      break;
    }
  // Each cascade gets nodes of its own, so that reductions are numbered from zero.
  std::vector<std::unique_ptr<Cascade>> cascades;
  for (auto &[space, found] : spaces) {
    std::map<unsigned, Cascade *> byLeader;
    for (unsigned i = 0; i < found->reductions.size(); ++i) {
      const unsigned leader = found->connected.getLeaderValue(i);
      if (std::distance(found->connected.findLeader(leader), found->connected.member_end()) < 2)
        continue;
      Cascade *&cascade = byLeader[leader];
      if (!cascade)
        cascade = cascades.emplace_back(std::make_unique<Cascade>(space)).get();
      addReduction(cascade->nodes, cascade->reductions, found->reductions[i].op,
                   found->reductions[i].mappedOperand);
    }
  }
  llvm::erase_if(cascades, [](const std::unique_ptr<Cascade> &cascade) {
    return cascade->reductions.size() > maxReductions;
  });
  // In program order, whatever the order of the spaces is.
  llvm::sort(cascades, [](const auto &a, const auto &b) {
    return a->reductions[0].op->isBeforeInBlock(b->reductions[0].op);
  });
  for (const std::unique_ptr<Cascade> &cascade : cascades)
    decide(*cascade);
  return cascades;
}

} // namespace tilewright::cascade
