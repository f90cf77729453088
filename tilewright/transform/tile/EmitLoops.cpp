// Emits loops over tiles that are too large to be held at once.
#include "tilewright/transform/tile/KernelEmitter.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace tilewright::tile {

size_t KernelEmitter::depthOf(const Box &box) const {
  for (size_t depth = scopes.size(); depth > 0; --depth)
    for (int loop : scopes[depth - 1].loops)
      if (llvm::any_of(box, [&](const Access &access) { return access.dependsOn(loop); }))
        return depth;
  return 0;
}

void KernelEmitter::hoist(size_t depth) {
  for (const Scope &scope : llvm::drop_begin(scopes, depth))
    if (scope.op)
      return builder.setInsertionPoint(scope.op);
}

int64_t KernelEmitter::tripCount(ArrayRef<int> loops) const {
  int64_t iterations = 1;
  for (int loop : loops)
    iterations *= tiling.points(loop);
  return iterations;
}

SmallVector<int> KernelEmitter::loopsOf(const Node &node, unsigned number) const {
  SmallVector<int> loops;
  for (unsigned dim = node.rank; dim < node.sizes.size(); ++dim)
    if (auto found = tiling.reductionLoops.find({number, dim});
        found != tiling.reductionLoops.end())
      loops.push_back(found->second);
  return loops;
}

void KernelEmitter::close(Scope &&scope) {
  auto isInside = [&](const Access &access) {
    return llvm::any_of(scope.loops, [&](int loop) { return access.dependsOn(loop); });
  };
  std::erase_if(values,
                [&](const auto &entry) { return llvm::any_of(entry.first.second, isInside); });
  std::erase_if(offsets, [&](const auto &entry) { return isInside(entry.first); });
  for (int loop : scope.loops)
    coordinates[static_cast<size_t>(loop)] = Value();
  if (scope.top)
    scope.top->erase();
}

SmallVector<Value> KernelEmitter::peelFirst(ArrayRef<int> loops, ValueRange carried,
                                            EmitIteration emitIteration) {
  scopes.push_back({SmallVector<int>(loops)});
  // The loop dimensions have no coordinate here, so offsets along them are constants.
  SmallVector<Value> results = emitIteration(carried);
  close(scopes.pop_back_val());
  return results;
}

SmallVector<Value> KernelEmitter::loop(ArrayRef<int> loops, int64_t first, ValueRange carried,
                                       EmitIteration emitIteration, bool isPipelined) {
  const int64_t iterations = tripCount(loops);
  if (first >= iterations)
    return SmallVector<Value>(carried);
  if (iterations == 1 && !isPipelined)
    return peelFirst(loops, carried, emitIteration);
  auto op = scf::ForOp::create(builder, loc, index(first), index(iterations), index(1), carried);
  OpBuilder::InsertionGuard guard(builder);
  Block *body = op.getBody();
  // scf.for without iter_args already has a terminator.
  if (!body->empty())
    body->back().erase();
  builder.setInsertionPointToEnd(body);
  // All dimensions share one induction variable; the last dimension varies fastest.
  int64_t stride = iterations;
  for (int loop : loops) {
    const int64_t points = tiling.points(loop);
    stride /= points;
    AffineExpr expr = getAffineDimExpr(0, context).floorDiv(stride);
    if (loop != loops.front())
      expr = expr % points;
    Value &coordinate = coordinates[static_cast<size_t>(loop)];
    coordinate = op.getInductionVar();
    if (expr != getAffineDimExpr(0, context))
      coordinate =
          affine::AffineApplyOp::create(builder, loc, AffineMap::get(1, 0, expr), coordinate);
  }
  Operation *top = arith::ConstantIndexOp::create(builder, loc, 0);
  scopes.push_back({SmallVector<int>(loops), op, top});
  SmallVector<Value> results = emitIteration(op.getRegionIterArgs());
  scf::YieldOp::create(builder, loc, results);
  close(scopes.pop_back_val());
  return SmallVector<Value>(op.getResults());
}

SmallVector<KernelEmitter::PartialLoop> KernelEmitter::partialLoops(const Box &box,
                                                                    ArrayRef<int> loops,
                                                                    ArrayRef<int64_t> dims,
                                                                    ArrayRef<int64_t> shape) {
  SmallVector<PartialLoop> partial;
  for (auto [access, dim] : llvm::zip_equal(box, dims)) {
    if (!llvm::is_contained(loops, access.main))
      continue;
    const auto main = static_cast<size_t>(access.main);
    if (tiling.sizes[main] % tiling.tiles[main] == 0)
      continue;
    auto type = RankedTensorType::get(shape, builder.getIndexType());
    partial.push_back(
        {IotaOp::create(builder, loc, type, offset(access), dim, 1), tiling.sizes[main]});
  }
  return partial;
}

Value KernelEmitter::allInside(OpBuilder &region, ArrayRef<PartialLoop> partial,
                               ValueRange indices) {
  Value all;
  for (auto [index, bound] : llvm::zip_equal(indices, partial)) {
    Value size = arith::ConstantIndexOp::create(region, loc, bound.size);
    Value fits = arith::CmpIOp::create(region, loc, arith::CmpIPredicate::ult, index, size);
    all = all ? Value(arith::AndIOp::create(region, loc, all, fits)) : fits;
  }
  return all;
}

} // namespace tilewright::tile
