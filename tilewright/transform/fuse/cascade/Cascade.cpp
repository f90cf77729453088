// Finds cascades, and describes decisions.
#include "tilewright/transform/fuse/cascade/Cascade.h"

#include "tilewright/dialect/stablehlo/ops/BinaryOps.h"
#include "tilewright/dialect/stablehlo/ops/LinearAlgebraOps.h"
#include "tilewright/dialect/stablehlo/ops/ReductionOps.h"
#include "tilewright/support/Concat.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace tilewright::cascade {

/// Cascades with more reductions are not examined.
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
  case Condition::visibility:
    return "visibility";
  }
  return "";
}

bool Reduction::isMatmul() const { return isa<stablehlo::DotGeneralOp>(op); }

Cascade::Cascade(const Space &space)
    : nodes(space, [this](Operation *op, const View &view) -> std::optional<unsigned> {
        const unsigned index = indexOf(op);
        if (index == reductions.size() || reductions[index].view != view)
          return std::nullopt;
        return index;
      }) {}

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
  // For booleans, sums and products are different functions.
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

/// Finds the iteration spaces in which an op is a reduction, and the operand whose shape is that of
/// the space.
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

namespace {

/// An op of a cascade that is being collected.
struct Member {
  Operation *op = nullptr;
  unsigned operand = 0;
  View view;
};

/// A cascade that is being collected: the first reduction determines the space.
struct Draft {
  Space space;
  std::vector<Member> members;
};

class Collector {
public:
  void add(Operation *op);
  std::vector<std::unique_ptr<Cascade>> finish();

private:
  struct Read {
    Operation *op;
    View view; // in the space of the reader
  };
  std::vector<Read> readsOf(Operation *op, const Space &space, unsigned operand);
  void merge(Draft &into, Draft &from, const std::map<int64_t, int64_t> &dims);

  std::vector<std::unique_ptr<Draft>> drafts;
  llvm::DenseMap<Operation *, Draft *> draftOf;
};

/// The operands that are mapped: all inputs of a reduce.
OperandRange mappedOperands(Operation *op, unsigned operand) {
  if (auto reduce = dyn_cast<stablehlo::ReduceOp>(op))
    return reduce.getInputs();
  return op->getOperands().slice(operand, 1);
}

View identityOf(const Space &space) {
  View view;
  for (auto [dim, size] : llvm::enumerate(space.shape))
    view.push_back(size == 1 ? -1 : static_cast<int64_t>(dim));
  return view;
}

const Member &memberOf(const Draft &draft, Operation *op) {
  return *llvm::find_if(draft.members, [&](const Member &member) { return member.op == op; });
}

/// The view after the dimensions of the space were renumbered.
View renamed(const View &view, const std::map<int64_t, int64_t> &dims) {
  View result;
  for (int64_t dim : view) {
    auto found = dims.find(dim);
    result.push_back(found == dims.end() ? -1 : found->second);
  }
  return result;
}

/// The earlier reductions that an op reads row by row.
std::vector<Collector::Read> Collector::readsOf(Operation *op, const Space &space,
                                                unsigned operand) {
  Expressions nodes(space, [&](Operation *read, const View &) -> std::optional<unsigned> {
    return draftOf.contains(read) ? std::optional(0u) : std::nullopt;
  });
  for (Value input : mappedOperands(op, operand))
    nodes.of(input, identityOf(space));
  std::vector<Read> reads;
  for (unsigned id = 0; id < nodes.size(); ++id)
    if (const Node &node = *nodes.node(id); node.kind == Node::Kind::reduced)
      reads.push_back({node.op, node.dims});
  return reads;
}

/// Moves the reductions of one draft into another; `dims` contains the numbers of the first draft's
/// dimensions in the second.
void Collector::merge(Draft &into, Draft &from, const std::map<int64_t, int64_t> &dims) {
  for (Member &member : from.members) {
    draftOf[member.op] = &into;
    into.members.push_back({member.op, member.operand, renamed(member.view, dims)});
  }
  llvm::erase_if(drafts, [&](const std::unique_ptr<Draft> &draft) { return draft.get() == &from; });
}

void Collector::add(Operation *op) {
  for (auto &[space, operand] : spacesOf(op)) {
    std::vector<Read> reads = readsOf(op, space, operand);
    if (reads.empty() && isa<stablehlo::DotGeneralOp>(op))
      continue;
    Draft *draft = nullptr;
    std::map<int64_t, int64_t> dims; // of the draft, for those of the op
    if (reads.empty()) {
      draft = drafts.emplace_back(new Draft{space, {}}).get();
      for (size_t dim = 0; dim < space.shape.size(); ++dim)
        dims[static_cast<int64_t>(dim)] = static_cast<int64_t>(dim);
    } else {
      draft = draftOf[reads[0].op];
      for (auto [own, theirs] : llvm::zip(reads[0].view, memberOf(*draft, reads[0].op).view))
        dims[own] = theirs;
    }
    for (size_t i = 1; i < reads.size(); ++i) {
      Draft *other = draftOf[reads[i].op];
      if (other == draft)
        continue;
      std::map<int64_t, int64_t> ofOther;
      for (auto [own, theirs] : llvm::zip(reads[i].view, memberOf(*other, reads[i].op).view))
        ofOther[theirs] = dims[own];
      merge(*draft, *other, ofOther);
    }
    draft->members.push_back({op, operand, renamed(identityOf(space), dims)});
    // A matmul's result has columns, so it never is a single number per row.
    if (isa<stablehlo::ReduceOp>(op))
      draftOf[op] = draft;
    return;
  }
}

std::vector<std::unique_ptr<Cascade>> Collector::finish() {
  std::vector<std::unique_ptr<Cascade>> cascades;
  for (const std::unique_ptr<Draft> &draft : drafts) {
    if (draft->members.size() < 2 || draft->members.size() > maxReductions)
      continue;
    llvm::sort(draft->members,
               [](const Member &a, const Member &b) { return a.op->isBeforeInBlock(b.op); });
    auto cascade = std::make_unique<Cascade>(draft->space);
    for (const Member &member : draft->members) {
      Reduction reduction;
      reduction.op = member.op;
      reduction.mappedOperand = member.operand;
      reduction.view = member.view;
      auto reduce = dyn_cast<stablehlo::ReduceOp>(member.op);
      reduction.combiner = reduce ? combinerOf(reduce.getBody()) : Combiner::sum;
      for (Value input : mappedOperands(member.op, member.operand))
        reduction.maps.push_back(cascade->nodes.of(input, member.view));
      cascade->reductions.push_back(std::move(reduction));
    }
    decide(*cascade);
    cascades.push_back(std::move(cascade));
  }
  // Merging changes the order, so restore program order.
  llvm::sort(cascades, [](const auto &a, const auto &b) {
    return a->reductions[0].op->isBeforeInBlock(b->reductions[0].op);
  });
  return cascades;
}

} // namespace

std::vector<std::unique_ptr<Cascade>> findCascades(Block &block) {
  Collector collector;
  for (Operation &op : block)
    collector.add(&op);
  return collector.finish();
}

} // namespace tilewright::cascade
