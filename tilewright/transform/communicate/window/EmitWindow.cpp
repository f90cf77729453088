#include "tilewright/transform/communicate/window/Window.h"

#include "tilewright/dialect/stablehlo/ShapedBuilder.h"
#include "tilewright/dialect/stablehlo/ops/BinaryOps.h"
#include "tilewright/dialect/stablehlo/ops/CollectiveOps.h"
#include "tilewright/dialect/stablehlo/ops/CreationOps.h"
#include "tilewright/dialect/stablehlo/ops/IndexingOps.h"
#include "tilewright/transform/TypeOf.h"
#include "tilewright/transform/communicate/Collective.h"

using namespace mlir;

namespace tilewright::communicate {
namespace {

/// A tensor that is written piece by piece.
class Assembly {
public:
  Assembly(OpBuilder &builder, Location location, RankedTensorType type, int64_t dim)
      : builder(builder), location(location), dim(dim) {
    stablehlo::ShapedBuilder b(builder, location);
    // Broadcast a scalar: a constant of the whole shape would be stored in the executable. Every
    // element is overwritten.
    const auto scalar = RankedTensorType::get({}, type.getElementType());
    whole = b.broadcast(b.constant(DenseElementsAttr::get(
                            scalar, cast<TypedAttr>(builder.getZeroAttr(type.getElementType())))),
                        type.getShape());
    zero = b.constant(
        DenseElementsAttr::get(RankedTensorType::get({}, builder.getI32Type()), int32_t(0)));
  }
  void add(Value piece, Value begin) {
    SmallVector<Value> begins(static_cast<size_t>(typeOf(whole).getRank()), zero);
    begins[static_cast<size_t>(dim)] = begin;
    whole = stablehlo::DynamicUpdateSliceOp::create(builder, location, whole.getType(), whole,
                                                    piece, begins);
  }
  Value get() const { return whole; }

private:
  OpBuilder &builder;
  const Location location;
  const int64_t dim;
  Value whole, zero;
};

/// Emits a product whose gathered operand consists of `pieces`.
void emitProduct(const Window &window, GatheredProduct product, ArrayRef<Value> pieces) {
  stablehlo::DotGeneralOp dot = product.dot;
  OpBuilder builder(dot);
  const Location location = dot.getLoc();
  RankedTensorType type = typeOf(dot.getResult());
  const Value other = product.isLhs ? dot.getRhs() : dot.getLhs();
  const Type sumType =
      isNarrowFloat(type.getElementType()) ? Type(builder.getF32Type()) : type.getElementType();
  RankedTensorType pieceType = RankedTensorType::get(type.getShape(), sumType);
  std::optional<Assembly> result;
  if (product.role.result) {
    SmallVector<int64_t> shape(type.getShape());
    shape[static_cast<size_t>(*product.role.result)] = window.length;
    pieceType = type.clone(shape);
    result.emplace(builder, location, type, *product.role.result);
  }
  Value sum;
  for (auto [distance, piece] : llvm::enumerate(pieces)) {
    const Part part{
        window.ring->begin(builder, location, static_cast<int64_t>(distance), window.length), 0,
        window.length};
    const Value against =
        product.role.other ? sliceOf(builder, location, other, *product.role.other, part) : other;
    SmallVector<Value> operands{piece, against};
    if (!product.isLhs)
      std::swap(operands[0], operands[1]);
    Value made = cloneWith(builder, dot, operands, pieceType)->getResult(0);
    if (result)
      result->add(made, part.begin);
    else
      sum = sum ? stablehlo::AddOp::create(builder, location, pieceType, sum, made) : made;
  }
  stablehlo::ShapedBuilder b(builder, location);
  dot.getResult().replaceAllUsesWith(result ? result->get()
                                            : b.convert(sum, type.getElementType()));
  dot->erase();
}

void emitGather(const Window &window) {
  Operation *gather = window.collective;
  OpBuilder builder(gather);
  const Location location = gather->getLoc();
  SmallVector<Value> pieces{gather->getOperand(0)};
  while (static_cast<int64_t>(pieces.size()) < window.pieces)
    pieces.push_back(window.ring->permute(builder, location, pieces.back()));
  for (const GatheredProduct &product : window.products)
    emitProduct(window, product, pieces);
  if (!gather->use_empty()) {
    Assembly whole(builder, location, typeOf(gather->getResult(0)), window.dim);
    for (auto [distance, piece] : llvm::enumerate(pieces))
      whole.add(piece, window.ring->begin(builder, location, static_cast<int64_t>(distance),
                                          window.length));
    gather->getResult(0).replaceAllUsesWith(whole.get());
  }
  gather->erase();
}

void eraseComputed(const Window &window) {
  for (Operation *op : llvm::reverse(window.computed->ops()))
    op->erase();
}

/// The partial sum of a piece starts at the rank after the one that owns the piece, and passes
/// through all other ranks on its way to the owner.
void emitScatter(const Window &window) {
  auto scatter = cast<stablehlo::ReduceScatterOp>(window.collective);
  Operation *combiner = combinerOf(scatter.getComputation());
  OpBuilder builder(scatter);
  const Location location = scatter.getLoc();
  Value sum;
  for (int64_t step = 0; step < window.pieces; ++step) {
    const Value begin =
        window.ring->begin(builder, location, (step + 1) % window.pieces, window.length);
    const Value own = window.computed->emit(builder, {begin, 0, window.length});
    sum = sum ? cloneWith(builder, combiner, {window.ring->permute(builder, location, sum), own},
                          own.getType())
                    ->getResult(0)
              : own;
  }
  scatter.getResult().replaceAllUsesWith(sum);
  scatter->erase();
  eraseComputed(window);
}

void emitReduce(const Window &window) {
  Operation *reduce = window.collective;
  OpBuilder builder(reduce);
  SmallVector<Value> pieces;
  for (int64_t piece = 0; piece < window.pieces; ++piece) {
    const Value own =
        window.computed->emit(builder, {Value(), piece * window.length, window.length});
    pieces.push_back(cloneWith(builder, reduce, own, own.getType())->getResult(0));
  }
  stablehlo::ShapedBuilder b(builder, reduce->getLoc());
  reduce->getResult(0).replaceAllUsesWith(b.concatenate(pieces, window.dim));
  reduce->erase();
  eraseComputed(window);
}

} // namespace

void emit(const Window &window) {
  switch (window.form) {
  case Window::Form::gather:
    return emitGather(window);
  case Window::Form::scatter:
    return emitScatter(window);
  case Window::Form::reduce:
    return emitReduce(window);
  }
}

} // namespace tilewright::communicate
