#include "tilewright/transform/communicate/window/ChooseWindows.h"

#include "tilewright/dialect/stablehlo/Collectives.h"
#include "tilewright/dialect/stablehlo/ops/CallOps.h"
#include "tilewright/dialect/stablehlo/ops/ControlFlowOps.h"
#include "tilewright/predict/Order.h"
#include "tilewright/support/Concat.h"
#include "tilewright/transform/communicate/Collective.h"

#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/STLExtras.h"

#include <map>

using namespace mlir;

namespace tilewright::communicate {
namespace {

using predict::OrderStep;
using Kind = OrderStep::Kind;

/// Searching the order of longer blocks would take too long.
constexpr size_t maxSteps = 20'000;

/// The ops of a block as steps for the order search, as if some of its windows were emitted.
class BlockSteps {
public:
  BlockSteps(Block &block, const TensorCost &cost, ArrayRef<const Window *> windows) : cost(cost) {
    problem.separation = cost.rates().separation();
    for (const Window *window : windows) {
      at[window->collective] = window;
      for (stablehlo::DotGeneralOp dot : window->dots())
        at[dot] = window;
      if (window->computed)
        absorbed.insert_range(window->computed->ops());
    }
    for (Operation &op : block.without_terminator())
      add(&op);
    if (!isa<func::FuncOp>(block.getParentOp()))
      for (Value result : block.getTerminator()->getOperands())
        if (auto found = stepOf.find(result); found != stepOf.end())
          problem.steps[found->second].isUrgent = true;
  }

  const predict::OrderProblem &get() const { return problem; }

private:
  using Steps = std::vector<unsigned>;

  unsigned step(Kind kind, double time, Steps after, unsigned lane = 0) {
    llvm::sort(after);
    after.erase(llvm::unique(after), after.end());
    OrderStep made;
    made.kind = kind;
    made.time = time;
    made.after = std::move(after);
    made.lane = lane;
    problem.steps.push_back(std::move(made));
    return static_cast<unsigned>(problem.steps.size()) - 1;
  }
  unsigned compute(double time, Steps after) { return step(Kind::compute, time, std::move(after)); }
  /// Returns the done.
  unsigned exchange(double time, Attribute groups, Steps after) {
    const unsigned lane = lanes.try_emplace(groups, lanes.size()).first->second;
    const unsigned start = step(Kind::start, time, std::move(after), lane);
    const unsigned done = step(Kind::done, 0, {start}, lane);
    problem.steps[start].partner = done;
    problem.steps[done].partner = start;
    return done;
  }

  void need(Value value, Steps &steps) const {
    if (auto found = stepOf.find(value); found != stepOf.end())
      steps.push_back(found->second);
  }
  Steps operandsOf(Operation *op) const {
    Steps steps;
    op->walk([&](Operation *inner) {
      for (Value operand : inner->getOperands())
        need(operand, steps);
    });
    return steps;
  }

  void add(Operation *op) {
    const Window *window = at.lookup(op);
    if (window && op == window->collective)
      return addWindow(*window);
    if (window && window->form == Window::Form::gather)
      return addGathered(*window, op);
    if (absorbed.contains(op))
      return;
    Steps after = operandsOf(op);
    if (hasEffects(op) && lastEffect != ~0u)
      after.push_back(lastEffect);
    unsigned last;
    if (DenseIntElementsAttr groups = groupsOf(op); groups && kindOf(op)) {
      last = exchange(cost.collective(op), groups, std::move(after));
    } else {
      last = compute(cost.of(op), std::move(after));
      problem.steps[last].isUrgent = op->getNumRegions() != 0 && stablehlo::hasCollective(op);
    }
    if (hasEffects(op))
      lastEffect = last;
    for (Value result : op->getResults())
      stepOf[result] = last;
  }

