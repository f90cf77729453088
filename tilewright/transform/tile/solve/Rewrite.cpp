#include "tilewright/transform/tile/solve/Rewrite.h"

#include "tilewright/transform/tile/solve/Work.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace tilewright;
using namespace tilewright::solve;
using sm::Axis, sm::Layout, sm::LayoutAttr;

namespace {
class Rewriter {
public:
  Rewriter(tile::KernelOp kernel, const Certificate &certificate)
      : kernel(kernel), certificate(certificate), builder(kernel) {}

  sm::KernelOp run() {
    auto result = sm::KernelOp::create(
        builder, kernel.getLoc(), kernel.getSymNameAttr(), kernel.getGridAttr(),
        kernel.getNumInputsAttr(), builder.getI64IntegerAttr(certificate.warps),
        /*cluster=*/DenseI64ArrayAttr(),
        /*persistent=*/StringAttr(), /*raster=*/IntegerAttr(), kernel.getUpdatesAttr());
    for (NamedAttribute attribute : kernel->getDiscardableAttrs())
      if (attribute.getName() != "warps" && attribute.getName() != "rows_in_warps")
        result->setDiscardableAttr(attribute.getName(), attribute.getValue());
    Block &from = kernel.getBlock();
    Block &to = result.getBody().emplaceBlock();
    for (BlockArgument argument : from.getArguments())
      mapping.map(argument, to.addArgument(argument.getType(), argument.getLoc()));
    builder.setInsertionPointToStart(&to);
    for (Operation &op : from)
      rewrite(&op);
    return result;
  }

private:
  void rewrite(Operation *op) {
    if (op->getNumResults() == 1 && isRematerialised(op->getResult(0))) {
      places[op] = {builder.getInsertionBlock(), lastOp()};
      return;
    }
    if (auto loop = dyn_cast<scf::ForOp>(op))
      return rewriteLoop(loop);
    if (auto view = dyn_cast<tile::ViewOp>(op); view && certificate.moved.contains(view)) {
      mapping.map(view.getResult(),
                  sm::ConvertOp::create(builder, view.getLoc(),
                                        sm::withLayout(view.getType(), certificate.values.at(view)),
                                        operandFor(view.getSourceMutable()), view.getMapAttr())
                      .getResult());
      return;
    }
    // operandFor() may insert conversions before the op; it does not change the builder's insertion
    // point.
    SmallVector<Value> operands;
    for (OpOperand &operand : op->getOpOperands())
      operands.push_back(operandFor(operand));
    Operation *clone = builder.clone(*op, mapping);
    clone->setOperands(operands);
    for (auto [old, result] : llvm::zip(op->getResults(), clone->getResults()))
      if (auto found = certificate.values.find(old); found != certificate.values.end())
        result.setType(sm::withLayout(old.getType(), found->second));
  }

  void rewriteLoop(scf::ForOp loop) {
    SmallVector<Value> inits;
    for (OpOperand &operand : loop.getInitArgsMutable())
      inits.push_back(operandFor(operand));
    auto result = scf::ForOp::create(builder, loop.getLoc(), mapping.lookup(loop.getLowerBound()),
                                     mapping.lookup(loop.getUpperBound()),
                                     mapping.lookup(loop.getStep()), inits);
    result->setDiscardableAttrs(loop->getDiscardableAttrDictionary());
    mapping.map(loop.getInductionVar(), result.getInductionVar());
    for (auto [from, to] : llvm::zip(loop.getRegionIterArgs(), result.getRegionIterArgs()))
      mapping.map(from, to);
    for (auto [from, to] : llvm::zip(loop.getResults(), result.getResults()))
      mapping.map(from, to);
    OpBuilder::InsertionGuard guard(builder);
    // scf.for without iter_args already has a terminator.
    if (!result.getBody()->empty())
      result.getBody()->getTerminator()->erase();
    builder.setInsertionPointToEnd(result.getBody());
    for (Operation &op : *loop.getBody())
      rewrite(&op);
  }

  Value operandFor(OpOperand &operand) {
    Value old = operand.get();
    if (!tileType(old))
      return mapping.lookup(old);
    auto found = certificate.uses.find(&operand);
    if (found != certificate.uses.end())
      return inLayout(old, found->second);
    // An op that does not require a layout (tensor.extract) reads the tile in any existing layout.
    if (isRematerialised(old)) {
      SmallVector<int64_t> order;
      for (int64_t dim = tileType(old).getRank(); dim-- > 0;)
        order.push_back(dim);
      return inLayout(old, Layout::blocked(tileType(old).getShape(), order, 1, certificate.lanes,
                                           certificate.warps));
    }
    return mapping.lookup(old);
  }

  /// The tile in `layout`: unchanged, converted, or rematerialized.
  Value inLayout(Value old, const Layout &layout) {
    auto attribute = LayoutAttr::get(builder.getContext(), layout);
    Value &known = made[{old, attribute}];
    if (known)
      return known;
    if (isRematerialised(old))
      return made[{old, attribute}] = again(old, layout);
    Value base = mapping.lookup(old);
    if (sm::layoutOf(base.getType()) == attribute)
      return known = base;
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointAfterValue(base);
    return known = sm::ConvertOp::create(builder, base.getLoc(),
                                         sm::withLayout(base.getType(), layout), base,
                                         /*map=*/AffineMapAttr());
  }

  /// Rematerializes a value at its original position, after its operands, so that loads keep their
  /// order relative to stores.
  Value again(Value old, const Layout &layout) {
    Operation *op = old.getDefiningOp();
    SmallVector<Value> operands;
    for (OpOperand &operand : op->getOpOperands()) {
      Value source = operand.get();
      if (!tileType(source)) {
        operands.push_back(mapping.lookup(source));
      } else if (auto view = dyn_cast<tile::ViewOp>(op)) {
        std::optional<sm::ViewMap> map =
            sm::viewMapOf(view.getMap(), view.getType().getShape(), tileType(source).getShape());
        operands.push_back(inLayout(source, *sm::sourceLayout(layout, *map)));
      } else {
        operands.push_back(inLayout(source, layout));
      }
    }
    auto [block, after] = places.at(op);
    for (Value operand : operands) {
      Operation *maker = operand.getDefiningOp();
      if (maker && maker->getBlock() == block && (!after || after->isBeforeInBlock(maker)))
        after = maker;
    }
    OpBuilder::InsertionGuard guard(builder);
    if (after)
      builder.setInsertionPointAfter(after);
    else
      builder.setInsertionPointToStart(block);
    IRMapping none;
    Operation *clone = builder.clone(*op, none);
    clone->setOperands(operands);
    clone->getResult(0).setType(sm::withLayout(old.getType(), layout));
    return clone->getResult(0);
  }

  Operation *lastOp() {
    Block *block = builder.getInsertionBlock();
    return block->empty() ? nullptr : &block->back();
  }

  tile::KernelOp kernel;
  const Certificate &certificate;
  OpBuilder builder;
  IRMapping mapping;
  DenseMap<std::pair<Value, LayoutAttr>, Value> made;
  /// The original position of each rematerialized op: the block, and the preceding op or null.
  DenseMap<Operation *, std::pair<Block *, Operation *>> places;
};
} // namespace

sm::KernelOp solve::rewriteKernel(tile::KernelOp kernel, const Certificate &certificate) {
  sm::KernelOp result = Rewriter(kernel, certificate).run();
  kernel.erase();
  return result;
}
