#include "tilewright/transform/communicate/window/Window.h"

#include "tilewright/dialect/stablehlo/ops/CollectiveOps.h"
#include "tilewright/support/Concat.h"
#include "tilewright/transform/SortBlock.h"
#include "tilewright/transform/TypeOf.h"
#include "tilewright/transform/communicate/Collective.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallPtrSet.h"

using namespace mlir;

namespace tilewright::communicate {
namespace {

using Along = TensorCost::Along;

/// With more ranks, the steps of a window would be too short.
constexpr int64_t maxRing = 16;

/// Whether `value` may depend on the result of `source`, an op of the same block. Returns true
/// after 128 ops without a decision: the other operands of such products are usually parameters.
bool mayDependOn(Value value, Operation *source) {
  constexpr unsigned maxLook = 128;
  SmallVector<Value> pending{value};
  llvm::SmallPtrSet<Operation *, 16> seen;
  while (!pending.empty()) {
    Operation *op = pending.pop_back_val().getDefiningOp();
    if (!op || op->getBlock() != source->getBlock() || op->isBeforeInBlock(source) ||
        !seen.insert(op).second)
      continue;
    if (op == source || op->getNumRegions() != 0 || seen.size() > maxLook)
      return true;
    llvm::append_range(pending, op->getOperands());
  }
  return false;
}

/// Whether the type is a nonempty tensor of numbers of whole bytes.
bool isPlain(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  if (!type || !type.hasStaticShape() || type.getNumElements() == 0)
    return false;
  const Type element = type.getElementType();
  return element.isIntOrFloat() && element.getIntOrFloatBitWidth() >= 8;
}

/// Whether a reduction converts its operand to a wider type first. Its parts would have the type of
/// the operand.
bool isWidening(Operation *op) {
  return typeOf(op->getOperand(0)).getElementType() != typeOf(op->getResult(0)).getElementType();
}

std::optional<Window> findGather(stablehlo::AllGatherOp gather, std::string &reason) {
  if (gather->getNumOperands() != 1 || !isPlain(gather->getOperand(0)))
    return std::nullopt;
  const Value whole = gather->getResult(0);
  SmallVector<std::pair<stablehlo::DotGeneralOp, bool>> users;
  for (OpOperand &use : whole.getUses())
    if (auto dot = dyn_cast<stablehlo::DotGeneralOp>(use.getOwner());
        dot && dot->getBlock() == gather->getBlock() && dot.getLhs() != dot.getRhs() &&
        isPlain(dot.getLhs()) && isPlain(dot.getRhs()) && isPlain(dot.getResult()))
      users.push_back({dot, use.getOperandNumber() == 0});
  if (users.empty())
    return std::nullopt;
  llvm::sort(users, [](auto a, auto b) { return a.first->isBeforeInBlock(b.first); });
  Window window;
  window.form = Window::Form::gather;
  window.collective = gather;
  window.dim = gather.getAllGatherDim();
  for (auto [dot, isLhs] : users) {
    GatheredProduct product{dot, isLhs, roleOf(dot, isLhs, window.dim)};
    // Partial sums of narrow floats are f32, a result type that the product's algorithm may not
    // support.
    if (!product.role.result && isNarrowFloat(typeOf(dot.getResult()).getElementType()) &&
        dot.getAlgorithm())
      continue;
    // A product that also depends on another use of the gathered value could start only after all
    // pieces have arrived.
    if (!mayDependOn(isLhs ? dot.getRhs() : dot.getLhs(), gather))
      window.products.push_back(product);
  }
  if (window.products.empty()) {
    reason = "the products that read it cannot begin before it is complete";
    return std::nullopt;
  }
  window.hasOtherUses = static_cast<size_t>(std::distance(whole.use_begin(), whole.use_end())) !=
                        window.products.size();
  window.length = typeOf(gather->getOperand(0)).getDimSize(static_cast<unsigned>(window.dim));
  return window;
}

std::optional<Window> findScatter(stablehlo::ReduceScatterOp scatter) {
  const Value value = scatter.getOperand();
  if (!isPlain(value) || !combinerOf(scatter.getComputation()) || isWidening(scatter))
    return std::nullopt;
  Window window;
  window.form = Window::Form::scatter;
  window.collective = scatter;
  window.dim = scatter.getScatterDimension();
  window.computed = PartwiseValue::of(value, window.dim);
  if (!window.computed)
    return std::nullopt;
  window.length = typeOf(scatter.getResult()).getDimSize(static_cast<unsigned>(window.dim));
  return window;
}

/// Divides the result of products along the outermost dimension that permits it, so that the parts
/// are contiguous.
std::optional<Window> findReduce(stablehlo::AllReduceOp reduce, const TensorCost &cost) {
  if (reduce->getNumOperands() != 1 || !isPlain(reduce->getOperand(0)) || isWidening(reduce))
    return std::nullopt;
  const Value value = reduce->getOperand(0);
  for (int64_t dim = 0; dim < typeOf(value).getRank(); ++dim) {
    const int64_t size = typeOf(value).getDimSize(static_cast<unsigned>(dim));
    if (size % 2 != 0)
      continue;
    Window window;
    window.form = Window::Form::reduce;
    window.collective = reduce;
    window.dim = dim;
    window.computed = PartwiseValue::of(value, dim);
    if (!window.computed)
      continue;
    std::optional<Window> best;
    double most = 0;
    for (const int64_t pieces : {2, 4, 8}) {
      if (size % pieces != 0)
        break;
      window.pieces = pieces;
      window.length = size / pieces;
      const double saved = gainOf(timesOf(window, cost), pieces, window.form, cost.rates()).saved;
      if (!best || saved > most) {
        best = window;
        most = saved;
      }
    }
    return best;
  }
  return std::nullopt;
}

} // namespace

bool isNarrowFloat(Type type) {
  auto number = dyn_cast<FloatType>(type);
  return number && number.getWidth() < 32;
}

SmallVector<stablehlo::DotGeneralOp, 2> Window::dots() const {
  if (computed)
    return SmallVector<stablehlo::DotGeneralOp, 2>(computed->products());
  SmallVector<stablehlo::DotGeneralOp, 2> dots;
  for (const GatheredProduct &product : products)
    dots.push_back(product.dot);
  return dots;
}

std::optional<Window> findWindow(Operation *collective, const TensorCost &cost,
                                 std::string &reason) {
  if (!groupsOf(collective))
    return std::nullopt;
  if (auto reduce = dyn_cast<stablehlo::AllReduceOp>(collective))
    return findReduce(reduce, cost);
  std::optional<Window> window;
  if (auto gather = dyn_cast<stablehlo::AllGatherOp>(collective))
    window = findGather(gather, reason);
  else if (auto scatter = dyn_cast<stablehlo::ReduceScatterOp>(collective))
    window = findScatter(scatter);
  if (!window)
    return std::nullopt;
  window->ring = Ring::of(collective);
  if (!window->ring) {
    reason = "its groups are no rings of equal size that contain every rank";
    return std::nullopt;
  }
  window->pieces = window->ring->ranks();
  if (window->pieces > maxRing) {
    reason = concat("it has groups of ", window->pieces, " ranks, more than ", maxRing);
    return std::nullopt;
  }
  return window;
}

/// Whether a dimension of a product's result belongs to the left operand, the right one, or both.
static Along alongOf(stablehlo::DotGeneralOp dot, int64_t resultDim) {
  const ProductDims dims = operandDims(dot, resultDim);
  return dims.lhs && dims.rhs ? Along::batches : dims.lhs ? Along::rows : Along::columns;
}

WindowTimes timesOf(const Window &window, const TensorCost &cost) {
  WindowTimes times;
  const auto pieces = static_cast<double>(window.pieces);
  const double share = 1 / pieces;
  times.whole = cost.collective(window.collective);
  double operands = 0;
  for (Type type : window.collective->getOperandTypes())
    operands += bytesOf(type);
  if (window.form == Window::Form::reduce)
    times.message = cost.rates().collective(numerics::CollectiveKind::allReduce,
                                            groupsOf(window.collective), operands * share);
  else
    times.message =
        cost.rates().collective(numerics::CollectiveKind::permute, window.ring->pairs(),
                                window.form == Window::Form::gather ? operands : operands * share);
  auto copy = [&](double bytes) { times.movement += cost.movement(2 * bytes * share); };
  for (GatheredProduct product : window.products) {
    const Along along =
        product.role.result ? alongOf(product.dot, *product.role.result) : Along::sums;
    times.products.push_back(cost.product(product.dot));
    times.pieces.push_back(cost.product(product.dot, share, along));
    // Each piece of the result is copied to its place in the whole; a slice of the other operand is
    // copied first.
    if (product.role.result)
      copy(bytesOf(product.dot.getResult().getType()));
    else // partial sums are read and written once more
      times.movement += cost.movement(2 * bytesOf(product.dot.getResult().getType()));
    if (product.role.other)
      copy(bytesOf((product.isLhs ? product.dot.getRhs() : product.dot.getLhs()).getType()));
  }
  if (window.hasOtherUses)
    copy(operands * pieces);
  if (window.computed) {
    // The value's dimension may be any dimension of the product; pieces are equal fractions of the
    // product in each case.
    for (stablehlo::DotGeneralOp dot : window.computed->products()) {
      times.products.push_back(cost.product(dot));
      times.pieces.push_back(cost.product(dot, share));
    }
    // A slice along the outermost dimension is contiguous, so it is a view and no copy.
    for (const PartwiseValue::Leaf &leaf : window.computed->leaves())
      if (window.form == Window::Form::scatter || leaf.dim != 0)
        copy(bytesOf(leaf.value.getType()));
    if (window.form == Window::Form::scatter) // the sum of a piece takes part in the next one
      times.movement += cost.movement(operands * share);
  }
  return times;
}

WindowGain gainOf(const WindowTimes &times, int64_t pieces, Window::Form form,
                  const transform::Prices &prices) {
  double whole = 0, piece = times.movement;
  for (double time : times.products)
    whole += time;
  for (double time : times.pieces)
    piece += time;
  const double message = times.message + prices.separation();
  const auto others = static_cast<double>(pieces - 1);
  // In a ring, one piece is computed before the first message or after the last one. An all_reduce
  // in pieces ends with a message instead.
  const double windowed =
      piece + others * std::max(piece, message) + (form == Window::Form::reduce ? message : 0);
  return {.saved = times.whole + whole - windowed,
          .overhead = piece * static_cast<double>(pieces) - whole + others * prices.separation()};
}

} // namespace tilewright::communicate