  static bool hasEffects(Operation *op) {
    if (auto call = dyn_cast<stablehlo::CustomCallOp>(op))
      return call.getHasSideEffect();
    return op->getNumRegions() == 0 && !kindOf(op) && !isMemoryEffectFree(op);
  }

  void addWindow(const Window &window) {
    const WindowTimes times = timesOf(window, cost);
    const Value result = window.collective->getResult(0);
    if (window.form == Window::Form::gather) {
      Steps &pieces = piecesOf[window.collective];
      Steps own;
      need(window.collective->getOperand(0), own);
      pieces.push_back(compute(0, std::move(own)));
      while (static_cast<int64_t>(pieces.size()) < window.pieces)
        pieces.push_back(exchange(times.message, window.ring->pairs(), {pieces.back()}));
      stepOf[result] = compute(0, pieces);
      return;
    }
    Steps leaves;
    for (Operation *op : window.computed->ops())
      for (Value operand : op->getOperands())
        need(operand, leaves);
    double time = times.movement;
    for (double piece : times.pieces)
      time += piece;
    Steps ends;
    for (int64_t piece = 0; piece < window.pieces; ++piece) {
      const unsigned made = compute(time, leaves);
      if (window.form == Window::Form::reduce)
        ends.push_back(exchange(times.message, groupsOf(window.collective), {made}));
      else if (ends.empty())
        ends = {made};
      else
        ends = {compute(0, {made, exchange(times.message, window.ring->pairs(), ends)})};
    }
    stepOf[result] = compute(0, ends);
  }

  /// A product with a gathered operand.
  void addGathered(const Window &window, Operation *op) {
    const WindowTimes times = timesOf(window, cost);
    const auto *product = llvm::find_if(
        window.products, [&](GatheredProduct each) { return each.dot.getOperation() == op; });
    const auto number = static_cast<size_t>(product - window.products.begin());
    const double movement = times.movement / static_cast<double>(window.products.size());
    Steps others, ends;
    const unsigned otherSide = product->isLhs ? 1 : 0;
    need(op->getOperand(otherSide), others);
    for (unsigned piece : piecesOf[window.collective]) {
      Steps after = others;
      after.push_back(piece);
      llvm::append_range(after, ends);
      ends = {compute(times.pieces[number] + movement, std::move(after))};
    }
    stepOf[op->getResult(0)] = ends.front();
  }

