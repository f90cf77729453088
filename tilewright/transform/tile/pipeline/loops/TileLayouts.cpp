#include "tilewright/transform/tile/pipeline/loops/TileLayouts.h"

#include "tilewright/dialect/sm/InstructionLayouts.h"
#include "tilewright/dialect/sm/ViewMap.h"
#include "tilewright/transform/tile/pipeline/RoleKernel.h"
#include "tilewright/transform/tile/pipeline/ViewMapOf.h"

#include "llvm/Support/FormatVariadic.h"

using namespace mlir;

namespace tilewright::pipeline {

using sm::Axis;
using sm::Layout;

Layout TileLayouts::replicated(int64_t rank, int64_t warps) {
  // Copies are numbered like the warps and warpgroups of an accumulator.
  const int64_t groups = std::max<int64_t>(1, warps / 4);
  SmallVector<sm::Digit> copies;
  if (groups > 1)
    copies.push_back({groups, Axis::group, 1});
  if (warps > groups)
    copies.push_back({warps / groups, Axis::warp, 1});
  copies.push_back({32, Axis::lane, 1});
  return Layout(SmallVector<Layout::Digits>(static_cast<size_t>(rank)), copies).canonical();
}

TileLayouts::TileLayouts(ProductLoop &products, int64_t groups) : products(products) {
  auto ofColumns = [&](const LoopProduct &product, int64_t columns) {
    // From tensor memory, each thread takes a row.
    return products.inTensorMemory ? sm::instruction::tensorRows(columns, groups)
                                   : accumulatorLayout(product.m, columns, 1, 1, groups);
  };
  for (LoopProduct &product : products.products) {
    give(product.dot, ofColumns(product, product.n));
    give(product.dot.getAcc(), ofColumns(product, product.n));
    // A left operand in registers has the layout of an accumulator with as many columns.
    if (isInRegisters(product.dot.getLhs()))
      give(product.dot.getLhs(), ofColumns(product, product.k));
  }
  settle();
  // If the uses of a view do not determine its layout, its source may.
  SmallVector<tile::ViewOp> views;
  products.kernel.getBody().walk([&](tile::ViewOp view) { views.push_back(view); });
  for (tile::ViewOp view : views) {
    auto source = layouts.find(view.getSource());
    if (failure || source == layouts.end() || layouts.contains(view))
      continue;
    std::optional<sm::ViewMap> map = viewMapOf(view);
    if (std::optional<Layout> layout =
            map ? sm::resultLayout(source->second, *map) : std::nullopt) {
      give(view, *layout);
      settle();
    }
  }
  // For tiles that do not depend on a product, each thread has a copy.
  products.kernel.getBody().walk([&](Operation *op) {
    for (Value value : op->getResults())
      if (auto type = dyn_cast<RankedTensorType>(value.getType());
          type && !failure && isInRegisters(value) && !layouts.contains(value)) {
        if (type.getNumElements() != 1)
          failure = llvm::formatv("the layout of a tile of '{0}' does not follow from a product",
                                  op->getName().getStringRef())
                        .str();
        else
          layouts[value] = replicated(type.getRank(), 4 * groups);
      }
  });
}

/// Whether the warps hold the tile in registers, unlike a staged tile that only products read.
bool TileLayouts::isInRegisters(Value value) {
  Operation *op = value.getDefiningOp();
  while (auto view = dyn_cast_or_null<tile::ViewOp>(op))
    op = view.getSource().getDefiningOp();
  return !op || !products.loads.contains(op);
}

void TileLayouts::give(Value value, const Layout &layout) {
  if (failure)
    return;
  auto [found, isNew] = layouts.try_emplace(value, layout);
  if (isNew)
    return open.push_back(value);
  if (!found->second.sameAs(layout))
    failure = llvm::formatv("a tile would need the layouts {0} and {1}", found->second.str(),
                            layout.str())
                  .str();
}

void TileLayouts::settle() {
  while (!open.empty() && !failure)
    relate(open.pop_back_val());
}

/// Gives layouts to the tiles that are operands or results of the same op.
void TileLayouts::relate(Value value) {
  const Layout layout = layouts.find(value)->second;
  auto isTile = [](Value other) { return isa<RankedTensorType>(other.getType()); };
  // Relates all forms of a loop-carried value.
  auto relateLoop = [&](scf::ForOp loop, unsigned at) {
    for (Value other : {loop.getInitArgs()[at], Value(loop.getRegionIterArg(at)),
                        Value(loop.getResult(at)), loop.getYieldedValues()[at]})
      give(other, layout);
  };
  auto relateBranch = [&](scf::IfOp branch, unsigned at) {
    give(branch.getResult(at), layout);
    for (Region *region : {&branch.getThenRegion(), &branch.getElseRegion()})
      give(region->front().getTerminator()->getOperand(at), layout);
  };
  auto relateMap = [&](tile::MapOp map) {
    for (Value other : map.getInputs())
      give(other, layout);
    for (Value other : map.getResults())
      give(other, layout);
  };
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    auto loop = cast<scf::ForOp>(argument.getOwner()->getParentOp());
    relateLoop(loop, argument.getArgNumber() - loop.getNumInductionVars());
  } else if (Operation *op = value.getDefiningOp(); auto map = dyn_cast<tile::MapOp>(op)) {
    relateMap(map);
  } else if (auto loop = dyn_cast<scf::ForOp>(op)) {
    relateLoop(loop, cast<OpResult>(value).getResultNumber());
  } else if (auto branch = dyn_cast<scf::IfOp>(op)) {
    relateBranch(branch, cast<OpResult>(value).getResultNumber());
  } else if (auto view = dyn_cast<tile::ViewOp>(op)) {
    std::optional<sm::ViewMap> map = viewMapOf(view);
    if (std::optional<Layout> source = map ? sm::sourceLayout(layout, *map) : std::nullopt)
      give(view.getSource(), *source);
    else
      failure = "a view cannot have its result's layout";
  }
  for (OpOperand &use : value.getUses()) {
    Operation *user = use.getOwner();
    if (auto map = dyn_cast<tile::MapOp>(user)) {
      relateMap(map);
    } else if (auto reduce = dyn_cast<tile::ReduceOp>(user)) {
      std::optional<Layout> result = layout.reduce(reduce.getDims());
      for (Value other : reduce.getInputs())
        give(other, layout);
      for (Value other : reduce.getResults())
        if (result)
          give(other, *result);
    } else if (auto loop = dyn_cast<scf::ForOp>(user); loop && isTile(use.get())) {
      relateLoop(loop, use.getOperandNumber() - loop.getNumControlOperands());
    } else if (isa<scf::YieldOp>(user)) {
      if (auto loop = dyn_cast<scf::ForOp>(user->getParentOp()))
        relateLoop(loop, use.getOperandNumber());
      else
        relateBranch(cast<scf::IfOp>(user->getParentOp()), use.getOperandNumber());
    } else if (auto dot = dyn_cast<tile::DotOp>(user); dot && use.get() == dot.getAcc()) {
      give(dot, layout);
    }
  }
}

} // namespace tilewright::pipeline
