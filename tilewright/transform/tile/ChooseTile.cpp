// Which sizes tiles may have, and which of them are good.
#include "tilewright/dialect/stablehlo/StablehloOps.h"
#include "tilewright/transform/tile/Tiling.h"
#include "tilewright/transform/tile/pipeline/ReadMachine.h"

#include "mlir/Analysis/Presburger/IntegerRelation.h"
#include "mlir/Analysis/Presburger/PresburgerRelation.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/raw_ostream.h"

#include <numeric>

using namespace mlir;
using presburger::IntegerPolyhedron;
using presburger::PresburgerSet;
using presburger::PresburgerSpace;

namespace tilewright::tile {

Capacities Capacities::of(Attribute target) {
  Capacities capacities;
  auto dictionary = dyn_cast_if_present<DictionaryAttr>(target);
  if (!dictionary)
    return capacities;
  auto read = [&](StringRef name, int64_t &field) {
    if (auto value = dictionary.getAs<IntegerAttr>(name); value && value.getInt() > 0)
      field = value.getInt();
  };
  read("cores", capacities.cores);
  read("vector_bytes", capacities.vectorBytes);
  read("l1_bytes", capacities.l1Bytes);
  read("min_parallel_items", capacities.minParallelItems);
  auto kind = dictionary.getAs<StringAttr>("kind");
  capacities.isGpu = kind && kind.getValue() == "gpu";
  // 32 registers of each of 256 threads.
  if (capacities.isGpu)
    capacities.tileElements = 8192;
  read("tile_elements", capacities.tileElements);
  read("processors", capacities.cores);
  capacities.machine = pipeline::readMachine(target);
  if (auto matrix = dictionary.getAs<DictionaryAttr>("matrix"))
    if (auto types = matrix.getAs<ArrayAttr>("types"))
      for (StringAttr type : types.getAsRange<StringAttr>())
        capacities.matrixTypes.insert(type.str());
  return capacities;
}

static bool hasDefaultPrecision(stablehlo::DotGeneralOp dot) {
  ArrayAttr precision = dot.getPrecisionConfigAttr();
  return !precision || llvm::all_of(precision, [](Attribute attribute) {
    return cast<stablehlo::PrecisionAttr>(attribute).getValue() == stablehlo::Precision::DEFAULT;
  });
}

std::optional<MatrixTypes> Capacities::matrixFor(const Node &dot, const FusionGraph &graph) const {
  Type left = graph.elementType(dot.operands[0].source);
  Type right = graph.elementType(dot.operands[1].source);
  auto isTaken = [&](Type type) {
    std::string name;
    llvm::raw_string_ostream(name) << type;
    return matrixTypes.contains(name);
  };
  auto isEight = [](Type type) { return isa<Float8E4M3FNType, Float8E5M2Type>(type); };
  // f32 loses bits, which only the default precision allows.
  if (left.isF32() && right.isF32()) {
    if (matrixTypes.contains("tf32") && hasDefaultPrecision(cast<stablehlo::DotGeneralOp>(dot.op)))
      return MatrixTypes{left, right, /*isTf32=*/true};
    return std::nullopt;
  }
  if (isTaken(left) && isTaken(right) && (left == right || (isEight(left) && isEight(right))))
    return MatrixTypes{left, right};
  // Every f8 of these is an f16.
  Type half = Float16Type::get(left.getContext());
  if (isEight(left) && isEight(right) && isTaken(half))
    return MatrixTypes{half, half};
  return std::nullopt;
}

/// The number that tiles of a dimension are multiples of.
static int64_t multipleOf(const Needs &needs, size_t dim) {
  auto found = needs.multiples.find(static_cast<int>(dim));
  return found == needs.multiples.end() ? 1 : found->second;
}

/// The legal sizes, as a set over one symbol for each dimension: all of it, or, where nothing
/// needs that, a multiple of what divides its indices.
static PresburgerSet legalTiles(ArrayRef<int64_t> sizes, const Needs &needs) {
  const size_t count = sizes.size();
  const PresburgerSpace space = PresburgerSpace::getSetSpace(static_cast<unsigned>(count));
  auto legal = PresburgerSet::getUniverse(space);
  for (size_t dim = 0; dim < count; ++dim) {
    const auto var = static_cast<unsigned>(dim);
    IntegerPolyhedron whole(space);
    whole.addBound(presburger::BoundType::EQ, var, std::max<int64_t>(sizes[dim], 1));
    PresburgerSet options(whole);
    if (!needs.whole.contains(static_cast<int>(dim))) {
      IntegerPolyhedron part(space);
      part.addBound(presburger::BoundType::LB, var, 1);
      part.addBound(presburger::BoundType::UB, var, std::max<int64_t>(sizes[dim], 1));
      SmallVector<int64_t> tile(count + 1, 0);
      tile[dim] = 1;
      part.addLocalFloorDiv(tile, multipleOf(needs, dim));
      SmallVector<int64_t> rest(count + 2, 0);
      rest[dim] = 1;
      rest[count] = -multipleOf(needs, dim);
      part.addEquality(rest);
      options.unionInPlace(part);
    }
    legal = legal.intersect(options);
  }
  return legal;
}

/// A tile of about `budget` out of `size`: all of it, or a multiple of `granule`, and one that
/// divides `size` if there is one nearby, so that no tile is ragged.
static int64_t pickTile(int64_t size, int64_t budget, int64_t granule) {
  if (budget >= size || granule >= size)
    return size;
  const int64_t base = std::max(granule, budget / granule * granule);
  if (base >= size)
    return size;
  // Far from the budget a ragged tile is the smaller evil.
  int64_t best = 0;
  const int64_t first = std::max(granule, base / 2 / granule * granule);
  for (int64_t tile = first; tile <= std::min({size, base * 2, first + 4096 * granule});
       tile += granule)
    if (size % tile == 0 && (!best || std::abs(tile - base) < std::abs(best - base)))
      best = tile;
  if (best)
    return best;
  return base;
}

/// Elements along a contiguous dimension that are worth a tile of their own: eight vectors, or,
/// where that leaves too few points, down to a cache line.
static int64_t granuleOf(int64_t size, int64_t elsewhere, const Needs &needs,
                         const Capacities &capacities) {
  int64_t granule = std::max<int64_t>(1, 8 * capacities.vectorBytes / needs.elementBytes);
  const int64_t line = std::max<int64_t>(1, 64 / needs.elementBytes);
  while (granule / 2 >= line && size / granule * elsewhere < 2 * capacities.cores)
    granule /= 2;
  return granule;
}

/// The dimensions that may be divided, and how many elements they have.
static std::pair<SmallVector<size_t>, int64_t> openDims(ArrayRef<int64_t> sizes,
                                                        const Needs &needs) {
  SmallVector<size_t> open;
  int64_t volume = 1;
  for (auto [dim, size] : llvm::enumerate(sizes)) {
    if (needs.whole.contains(static_cast<int>(dim)))
      continue;
    open.push_back(dim);
    volume *= size;
  }
  return {open, volume};
}

/// Dimensions along which most of the memory is contiguous. Several of them: a transposition.
static SmallVector<size_t> contiguousDims(ArrayRef<size_t> open, const Needs &needs) {
  SmallVector<size_t> inner;
  for (size_t dim : open)
    if (auto found = needs.contiguous.find(static_cast<int>(dim));
        found != needs.contiguous.end() && found->second * 8 >= needs.elements)
      inner.push_back(dim);
  return inner;
}

/// Dimensions that decide most about memory first, then from the last to the first.
static SmallVector<size_t> byImportance(ArrayRef<size_t> open, ArrayRef<size_t> inner) {
  SmallVector<size_t> order(inner.rbegin(), inner.rend());
  for (size_t dim : llvm::reverse(open))
    if (!llvm::is_contained(inner, dim))
      order.push_back(dim);
  return order;
}

void Tiling::chooseForCpu(const Needs &needs, const Capacities &capacities) {
  const auto [open, volume] = openDims(sizes, needs);
  if (needs.elements < capacities.minParallelItems || volume <= 1)
    return;
  const int64_t perTile =
      std::clamp<int64_t>(capacities.l1Bytes / needs.elementBytes, 4 << 10, 16 << 10);
  const int64_t points = std::max(4 * capacities.cores, needs.elements / perTile);
  int64_t budget = std::max<int64_t>(1, volume / points);
  const SmallVector<size_t> inner = contiguousDims(open, needs);
  for (size_t dim : byImportance(open, inner)) {
    int64_t granule = 1, wanted = budget;
    if (llvm::is_contained(inner, dim)) {
      granule = granuleOf(sizes[dim], volume / sizes[dim], needs, capacities);
      if (inner.size() > 1) {
        // A transposition: two whole cache lines are written at a time, so that the lines that
        // are read, one for each element of these, stay until all of each is used, even where
        // their distance is a power of two. Measured: 32x128 beats 64x64 by 1.1 to 3.5 times.
        const bool isWritten = dim + 1 == sizes.size();
        granule = std::max<int64_t>(1, std::max<int64_t>(64, capacities.vectorBytes) /
                                           needs.elementBytes);
        wanted = isWritten ? 2 * granule : 128;
      } else if (needs.hasReduction)
        // Columns: wide ones, as long as there are enough points.
        wanted = std::max(budget, std::min<int64_t>(512, volume / (4 * capacities.cores)));
    }
    tiles[dim] = pickTile(sizes[dim], wanted, std::lcm(granule, multipleOf(needs, dim)));
    budget = std::max<int64_t>(1, budget / tiles[dim]);
  }
}

/// The tile of a dimension of a GPU's block: all of it, or a power of two times what it must be a
/// multiple of, at most `wanted` if it can be.
static int64_t blockTile(int64_t size, int64_t wanted, int64_t multiple) {
  if (size <= std::max(wanted, multiple))
    return size;
  int64_t tile = multiple;
  while (tile * 2 <= wanted)
    tile *= 2;
  return std::min(tile, size);
}

/// A tile along the rows or columns of a product: as matrix instructions take it, so possibly more
/// than there is.
static int64_t productTile(int64_t size, int64_t wanted) {
  return std::min(
      wanted,
      std::max<int64_t>(16, static_cast<int64_t>(llvm::PowerOf2Ceil(static_cast<uint64_t>(size)))));
}

/// The best of the tiles that can be built, where a plan says what each costs.
bool Tiling::chooseByCost(const Needs &needs, const Capacities &capacities, int row, int column,
                          int64_t blocks) {
  if (!needs.product || !capacities.machine)
    return false;
  // Without a copy engine for its operands a kernel keeps them in registers, as instructions of
  // warps do; tf32 is theirs on every chip, and so is everything where `tile-pipeline` makes no
  // roles yet (tcgen05).
  const bool ofWarps =
      needs.product->types.isTf32 || capacities.machine->matrixUnit != pipeline::MatrixUnit::wgmma;
  if (!ofWarps && !needs.product->canCopy)
    return false;
  const pipeline::Machine machine =
      ofWarps ? pipeline::withWarpProducts(*capacities.machine) : *capacities.machine;
  const auto at = [&](int dim) { return static_cast<size_t>(dim); };
  pipeline::Gemm gemm;
  gemm.m = sizes[at(row)];
  gemm.n = sizes[at(column)];
  gemm.k = needs.product->depth;
  gemm.batch = std::max<int64_t>(1, blocks / std::max<int64_t>(1, gemm.m * gemm.n));
  const MatrixTypes &types = needs.product->types;
  gemm.lhsBits = types.left.getIntOrFloatBitWidth();
  gemm.rhsBits = types.right.getIntOrFloatBitWidth();
  gemm.type = types.isTf32              ? "tf32"
              : types.left.isInteger(8) ? "s8"
              : gemm.lhsBits == 8       ? "f8"
              : types.left.isBF16()     ? "bf16"
              : types.left.isF16()      ? "f16"
                                        : "";
  // What is computed on its way is the instruction's left side: on the right, the product is
  // transposed.
  const bool isSwapped = !ofWarps && needs.product->rightComputed;
  if (isSwapped) {
    std::swap(gemm.m, gemm.n);
    std::swap(gemm.lhsBits, gemm.rhsBits);
    std::swap(row, column);
  }
  if (!ofWarps && (needs.product->leftComputed || needs.product->rightComputed)) {
    gemm.lhsBits = needs.product->computedBits;
    gemm.lhsInRegisters = true;
  }
  // The copy engine brings lines along N; threads bring what there is.
  if (needs.product->columnsInner && !ofWarps)
    gemm.columnStep = 1024 / gemm.rhsBits;
  const std::vector<pipeline::GemmChoice> ranked = pipeline::rankTiles(gemm, machine);
  if (ranked.empty())
    return false;
  tiles[at(row)] = ranked.front().m * ranked.front().clusterM;
  tiles[at(column)] = ranked.front().n * ranked.front().clusterN;
  return true;
}

void Tiling::chooseForProduct(const Needs &needs, const Capacities &capacities) {
  // The last dimension of rows and of columns are a tile's, all others are of the grid.
  int row = -1, column = -1;
  int64_t blocks = 1;
  for (int dim = 0; dim < static_cast<int>(sizes.size()); ++dim) {
    const auto at = static_cast<size_t>(dim);
    if (needs.whole.contains(dim))
      continue;
    tiles[at] = multipleOf(needs, at);
    if (needs.rows.contains(dim) && multipleOf(needs, at) == 1)
      row = dim;
    else if (needs.columns.contains(dim) && multipleOf(needs, at) == 1)
      column = dim;
    blocks *= (sizes[at] + tiles[at] - 1) / tiles[at];
  }
  if (row >= 0 && column >= 0 && chooseByCost(needs, capacities, row, column, blocks))
    return;
  const int64_t largest = needs.product ? 128 : 16;
  int64_t rows = row < 0 ? 1 : productTile(sizes[static_cast<size_t>(row)], largest);
  int64_t columns = column < 0 ? 1 : productTile(sizes[static_cast<size_t>(column)], largest);
  // Every processor has a block before blocks are large.
  while (blocks / (rows * columns) < capacities.cores && std::max(rows, columns) > 64)
    (rows > columns ? rows : columns) /= 2;
  if (row >= 0)
    tiles[static_cast<size_t>(row)] = rows;
  if (column >= 0)
    tiles[static_cast<size_t>(column)] = columns;
}

void Tiling::chooseForGpu(const Needs &needs, const Capacities &capacities) {
  if (!needs.rows.empty() || !needs.columns.empty())
    return chooseForProduct(needs, capacities);
  const auto [open, volume] = openDims(sizes, needs);
  if (volume <= 1)
    return;
  // A block of 128 threads has four vectors of 16 bytes in each, unless that leaves processors
  // without a block.
  const int64_t perIndex = std::max<int64_t>(1, needs.elements / volume);
  int64_t elements = 128 * 64 / std::max<int64_t>(needs.elementBytes, 2);
  while (elements > 256 && needs.elements / elements < 2 * capacities.cores)
    elements /= 2;
  int64_t budget = std::max<int64_t>(1, elements / perIndex);
  const SmallVector<size_t> inner = contiguousDims(open, needs);
  for (size_t dim : byImportance(open, inner)) {
    int64_t wanted = budget;
    if (llvm::is_contained(inner, dim)) {
      // Whole lines of 128 bytes, in both directions of a transposition.
      const int64_t line = std::max<int64_t>(16, 128 / needs.elementBytes);
      if (inner.size() > 1)
        wanted = line;
      else if (needs.hasReduction)
        wanted = std::max(budget, line);
    }
    tiles[dim] = blockTile(sizes[dim], wanted, multipleOf(needs, dim));
    budget = std::max<int64_t>(
        1, budget / static_cast<int64_t>(llvm::PowerOf2Ceil(static_cast<uint64_t>(tiles[dim]))));
  }
}

bool Tiling::choose(const Needs &needs, const Capacities &capacities, std::string &reason) {
  tiles.assign(sizes.begin(), sizes.end());
  for (int64_t &tile : tiles)
    tile = std::max<int64_t>(tile, 1);
  if (capacities.isGpu)
    chooseForGpu(needs, capacities);
  else
    chooseForCpu(needs, capacities);
  // A tile that is larger than all there is stands for all there is.
  SmallVector<int64_t> inside;
  for (auto [tile, size] : llvm::zip_equal(tiles, sizes))
    inside.push_back(std::min(tile, std::max<int64_t>(size, 1)));
  if (!legalTiles(sizes, needs).containsPoint(presburger::getDynamicAPIntVec(inside))) {
    reason = "no sizes of tiles are legal";
    return false;
  }
  return true;
}

} // namespace tilewright::tile