  const TensorCost &cost;
  predict::OrderProblem problem;
  DenseMap<Operation *, const Window *> at; // collectives and products of windows
  DenseSet<Operation *> absorbed;           // computed where the window's collective was
  DenseMap<Value, unsigned> stepOf;
  DenseMap<Operation *, Steps> piecesOf; // of gathers
  DenseMap<Attribute, unsigned> lanes;
  unsigned lastEffect = ~0u;
};

/// Windows with the same key have the same times.
using WindowKey = std::vector<const void *>;
WindowKey keyOf(const Window &window) {
  WindowKey key{window.collective->getName().getAsOpaquePointer(),
                window.collective->getOperand(0).getType().getAsOpaquePointer(),
                groupsOf(window.collective).getAsOpaquePointer()};
  for (stablehlo::DotGeneralOp dot : window.dots()) {
    for (Type type : {dot.getLhs().getType(), dot.getRhs().getType(), dot.getResult().getType()})
      key.push_back(type.getAsOpaquePointer());
    key.push_back(dot.getDotDimensionNumbers().getAsOpaquePointer());
  }
  return key;
}

double timeOf(Block &block, const TensorCost &cost, ArrayRef<const Window *> windows) {
  return predict::quickCost(BlockSteps(block, cost, windows).get()).time;
}

std::string microseconds(double nanoseconds) {
  return concat(static_cast<int64_t>(nanoseconds / 1e3), " us");
}

std::vector<WindowChoice> windowsOf(Block &block, const TensorCost &cost,
                                    llvm::function_ref<void(Operation *, StringRef)> missed) {
  std::vector<WindowChoice> choices;
  DenseSet<Operation *> taken;
  for (Operation &op : block) {
    if (!kindOf(&op))
      continue;
    std::string reason;
    std::optional<Window> window = findWindow(&op, cost, reason);
    if (!window) {
      if (!reason.empty())
        missed(&op, reason);
      continue;
    }
    SmallVector<Operation *> ops;
    if (window->computed)
      llvm::append_range(ops, window->computed->ops());
    else
      llvm::append_range(ops, window->dots());
    if (llvm::any_of(ops, [&](Operation *each) { return taken.contains(each); })) {
      missed(&op, "another collective is sent beside the same product");
      continue;
    }
    taken.insert_range(ops);
    choices.push_back({*std::move(window), false, {}});
  }
  return choices;
}

} // namespace

std::vector<WindowChoice> allWindows(Block &block, const TensorCost &cost) {
  std::vector<WindowChoice> choices = windowsOf(block, cost, [](Operation *, StringRef) {});
  for (WindowChoice &choice : choices)
    choice.isTaken = true;
  return choices;
}

std::vector<WindowChoice> chooseWindows(Block &block, const TensorCost &cost,
                                        llvm::function_ref<void(Operation *, StringRef)> missed) {
  std::vector<WindowChoice> choices = windowsOf(block, cost, missed);
  struct Alike {
    std::vector<WindowChoice *> choices;
    size_t number = 0;
    double saved = 0, whole = 0; // of all
  };
  std::map<WindowKey, size_t> known;
  std::vector<Alike> kinds;
  for (WindowChoice &choice : choices) {
    const WindowTimes times = timesOf(choice.window, cost);
    const WindowGain gain = gainOf(times, choice.window.pieces, choice.window.form, cost.rates());
    if (gain.saved <= 0) {
      choice.reason = concat("its pieces would take ", microseconds(-gain.saved),
                             " more than the whole: the products beside it are too short");
      continue;
    }
    // Typical rates may be wrong. If the link is faster than assumed, or needs the processor, the
    // program must not become much slower.
    if (!cost.rates().isMeasured() && 4 * gain.overhead > gain.saved) {
      choice.reason = concat("it would save at most ", microseconds(gain.saved), " and cost ",
                             microseconds(gain.overhead), " of launches and copies");
      continue;
    }
    auto [found, isNew] = known.try_emplace(keyOf(choice.window), kinds.size());
    if (isNew)
      kinds.emplace_back().number = found->second;
    Alike &alike = kinds[found->second];
    alike.choices.push_back(&choice);
    alike.saved += gain.saved;
    alike.whole += times.whole;
  }
  if (kinds.empty())
    return choices;
  if (const auto steps = static_cast<size_t>(std::distance(block.begin(), block.end()));
      steps > maxSteps) {
    for (Alike &alike : kinds)
      for (WindowChoice *choice : alike.choices)
        choice->reason = concat("the block has ", steps, " ops, more than ", maxSteps);
    return choices;
  }
  llvm::sort(kinds, [](const Alike &a, const Alike &b) {
    return std::pair(-a.saved, a.number) < std::pair(-b.saved, b.number);
  });
  std::vector<const Window *> taken;
  double best = timeOf(block, cost, taken);
  for (Alike &alike : kinds) {
    std::vector<const Window *> more = taken;
    for (WindowChoice *choice : alike.choices)
      more.push_back(&choice->window);
    const double time = timeOf(block, cost, more);
    const bool pays = best - time >= alike.whole / 10;
    for (WindowChoice *choice : alike.choices) {
      choice->isTaken = pays;
      choice->reason = pays ? concat("the block is predicted to take ", microseconds(time),
                                     " instead of ", microseconds(best))
                            : concat("the block would take ", microseconds(time), " instead of ",
                                     microseconds(best), ": other steps hide the collective");
    }
    if (pays) {
      taken = std::move(more);
      best = time;
    }
  }
  return choices;
}

} // namespace tilewright::communicate
