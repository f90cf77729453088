#include "tilewright/transform/fuse/cascade/Expression.h"

#include "tilewright/dialect/stablehlo/ops/CreationOps.h"
#include "tilewright/dialect/stablehlo/ops/DataMovementOps.h"
#include "tilewright/dialect/stablehlo/ops/ReductionOps.h"
#include "tilewright/support/Concat.h"
#include "tilewright/transform/fuse/Classify.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "llvm/ADT/SmallBitVector.h"
#include "llvm/ADT/StringSwitch.h"

#include <cmath>
#include <limits>

using namespace mlir;

namespace tilewright::cascade {

/// Expressions deeper than this are cut off at leaves, because each level takes a stack frame.
static constexpr unsigned maxDepth = 128;

SmallVector<int64_t, 4> Space::rowDims() const {
  SmallVector<int64_t, 4> dims;
  for (int64_t dim = 0; dim < static_cast<int64_t>(shape.size()); ++dim)
    if (!isAxis(dim))
      dims.push_back(dim);
  return dims;
}

int64_t Space::length() const {
  int64_t length = 1;
  for (int64_t axis : axes)
    length *= shape[static_cast<size_t>(axis)];
  return length;
}

bool Node::isOp(StringRef name) const {
  return kind == Kind::op && op->getName().stripDialect() == name;
}

const Node *Expressions::add(Node node, std::vector<int64_t> key) {
  auto [entry, isNew] = known.try_emplace(std::move(key));
  if (!isNew)
    return entry->second;
  node.id = static_cast<unsigned>(nodes.size());
  nodes.push_back(std::move(node));
  return entry->second = &nodes.back();
}

/// A part of a key that is unique for an object that lives as long as the context.
static int64_t keyOf(const void *object) { return reinterpret_cast<intptr_t>(object); }

const Node *Expressions::leaf(Value value, const View &dims) {
  Node node;
  node.kind = Node::Kind::leaf;
  node.value = value;
  node.dims = dims;
  node.element = cast<RankedTensorType>(value.getType()).getElementType();
  node.onAxis = llvm::any_of(dims, [&](int64_t dim) { return dim >= 0 && space.isAxis(dim); });
  std::vector<int64_t> key = {0, keyOf(value.getAsOpaquePointer())};
  key.insert(key.end(), dims.begin(), dims.end());
  return add(std::move(node), std::move(key));
}

std::optional<View> viewOfReduced(Operation *op, ArrayRef<int64_t> dims, const Space &space) {
  auto reduce = cast<stablehlo::ReduceOp>(op);
  ArrayRef<int64_t> sizes = cast<RankedTensorType>(reduce.getInputs()[0].getType()).getShape();
  View view(sizes.size(), -1);
  SmallVector<int64_t, 2> axes, spaceAxes;
  llvm::SmallBitVector isRead(static_cast<unsigned>(space.shape.size()));
  size_t next = 0;
  for (auto [dim, size] : llvm::enumerate(sizes)) {
    const bool isReduced = llvm::is_contained(reduce.getDimensions(), static_cast<int64_t>(dim));
    const int64_t place = isReduced ? -1 : dims[next++];
    if (size == 1)
      continue;
    if (isReduced) {
      axes.push_back(static_cast<int64_t>(dim));
      continue;
    }
    if (place < 0 || space.isAxis(place))
      return std::nullopt;
    isRead.set(static_cast<unsigned>(place));
    view[dim] = place;
  }
  for (auto [dim, size] : llvm::enumerate(space.shape)) {
    if (size == 1)
      continue;
    if (space.isAxis(static_cast<int64_t>(dim)))
      spaceAxes.push_back(static_cast<int64_t>(dim));
    else if (!isRead[static_cast<unsigned>(dim)])
      return std::nullopt;
  }
  if (axes.size() != spaceAxes.size())
    return std::nullopt;
  for (auto [axis, place] : llvm::zip(axes, spaceAxes)) {
    if (sizes[static_cast<size_t>(axis)] != space.shape[static_cast<size_t>(place)])
      return std::nullopt;
    view[static_cast<size_t>(axis)] = place;
  }
  return view;
}

/// The result of a reduction in this space; null if it is not read in the order of its rows.
const Node *Expressions::reducedNode(OpResult result, const View &dims) {
  if (!isa<stablehlo::ReduceOp>(result.getOwner()))
    return nullptr;
  std::optional<View> view = viewOfReduced(result.getOwner(), dims, space);
  std::optional<unsigned> number = view ? findReduction(result.getOwner(), *view) : std::nullopt;
  if (!number)
    return nullptr;
  Node node;
  node.kind = Node::Kind::reduced;
  node.op = result.getOwner();
  node.dims = *view;
  node.element = cast<RankedTensorType>(result.getType()).getElementType();
  node.reduction = *number;
  node.result = result.getResultNumber();
  node.reads = {*number};
  std::vector<int64_t> key = {1, keyOf(node.op), node.result};
  key.insert(key.end(), view->begin(), view->end());
  return add(std::move(node), std::move(key));
}

std::optional<View> throughReshape(ArrayRef<int64_t> from, ArrayRef<int64_t> to,
                                   ArrayRef<int64_t> dims) {
  View result;
  size_t next = 0;
  for (int64_t size : from) {
    if (size == 1) {
      result.push_back(-1);
      continue;
    }
    while (next < to.size() && to[next] == 1)
      ++next;
    if (next == to.size() || to[next] != size)
      return std::nullopt;
    result.push_back(dims[next++]);
  }
  return result;
}

const Node *Expressions::ofOp(Operation *op, const View &dims, unsigned depth) {
  if (auto broadcast = dyn_cast<stablehlo::BroadcastInDimOp>(op)) {
    auto from = cast<RankedTensorType>(broadcast.getOperand().getType());
    View inner;
    for (auto [i, dim] : llvm::enumerate(broadcast.getBroadcastDimensions()))
      inner.push_back(
          from.getDimSize(static_cast<unsigned>(i)) == 1 ? -1 : dims[static_cast<size_t>(dim)]);
    return of(broadcast.getOperand(), inner, depth + 1);
  }
  if (auto transpose = dyn_cast<stablehlo::TransposeOp>(op)) {
    View inner(dims.size());
    for (auto [i, dim] : llvm::enumerate(transpose.getPermutation()))
      inner[static_cast<size_t>(dim)] = dims[i];
    return of(transpose.getOperand(), inner, depth + 1);
  }
  if (auto reshape = dyn_cast<stablehlo::ReshapeOp>(op)) {
    Value from = reshape.getOperand();
    auto inner = throughReshape(cast<RankedTensorType>(from.getType()).getShape(),
                                cast<RankedTensorType>(reshape.getType()).getShape(), dims);
    return inner ? of(from, *inner, depth + 1) : nullptr;
  }
  if (fuse::classify(op) != fuse::OpClass::elementwise || op->getNumResults() != 1)
    return nullptr;
  Node node;
  node.kind = Node::Kind::op;
  node.op = op;
  node.element = cast<RankedTensorType>(op->getResult(0).getType()).getElementType();
  std::vector<int64_t> key = {2, keyOf(op->getName().getAsOpaquePointer()),
                              keyOf(op->getAttrDictionary().getAsOpaquePointer()),
                              keyOf(node.element.getAsOpaquePointer())};
  for (Value operand : op->getOperands()) {
    const Node *inner = of(operand, dims, depth + 1);
    node.onAxis |= inner->onAxis;
    for (unsigned read : inner->reads)
      if (!llvm::is_contained(node.reads, read))
        node.reads.push_back(read);
    node.operands.push_back(inner);
    key.push_back(inner->id);
  }
  llvm::sort(node.reads);
  return add(std::move(node), std::move(key));
}

/// The node of a splat constant; null for any other constant.
static std::optional<Node> constantNode(stablehlo::ConstantOp op) {
  auto elements = dyn_cast<DenseElementsAttr>(op.getValue());
  if (!elements || !elements.isSplat())
    return std::nullopt;
  Node node;
  node.kind = Node::Kind::constant;
  node.op = op;
  node.element = elements.getElementType();
  node.number = std::numeric_limits<double>::quiet_NaN();
  if (isa<FloatType>(node.element)) {
    APFloat number = elements.getSplatValue<APFloat>();
    bool losesInfo;
    number.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven, &losesInfo);
    node.number = number.convertToDouble();
  }
  return node;
}

