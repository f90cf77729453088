// Chooses the loops of a group: splits dimensions that views divide, merges dimensions that are
// contiguous in memory, and selects the loop to vectorize.
#include "tilewright/target/cpu/emit/LoopEmitter.h"
#include "tilewright/target/lanes/RegionEmitter.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

using namespace llvm;

namespace tilewright::cpu {

/// Adds the row-major element index of `map` in a tensor of `shape`.
static void addRowMajor(IndexForm &form, ArrayRef<int64_t> shape, ArrayRef<int64_t> strides,
                        mlir::AffineMap map, ArrayRef<int64_t> sizes) {
  int64_t row = 1;
  for (int64_t dim = int64_t(shape.size()) - 1; dim >= 0; --dim) {
    int64_t stride = strides.empty() ? 1 : strides[dim];
    form.add(IndexForm::of(map.getResult(dim), sizes), row * stride, sizes);
    row *= shape[dim];
  }
}

template <typename Op>
static void addOffsets(Op op, mlir::MemRefType whole, ArrayRef<int64_t> bounds, mlir::AffineMap map,
                       ArrayRef<int64_t> sizes, auto &access) {
  ArrayRef<int64_t> strides = op.getStrides().value_or(ArrayRef<int64_t>());
  ArrayRef<bool> inBounds = op.getInBounds().value_or(ArrayRef<bool>());
  addRowMajor(access.form, whole.getShape(), strides, map, sizes);
  int64_t row = 1;
  for (int64_t dim = whole.getRank() - 1; dim >= 0; --dim) {
    mlir::Value offset = op.getOffsets()[dim];
    access.offsets.emplace_back(offset, row);
    row *= whole.getDimSize(dim);
    if (!inBounds.empty() && !inBounds[dim])
      access.checks.push_back({offset, strides.empty() ? 1 : strides[dim],
                               IndexForm::of(map.getResult(dim), sizes), bounds[dim]});
  }
}

LoopEmitter::Access LoopEmitter::loadAccess(tile::LoadOp load, mlir::AffineMap map) {
  auto whole = cast<mlir::MemRefType>(load.getSource().getType());
  Access access{whole.getElementType(), IndexForm(sizes.size()), {}, {}};
  addOffsets(load, whole, whole.getShape(), map, sizes, access);
  return access;
}

LoopEmitter::Access LoopEmitter::storeAccess(tile::StoreOp store, mlir::AffineMap map) {
  auto whole = cast<mlir::MemRefType>(store.getTarget().getType());
  Access access{whole.getElementType(), IndexForm(sizes.size()), {}, {}};
  addOffsets(store, whole, store.getBounds(), map, sizes, access);
  int64_t row = 1;
  for (int64_t dim = int64_t(store.getOrigin().size()) - 1; dim >= 0; --dim) {
    access.offsets.emplace_back(store.getOrigin()[dim], row);
    row *= whole.getDimSize(dim);
  }
  return access;
}

LoopEmitter::Access LoopEmitter::bufferAccess(mlir::Value tile, mlir::AffineMap map) {
  auto type = cast<mlir::RankedTensorType>(tile.getType());
  Access access{type.getElementType(), IndexForm(sizes.size()), {}, {}};
  ArrayRef<int64_t> shape = type.getShape();
  if (kernel.rowTiles.contains(tile)) {
    shape = shape.drop_front();
    map = map.getSliceMap(1, shape.size());
  }
  addRowMajor(access.form, shape, {}, map, sizes);
  return access;
}

/// The map from the group's shape to the result index of a reduce, scan or dot.
mlir::AffineMap LoopEmitter::resultMap(const Root &root) {
  mlir::MLIRContext *context = root.op->getContext();
  unsigned rank = group.shape.size();
  SmallVector<mlir::AffineExpr> exprs;
  if (isa<tile::ScanOp>(root.op))
    return composed(readsOf(root)[0].second);
  for (unsigned dim = 0; dim < rank; ++dim)
    if (!llvm::is_contained(group.reduced, int64_t(dim)))
      exprs.push_back(mlir::getAffineDimExpr(dim, context));
  return composed(mlir::AffineMap::get(rank, 0, exprs, context));
}

std::vector<LoopEmitter::Access> LoopEmitter::allAccesses() {
  std::vector<Access> accesses;
  mlir::MLIRContext *context = kernel.kernel.getContext();
  mlir::AffineMap identity =
      composed(mlir::AffineMap::getMultiDimIdentityMap(group.shape.size(), context));
  TileWalk walk{[&](mlir::Value tile) { return kernel.homes.count(tile) != 0; },
                [&](mlir::Value tile, mlir::AffineMap map) {
                  mlir::Operation *op = tile.getDefiningOp();
                  if (kernel.homes.count(tile)) {
                    accesses.push_back(bufferAccess(tile, map));
                  } else if (auto load = dyn_cast_or_null<tile::LoadOp>(op)) {
                    accesses.push_back(loadAccess(load, map));
                  } else if (auto iota = dyn_cast_or_null<tile::IotaOp>(op)) {
                    // An iota does not read memory, but its dimension must remain a separate loop.
                    Access access{{}, IndexForm::of(map.getResult(iota.getDim()), sizes), {}, {}};
                    accesses.push_back(access);
                  }
                },
                [](mlir::Value, mlir::AffineMap) { return true; },
                {}};
  for (const Root &root : group.roots) {
    for (auto [tile, map] : readsOf(root))
      walk.visit(tile, composed(map), sizes);
    if (!root.op)
      accesses.push_back(bufferAccess(root.kept, identity));
    else if (auto store = dyn_cast<tile::StoreOp>(root.op))
      accesses.push_back(storeAccess(store, identity));
    else
      for (mlir::Value result : root.op->getResults())
        accesses.push_back(bufferAccess(result, resultMap(root)));
  }
  return accesses;
}

/// Splits a dimension that a view divides into quotient and remainder, in which the view is linear.
void LoopEmitter::splitDimensions() {
  mlir::MLIRContext *context = kernel.kernel.getContext();
  origins.clear();
  for (unsigned dim = 0; dim < sizes.size(); ++dim)
    origins.push_back(dim);
  for (int round = 0; round < 3; ++round) {
    std::optional<std::pair<unsigned, int64_t>> split; // dimension and size of the inner part
    auto look = [&](const IndexForm &form) {
      for (auto [expr, factor] : form.rest) {
        auto binary = cast<mlir::AffineBinaryOpExpr>(expr);
        int64_t divisor = cast<mlir::AffineConstantExpr>(binary.getRHS()).getValue();
        IndexForm inner = IndexForm::of(binary.getLHS(), sizes);
        for (unsigned dim = row ? 1 : 0; dim < sizes.size(); ++dim) {
          int64_t step = std::abs(inner.coefficients[dim]);
          if (!step || divisor % step)
            continue;
          int64_t part = divisor / step;
          if (part > 1 && part < sizes[dim] && sizes[dim] % part == 0 && !split)
            split = {dim, part};
        }
      }
    };
    for (const Access &access : allAccesses()) {
      look(access.form);
      for (const Check &check : access.checks)
        look(check.form);
    }
    if (!split)
      return;
    auto [dim, part] = *split;
    // Dimension `dim` becomes part · dim + (dim + 1); later dimensions move up by one.
    SmallVector<mlir::AffineExpr> old;
    for (unsigned d = 0; d < sizes.size(); ++d) {
      if (d == dim)
        old.push_back(mlir::getAffineDimExpr(d, context) * part +
                      mlir::getAffineDimExpr(d + 1, context));
      else
        old.push_back(mlir::getAffineDimExpr(d < dim ? d : d + 1, context));
    }
    sizes.insert(sizes.begin() + dim + 1, part);
    sizes[dim] /= part;
    origins.insert(origins.begin() + dim + 1, origins[dim]);
    base = base.compose(mlir::AffineMap::get(sizes.size(), 0, old, context));
  }
}

/// Joins an innermost dimension with fewer elements than a vector to the next one, if all that
/// distinguishes them is that some loads do not depend on the inner one: the elements of a byte. A
/// vector then has several elements of each byte, which is loaded once and repeated.
void LoopEmitter::joinShortDimension() {
  const size_t rank = sizes.size();
  if (rank < 2 || (row && rank == 2) || !group.reduced.empty())
    return;
  for (const Root &root : group.roots)
    if (root.op && !isa<tile::StoreOp>(root.op))
      return;
  const unsigned inner = unsigned(rank) - 1, outer = inner - 1;
  const int64_t size = sizes[inner];
  const unsigned native = b.machine.vectorBytes / elementBytes();
  if (size < 2 || !llvm::isPowerOf2_64(uint64_t(size)) || size >= int64_t(native) ||
      sizes[outer] < 2)
    return;
  bool isRepeated = false;
  for (const Access &access : allAccesses()) {
    const int64_t atInner = access.form.coefficients[inner],
                  atOuter = access.form.coefficients[outer];
    if (!access.form.isLinear() || !access.checks.empty())
      return;
    const bool isWhole = atOuter == atInner * size;
    const bool isOfOuter = atInner == 0 && atOuter == 1;
    const bool isCounter = !access.type && atOuter == 0;
    if (!isWhole && !isOfOuter && !isCounter)
      return;
    isRepeated |= isOfOuter;
  }
  if (!isRepeated)
    return;
  mlir::MLIRContext *context = kernel.kernel.getContext();
  SmallVector<mlir::AffineExpr> old;
  for (unsigned dim = 0; dim < outer; ++dim)
    old.push_back(mlir::getAffineDimExpr(dim, context));
  mlir::AffineExpr both = mlir::getAffineDimExpr(outer, context);
  old.push_back(both.floorDiv(size));
  old.push_back(both % size);
  sizes.pop_back();
  sizes[outer] *= size;
  origins.pop_back();
  base = base.compose(mlir::AffineMap::get(sizes.size(), 0, old, context));
  joined = outer;
  shortSize = unsigned(size);
}

/// Whether an index is provably non-negative; `depth` limits the search.
static bool isNatural(mlir::Value value, int depth = 8) {
  if (depth == 0)
    return false;
  if (auto argument = dyn_cast<mlir::BlockArgument>(value)) {
    if (auto loop = dyn_cast<mlir::scf::ForOp>(argument.getOwner()->getParentOp()))
      return value == loop.getInductionVar() && isNatural(loop.getLowerBound(), depth - 1);
    return isa<tile::KernelOp>(argument.getOwner()->getParentOp());
  }
  mlir::Operation *op = value.getDefiningOp();
  if (auto constant = dyn_cast<mlir::arith::ConstantIndexOp>(op))
    return constant.value() >= 0;
  bool operands = llvm::all_of(op->getOperands(),
                               [&](mlir::Value operand) { return isNatural(operand, depth - 1); });
  if (auto apply = dyn_cast<mlir::affine::AffineApplyOp>(op)) {
    bool isPositive = true;
    apply.getAffineMap().getResult(0).walk([&](mlir::AffineExpr expr) {
      if (auto constant = dyn_cast<mlir::AffineConstantExpr>(expr))
        isPositive &= constant.getValue() >= 0;
    });
    return isPositive && operands;
  }
  return isa<mlir::arith::AddIOp, mlir::arith::MulIOp, mlir::arith::DivUIOp, mlir::arith::RemUIOp,
             mlir::arith::MinSIOp, mlir::arith::DivSIOp, mlir::arith::RemSIOp>(op) &&
         operands;
}

/// Whether two indices are provably equal, even if they are computed by different ops.
static bool isSame(mlir::Value a, mlir::Value b) {
  if (a == b)
    return true;
  mlir::Operation *x = a.getDefiningOp(), *y = b.getDefiningOp();
  return x && y && x->getName() == y->getName() &&
         x->getAttrDictionary() == y->getAttrDictionary() && x->getPropertiesStorage() &&
         y->getPropertiesStorage() &&
         x->getName().compareOpProperties(x->getPropertiesStorage(), y->getPropertiesStorage()) &&
         x->getOperands() == y->getOperands();
}

/// If the check only compares the index of a single dimension, that dimension; otherwise -1.
static int dimensionOf(const IndexForm &form, int64_t stride) {
  if (stride != 1 || form.constant || !form.isLinear())
    return -1;
  int found = -1;
  for (auto [dim, coefficient] : enumerate(form.coefficients)) {
    if (coefficient == 0)
      continue;
    if (coefficient != 1 || found >= 0)
      return -1;
    found = int(dim);
  }
  return found;
}

LoopEmitter::Bound LoopEmitter::rowBound(ArrayRef<LoopGroup> groups) {
  Bound bound;
  bool isFirst = true;
  for (const LoopGroup &group : groups)
    for (const Root &root : group.roots) {
      auto store = dyn_cast_or_null<tile::StoreOp>(root.op);
      if (!store)
        continue;
      Bound own;
      auto inBounds = store.getInBounds();
      auto strides = store.getStrides();
      auto whole = cast<mlir::MemRefType>(store.getTarget().getType());
      if (inBounds && !(*inBounds)[0] && (!strides || (*strides)[0] == 1) &&
          isNatural(store.getOffsets()[0]))
        own = {store.getOffsets()[0], whole.getDimSize(0)};
      if (!own.offset)
        return {};
      if (!isFirst && (!isSame(own.offset, bound.offset) || own.size != bound.size))
        return {};
      bound = own;
      isFirst = false;
    }
  return bound;
}

/// If all roots are stores with the same bound, bounds the loops, too: they compute no values that
/// would be discarded, and loads with the same bound need no mask.
void LoopEmitter::boundLoops() {
  bounds.assign(sizes.size(), {});
  if (row)
    bounds[0] = boundOfRows;
  mlir::MLIRContext *context = kernel.kernel.getContext();
  mlir::AffineMap identity =
      composed(mlir::AffineMap::getMultiDimIdentityMap(group.shape.size(), context));
  std::vector<Access> stores;
  for (const Root &root : group.roots) {
    auto store = dyn_cast_or_null<tile::StoreOp>(root.op);
    if (!store)
      return;
    stores.push_back(storeAccess(store, identity));
  }
  for (const Check &check : stores[0].checks) {
    int dim = dimensionOf(check.form, check.stride);
    if (dim < 0 || (row && dim == 0) || !isNatural(check.offset))
      continue;
    bool isShared = llvm::all_of(stores, [&](const Access &store) {
      return llvm::any_of(store.checks, [&](const Check &other) {
        return dimensionOf(other.form, other.stride) == dim && isSame(other.offset, check.offset) &&
               other.size == check.size;
      });
    });
    if (isShared)
      bounds[dim] = {check.offset, check.size};
  }
}

bool LoopEmitter::isImplied(const Check &check) {
  int found = dimensionOf(check.form, check.stride);
  if (found < 0)
    return false;
  const Bound &bound = bounds[found];
  return bound.offset && isSame(bound.offset, check.offset) && bound.size <= check.size;
}

int64_t LoopEmitter::bodyCost() {
  int64_t cost = 0;
  llvm::DenseSet<mlir::Operation *> counted;
  TileWalk walk{[&](mlir::Value tile) { return kernel.homes.count(tile) != 0; },
                [&](mlir::Value, mlir::AffineMap) { cost += 1; },
                [&](mlir::Value tile, mlir::AffineMap) {
                  mlir::Operation *op = tile.getDefiningOp();
                  if (auto map = dyn_cast<tile::MapOp>(op); map && counted.insert(op).second)
                    cost += lanes::costOf(map.getBody().front());
                  if (isa<tile::GatherOp>(op))
                    cost += 16;
                  return true;
                },
                {}};
  for (const Root &root : group.roots) {
    for (auto [tile, map] : readsOf(root))
      walk.visit(tile, composed(map), sizes);
    if (!root.op)
      if (auto map = root.kept.getDefiningOp<tile::MapOp>())
        cost += lanes::costOf(map.getBody().front());
    cost += 1;
  }
  return cost;
}

/// The size in bytes of the element type that most computations have.
unsigned LoopEmitter::elementBytes() {
  DenseMap<unsigned, int64_t> counts;
  int64_t total = 0;
  auto count = [&](mlir::Type type, int64_t weight) {
    type = mlir::getElementTypeOrSelf(type);
    if (!type || type.isInteger(1))
      return;
    unsigned bytes = std::max(8u, b.computeType(type)->getScalarSizeInBits()) / 8;
    counts[bytes] += weight;
    total += weight;
  };
  auto countBlock = [&](mlir::Block &block) {
    for (mlir::Operation &op : block.without_terminator())
      if (!op.hasTrait<mlir::OpTrait::ConstantLike>())
        count(op.getResult(0).getType(), 1);
  };
  TileWalk walk{[&](mlir::Value tile) { return kernel.homes.count(tile) != 0; },
                [&](mlir::Value tile, mlir::AffineMap) { count(tile.getType(), 1); },
                [&](mlir::Value tile, mlir::AffineMap) {
                  if (auto map = tile.getDefiningOp<tile::MapOp>())
                    countBlock(map.getBody().front());
                  return true;
                },
                {}};
  for (const Root &root : group.roots) {
    for (auto [tile, map] : readsOf(root))
      walk.visit(tile, composed(map), sizes);
    if (!root.op)
      if (auto map = root.kept.getDefiningOp<tile::MapOp>())
        countBlock(map.getBody().front());
    if (auto store = dyn_cast_or_null<tile::StoreOp>(root.op))
      count(store.getTile().getType(), 1);
  }
  unsigned widest = 1;
  for (auto [bytes, times] : counts)
    if (4 * times >= total)
      widest = std::max(widest, bytes);
  return widest;
}

void LoopEmitter::chooseLoops() {
  std::vector<Access> accesses = allAccesses();
  auto isReduced = [&](unsigned dim) {
    return llvm::is_contained(group.reduced, int64_t(origins[dim]));
  };
  auto isFree = [&](unsigned dim) { // only linear accesses depend on it
    return !bounds[dim].offset && llvm::all_of(accesses, [&](const Access &access) {
      return llvm::none_of(access.form.rest,
                           [&](const auto &term) { return term.first.isFunctionOfDim(dim); }) &&
             llvm::none_of(access.checks,
                           [&](const Check &check) { return check.form.dependsOn(dim); });
    });
  };
  // Merge adjacent dimensions, innermost first.
  for (int dim = int(sizes.size()) - 1; dim >= 0; --dim) {
    if (sizes[dim] == 1)
      continue;
    if (!loops.empty() && !(row && dim == 0)) {
      Loop &inner = loops.back();
      bool joins = isReduced(dim) == inner.isReduced && isFree(dim) && isFree(inner.dim) &&
                   llvm::all_of(accesses, [&](const Access &access) {
                     return access.form.coefficients[dim] ==
                            access.form.coefficients[inner.dim] * inner.size;
                   });
      if (joins) {
        inner.size *= sizes[dim];
        continue;
      }
    }
    Loop loop{unsigned(dim), sizes[dim]};
    loop.isReduced = isReduced(dim);
    if (row && dim == 0) {
      loop.isOutside = true;
      loop.iv = row;
    }
    loops.push_back(loop);
  }
  std::reverse(loops.begin(), loops.end());

  for (Loop &loop : loops)
    if (bounds[loop.dim].offset && !loop.isOutside) {
      Value *offset = kernel.scalars.lookup(bounds[loop.dim].offset).value;
      Value *left = b.ir.CreateSub(b.i64(bounds[loop.dim].size), offset);
      loop.bound = b.ir.CreateBinaryIntrinsic(Intrinsic::smin, left, b.i64(loop.size));
    }

  // Vectorize the loop along which most accesses are contiguous.
  unsigned native = b.machine.vectorBytes / elementBytes();
  bool mustKeep = llvm::any_of(group.roots, [](const Root &root) {
    return isa_and_nonnull<tile::ScanOp, tile::DotOp>(root.op);
  });
  Loop *best = nullptr;
  double bestCost = 1e9;
  for (Loop &loop : loops) {
    if (loop.isOutside || (mustKeep && loop.isReduced))
      continue;
    double cost = 1;
    for (const Access &access : accesses) {
      int64_t coefficient = std::abs(access.form.coefficients[loop.dim]);
      bool isLinear = loop.dim == joined || llvm::none_of(access.form.rest, [&](const auto &term) {
                        return term.first.isFunctionOfDim(loop.dim);
                      });
      cost += !isLinear ? 20 : coefficient == 0 ? 0.5 : coefficient == 1 ? 1 : 16;
    }
    cost /= double(std::min<int64_t>(native, loop.size));
    if (loop.isReduced)
      cost *= 1.01; // prefer lanes that need no reduction at the end
    if (cost <= bestCost) {
      bestCost = cost;
      best = &loop;
    }
  }
  if (best) {
    best->isVector = true;
    int64_t cost = bodyCost();
    unsigned unroll = cost <= 12 ? 4 : cost <= 48 ? 2 : 1;
    if (b.machine.vectorBytes < 32)
      unroll = std::min(unroll, 2u);
    unsigned lanes = native * unroll;
    while (lanes > native && (lanes > best->size || best->size % lanes))
      lanes /= 2;
    if (lanes > best->size)
      lanes = best->isReduced ? unsigned(llvm::bit_floor(uint64_t(best->size)))
                              : unsigned(llvm::PowerOf2Ceil(uint64_t(best->size)));
    vectorLanes = std::max(1u, lanes);
    if (vectorLanes == 1)
      best->isVector = false;
    isMaskedLoop = best->size % vectorLanes && best->size > vectorLanes && cost > 16 &&
                   b.machine.hasMasks && !best->isReduced;
  }
  // Place reduction loops innermost, and the vector loop innermost among the loops of its kind.
  llvm::stable_sort(loops, [](const Loop &x, const Loop &y) {
    return std::pair(x.isReduced, x.isVector) < std::pair(y.isReduced, y.isVector);
  });
  keptLoops = unsigned(llvm::count_if(loops, [](const Loop &loop) { return !loop.isReduced; }));
  splitReduction(accesses);
}

/// A reduction of columns with its loop over rows innermost reads a short piece of every row, and
/// then the next piece of every row: each piece is on another page, which no prefetcher follows. If
/// the accumulators of all columns fit in L1, splits the loop, so that a block of rows is read from
/// end to end: for each block, for each vector of columns, for each row of the block. The order in
/// which the elements of a column are combined stays.
void LoopEmitter::splitReduction(ArrayRef<Access> accesses) {
  constexpr int64_t accumulatorBytes = 8 << 10;
  if (loops.size() != keptLoops + 1 || keptLoops == 0)
    return;
  const Loop &columns = loops[keptLoops - 1], &rows = loops[keptLoops];
  if (!columns.isVector || columns.size <= vectorLanes || rows.bound || rows.size < 2 * blockRows ||
      !llvm::all_of(
          accesses,
          [&](const Access &access) {
            return llvm::none_of(access.form.rest, [&](const auto &term) {
              return term.first.isFunctionOfDim(rows.dim);
            });
          }))
    return;
  int64_t bytes = 0;
  for (const Root &root : group.roots) {
    if (!isa_and_nonnull<tile::ReduceOp, tile::ScanOp, tile::DotOp>(root.op))
      continue;
    if (!isa<tile::ReduceOp>(root.op))
      return;
    for (mlir::Value result : root.op->getResults()) {
      const Home home = targets.lookup(result);
      mlir::Type element = mlir::getElementTypeOrSelf(result.getType());
      // The memory must hold what a register holds.
      if (!home.buffer || b.isComplex(element) || b.storageType(element) != b.computeType(element))
        return;
      bytes += columns.size * lanes::storageBytes(element);
    }
  }
  if (bytes > accumulatorBytes)
    return;
  Loop blocks{rows.dim, rows.size};
  blocks.isReduced = true;
  rowBlocks = keptLoops - 1;
  loops.insert(loops.begin() + keptLoops - 1, blocks);
  ++keptLoops;
}

} // namespace tilewright::cpu
