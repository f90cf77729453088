#include "tilewright/transform/tile/pipeline/loops/LoadRole.h"

#include "tilewright/transform/tile/pipeline/loops/TileLayouts.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;

namespace tilewright::pipeline {

/// Whether a tile of one element is loaded from global memory, so that both roles can load it.
static bool isFromMemory(Value tile) {
  Operation *op = tile.getDefiningOp();
  if (auto view = dyn_cast_or_null<tile::ViewOp>(op))
    return isFromMemory(view.getSource());
  auto load = dyn_cast_or_null<tile::LoadOp>(op);
  return load && load.getType().getNumElements() == 1;
}

LoadRole::LoadRole(ProductLoop &products, const IRMapping &scalars, const RoleChannels &channels,
                   int64_t warps)
    : ScalarRole(products, scalars, channels, warps) {
  for (auto &[op, staged] : products.loads) {
    for (Value offset : staged.operand.load.getOffsets())
      need(offset);
    needBounds(op->getParentOfType<scf::ForOp>());
  }
}

void ScalarRole::needBounds(scf::ForOp innermost) {
  for (scf::ForOp loop = innermost; loop; loop = loop->getParentOfType<scf::ForOp>())
    for (Value bound : {loop.getLowerBound(), loop.getUpperBound(), loop.getStep()})
      need(bound);
}

void ScalarRole::need(Value value) {
  if (mapping.contains(value) || !needed.insert(value).second)
    return;
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    auto loop = dyn_cast<scf::ForOp>(argument.getOwner()->getParentOp());
    if (!loop || argument == loop.getInductionVar())
      return;
    const unsigned at = argument.getArgNumber() - loop.getNumInductionVars();
    need(loop.getInitArgs()[at]);
    return need(loop.getYieldedValues()[at]);
  }
  Operation *op = value.getDefiningOp();
  if (auto extract = dyn_cast<tensor::ExtractOp>(op)) {
    if (isFromMemory(extract.getTensor()))
      return need(extract.getTensor());
    numbers.insert(value);
    return;
  }
  if (auto loop = dyn_cast<scf::ForOp>(op))
    return need(loop.getRegionIterArg(cast<OpResult>(value).getResultNumber()));
  for (Value operand : op->getOperands())
    need(operand);
}

bool LoadRole::isVisited(scf::ForOp loop) {
  return llvm::any_of(products.loads,
                      [&](const auto &entry) { return loop->isProperAncestor(entry.first); });
}

void ScalarRole::build(sm::RoleOp role) {
  OpBuilder b(role.getBody().front().getTerminator());
  buildBlock(b, products.kernel.getBlock());
}

/// Takes a number from the math role.
void ScalarRole::buildNumber(OpBuilder &b, Value value) {
  Value channel = channels.numbers.lookup(value);
  Location loc = value.getLoc();
  auto slot = sm::TakeOp::create(b, loc, channel);
  auto tile = RankedTensorType::get({1}, value.getType());
  Value number = sm::CopyOp::create(b, loc, sm::withLayout(tile, TileLayouts::replicated(1, warps)),
                                    sm::Engine::ld, slot.getResult(0), ValueRange(), Value(),
                                    ValueRange(), false, DenseI64ArrayAttr())
                     .getResult();
  sm::FreeOp::create(b, loc, channel);
  auto scalar = RankedTensorType::get({}, value.getType());
  number = tile::ViewOp::create(b, loc, sm::withLayout(scalar, TileLayouts::replicated(0, warps)),
                                number, AffineMap::get(0, 0, b.getAffineConstantExpr(0)));
  mapping.map(value, tensor::ExtractOp::create(b, loc, number, ValueRange()));
}

void ScalarRole::buildBlock(OpBuilder &b, Block &block) {
  for (Operation &op : block.without_terminator()) {
    if (buildOwn(b, &op))
      continue;
    if (auto loop = dyn_cast<scf::ForOp>(op); loop && isVisited(loop)) {
      buildLoop(b, loop);
    } else if (op.getNumResults() == 1 && numbers.contains(op.getResult(0))) {
      buildNumber(b, op.getResult(0));
    } else if (llvm::any_of(op.getResults(),
                            [&](Value result) { return needed.contains(result); }) &&
               !mapping.contains(op.getResult(0))) {
      Operation *copy = b.clone(op, mapping);
      for (auto [old, result] : llvm::zip_equal(op.getResults(), copy->getResults()))
        if (auto type = dyn_cast<RankedTensorType>(old.getType()))
          result.setType(sm::withLayout(type, TileLayouts::replicated(type.getRank(), warps)));
    }
  }
}

bool LoadRole::buildOwn(OpBuilder &b, Operation *op) {
  const auto found = products.loads.find(op);
  if (found == products.loads.end())
    return false;
  const StagedLoad &staged = found->second;
  Value channel = channels.staged.lookup(op);
  auto slot = sm::AcquireOp::create(b, op->getLoc(), channel);
  for (int64_t part = 0; part < staged.parts; ++part)
    copyOperand(b, sm::Engine::tma, staged.operand, slot.getResult(unsigned(part)), mapping,
                /*tf32=*/false, part * products.groupRows());
  sm::PublishOp::create(b, op->getLoc(), channel);
  return true;
}

void ScalarRole::buildLoop(OpBuilder &b, scf::ForOp loop) {
  SmallVector<unsigned> carried;
  SmallVector<Value> inits;
  for (auto [at, argument] : llvm::enumerate(loop.getRegionIterArgs()))
    if (needed.contains(argument)) {
      carried.push_back(unsigned(at));
      inits.push_back(mapping.lookup(loop.getInitArgs()[at]));
    }
  auto copy = scf::ForOp::create(b, loop.getLoc(), mapping.lookup(loop.getLowerBound()),
                                 mapping.lookup(loop.getUpperBound()),
                                 mapping.lookup(loop.getStep()), inits);
  mapping.map(loop.getInductionVar(), copy.getInductionVar());
  for (auto [from, at] : llvm::enumerate(carried)) {
    mapping.map(loop.getRegionIterArg(at), copy.getRegionIterArg(unsigned(from)));
    mapping.map(loop.getResult(at), copy.getResult(unsigned(from)));
  }
  OpBuilder::InsertionGuard guard(b);
  if (copy.getBody()->empty() || !copy.getBody()->back().hasTrait<OpTrait::IsTerminator>())
    b.setInsertionPointToEnd(copy.getBody());
  else
    b.setInsertionPoint(copy.getBody()->getTerminator());
  buildBlock(b, *loop.getBody());
  if (carried.empty())
    return;
  SmallVector<Value> yields;
  for (unsigned at : carried)
    yields.push_back(mapping.lookup(loop.getYieldedValues()[at]));
  scf::YieldOp::create(b, loop.getLoc(), yields);
}

} // namespace tilewright::pipeline