const Node *Expressions::of(Value value, View dims, unsigned depth) {
  for (auto [dim, size] : llvm::zip(dims, cast<RankedTensorType>(value.getType()).getShape()))
    if (size == 1)
      dim = -1;
  // Values are read many times; without this, shared operands would be visited again on each path.
  std::vector<int64_t> key = {4, keyOf(value.getAsOpaquePointer())};
  key.insert(key.end(), dims.begin(), dims.end());
  if (auto found = known.find(key); found != known.end())
    return found->second;
  return known[key] = find(value, dims, depth);
}

const Node *Expressions::find(Value value, const View &dims, unsigned depth) {
  Operation *op = value.getDefiningOp();
  if (!op || depth > maxDepth)
    return leaf(value, dims);
  if (const Node *found = reducedNode(cast<OpResult>(value), dims))
    return found;
  if (auto constant = dyn_cast<stablehlo::ConstantOp>(op))
    if (std::optional<Node> node = constantNode(constant)) {
      auto splat = cast<DenseElementsAttr>(constant.getValue());
      return add(*std::move(node),
                 {3, keyOf(splat.getSplatValue<Attribute>().getAsOpaquePointer())});
    }
  const Node *found = ofOp(op, dims, depth);
  return found ? found : leaf(value, dims);
}

/// Appends a formula of at most `budget` nodes.
static void print(const Node &node, std::string &text, int &budget) {
  if (--budget < 0) {
    text += "…";
    return;
  }
  switch (node.kind) {
  case Node::Kind::constant:
    text += std::isnan(node.number) ? "c" : concat(node.number);
    return;
  case Node::Kind::leaf:
    text += node.onAxis ? "x" : "row";
    text += std::to_string(node.id);
    return;
  case Node::Kind::reduced:
    text += concat("r", node.reduction);
    return;
  case Node::Kind::op:
    break;
  }
  const StringRef name = node.op->getName().stripDialect();
  const StringRef infix = llvm::StringSwitch<StringRef>(name)
                              .Case("add", " + ")
                              .Case("subtract", " - ")
                              .Case("multiply", " * ")
                              .Case("divide", " / ")
                              .Default("");
  text += infix.empty() ? concat(name.str(), "(") : "(";
  for (auto [i, operand] : llvm::enumerate(node.operands)) {
    if (i > 0)
      text += infix.empty() ? ", " : infix.str();
    print(*operand, text, budget);
  }
  text += ")";
}

std::string toString(const Node &node) {
  std::string text;
  int budget = 24;
  print(node, text, budget);
  return text;
}

} // namespace tilewright::cascade
