// Finds tiles that are too large to be held at once, and adds loops over them.
#include "tilewright/transform/tile/Tiling.h"

#include "tilewright/dialect/stablehlo/StablehloOps.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

#include <numeric>

using namespace mlir;

namespace tilewright::tile {

Box Tiling::domainBox(const Node &node, unsigned number, const Box &result) const {
  Box box = tile::domainBox(node, result);
  for (unsigned dim = node.rank; dim < node.sizes.size(); ++dim)
    if (auto loop = reductionLoops.find({number, dim}); loop != reductionLoops.end())
      box[dim] = Access{loop->second, 0, 1, 0};
  return box;
}

namespace {

/// Propagates boxes from the outputs to the inputs and adds a loop where a domain is too large.
/// Records dimensions that cannot be tiled, or only by a multiple of some number, for the next
/// attempt.
class LoopPlanner {
public:
  LoopPlanner(const FusionGraph &graph, const Capacities &capacities, Tiling &tiling)
      : graph(graph), capacities(capacities), tiling(tiling) {}

  /// A dimension of a node's domain: (node, dimension). Node -1 stands for the grid.
  using Dim = std::pair<int64_t, unsigned>;
  std::set<Dim> whole;
  std::map<Dim, int64_t> multiples;

  /// Plans all loops. Returns whether they are legal; if not, it has added a constraint to `whole`
  /// or `multiples`.
  bool plan() {
    const size_t known = whole.size();
    isLegal = true;
    seen.clear();
    seenComputed.clear();
    owners.clear();
    tiling.sizes.truncate(static_cast<size_t>(tiling.gridRank));
    tiling.tiles.truncate(static_cast<size_t>(tiling.gridRank));
    tiling.reductionLoops.clear();
    tiling.storeLoops.clear();
    planStores();
    for (auto [i, output] : llvm::enumerate(graph.outputs)) {
      Box box = tiling.outputs[i];
      for (Access &access : box)
        if (auto loop = tiling.storeLoops.find(access.main); loop != tiling.storeLoops.end())
          access.main = loop->second;
      visit(output, box);
    }
    return isLegal && whole.size() == known;
  }

private:
  int add(Dim owner, int64_t size, int64_t tile) {
    owners.push_back(owner);
    tiling.sizes.push_back(size);
    tiling.tiles.push_back(tile);
    return static_cast<int>(tiling.sizes.size()) - 1;
  }

  /// The tile size of a dimension when a point can hold at most `budget` of its elements at once.
  int64_t tileFor(Dim dim, int64_t size, int64_t budget) const {
    if (whole.contains(dim))
      return size;
    auto found = multiples.find(dim);
    int64_t tile = found == multiples.end() ? 1 : found->second;
    while (tile * 2 <= budget)
      tile *= 2;
    return std::min(tile, size);
  }

  static int64_t held(int64_t size) {
    return static_cast<int64_t>(
        llvm::PowerOf2Ceil(static_cast<uint64_t>(std::max<int64_t>(size, 1))));
  }

  /// Adds loops over dimensions of the outputs if a point cannot hold its whole output tile.
  void planStores() {
    int64_t budget = capacities.tileElements;
    for (int dim = 0; dim < tiling.gridRank; ++dim)
      if (tiling.points(dim) > 1)
        budget /= held(tiling.tiles[static_cast<size_t>(dim)]);
    for (int dim = tiling.gridRank - 1; dim >= 0; --dim) {
      if (tiling.points(dim) > 1)
        continue;
      const auto at = static_cast<size_t>(dim);
      const Dim owner{-1, static_cast<unsigned>(dim)};
      const int64_t size = tiling.sizes[at];
      const int64_t tile = tileFor(owner, size, std::max<int64_t>(budget, 1));
      if (tile < size)
        tiling.storeLoops[dim] = add(owner, size, tile);
      budget /= held(std::min(tile, size));
    }
  }

  int64_t volumeOf(const Box &box) const {
    int64_t volume = 1;
    for (const Access &access : box)
      volume *= held(tiling.tileSize(access));
    return volume;
  }

  /// Whether an operand in memory is zero beyond the end of a contracted dimension, because its
  /// memory ends there, too.
  bool endsWithMemory(const Edge &edge, const Node &node, unsigned dim) const {
    return llvm::all_of(llvm::zip_equal(edge.index, graph.node(edge.source).shape()),
                        [&](auto index) {
                          auto [expr, size] = index;
                          return !expr.isFunctionOfDim(dim) ||
                                 (isa<AffineDimExpr>(expr) && size == node.sizes[dim]);
                        });
  }

  /// Divides the depth of a matmul's tile among several contracted dimensions: the pixels of a
  /// convolution's gradient, whose rows are often shorter than a tile. Takes powers of two with the
  /// fewest iterations. Only a dimension beyond which both operands are zero may have a partial
  /// tile, so that no element must be masked. Empty if there are no such tiles.
  SmallVector<int64_t> spreadDepth(const Node &node, unsigned number, int64_t budget) const {
    const size_t count = node.sizes.size() - node.rank;
    SmallVector<unsigned> open;
    for (unsigned dim = node.rank; dim < node.sizes.size(); ++dim)
      if (!llvm::is_contained(node.units, dim))
        open.push_back(dim);
    if (!isa<stablehlo::ConvolutionOp>(node.op) || open.size() < 2 ||
        llvm::any_of(open, [&](unsigned dim) { return whole.contains({number, dim}); }) ||
        llvm::any_of(node.operands,
                     [&](const Edge &edge) { return graph.node(edge.source).op != nullptr; }))
      return {};
    SmallVector<int64_t> tiles(count, 1), best;
    int64_t fewest = 0, depthOfBest = 0;
    // From the last dimension to the first, the largest tiles first.
    auto divide = [&](auto &self, size_t left, int64_t depth, int64_t iterations) -> void {
      if (left == 0) {
        // A matrix instruction needs at least 32 bytes of depth, a quarter of the budget.
        if (depth >= budget / 4 && (best.empty() || iterations < fewest ||
                                    (iterations == fewest && depth < depthOfBest))) {
          best = tiles;
          fewest = iterations;
          depthOfBest = depth;
        }
        return;
      }
      const unsigned dim = open[left - 1];
      const int64_t size = node.sizes[dim];
      const bool mayBePartial = llvm::all_of(
          node.operands, [&](const Edge &edge) { return endsWithMemory(edge, node, dim); });
      for (int64_t tile = budget / depth; tile >= 1; tile /= 2)
        if (mayBePartial || size % tile == 0) {
          tiles[dim - node.rank] = tile;
          self(self, left - 1, depth * tile,
               iterations * static_cast<int64_t>(
                                llvm::divideCeil(static_cast<uint64_t>(size), uint64_t(tile))));
        }
    };
    divide(divide, open.size(), 1, 1);
    return best;
  }

  /// Adds the loops of a node that reduces, given its result's box.
  void planReduction(const Node &node, unsigned number, const Box &box) {
    const bool product = isa<stablehlo::DotGeneralOp, stablehlo::ConvolutionOp>(node.op);
    std::optional<MatrixTypes> matrix;
    if (product)
      matrix = capacities.matrixFor(node, graph);
    int64_t budget = std::max<int64_t>(1, capacities.tileElements / volumeOf(box));
    if (product) {
      // Use a depth of 128 bytes, the line size of shared-memory tiles. Without matrix
      // instructions, each product is a separate element of the tile, so the depth is at most 8.
      budget = matrix ? 1024 / std::max<int64_t>(4, matrix->left.getIntOrFloatBitWidth())
                      : std::clamp<int64_t>(budget, 1, 8);
    }
    const SmallVector<int64_t> spread =
        matrix ? spreadDepth(node, number, budget) : SmallVector<int64_t>();
    for (auto dim = static_cast<unsigned>(node.sizes.size()); dim-- > node.rank;) {
      const Dim owner{number, dim};
      const int64_t size = node.sizes[dim];
      const bool isUnit = llvm::is_contained(node.units, dim);
      int64_t tile = isUnit ? 1 : tileFor(owner, size, budget);
      // A matrix instruction needs at least 32 bytes of depth.
      if (matrix && !whole.contains(owner) && !isUnit && dim + 1 == node.sizes.size())
        tile = std::min(budget, std::max(held(size), budget / 4));
      if (!spread.empty())
        tile = spread[dim - node.rank];
      auto found = tiling.reductionLoops.find({number, dim});
      if (found != tiling.reductionLoops.end()) {
        // This loop was already planned for another box of the same node; use the smaller tile.
        int64_t &before = tiling.tiles[static_cast<size_t>(found->second)];
        before = std::min(before, tile);
      } else if (tile != size) {
        tiling.reductionLoops[{number, dim}] = add(owner, size, tile);
      }
      // Otherwise a matmul tile has one contraction dimension, so all other contraction dimensions
      // get tile size 1. Short groups that share a scale fill a line together: wgmma reads whole
      // lines.
      const bool isGroup = matrix && capacities.machine &&
                           capacities.machine->matrixUnit == exec::MatrixUnit::wgmma &&
                           tile == size && budget % tile == 0 && tile >= 16 &&
                           !isa<stablehlo::ConvolutionOp>(node.op);
      budget = isGroup ? budget / tile : product ? 1 : std::max<int64_t>(1, budget / held(tile));
    }
    // A pipelined product is a loop even if one iteration covers its depth.
    const auto last = static_cast<unsigned>(node.sizes.size()) - 1;
    const auto hasLoop = [&](unsigned dim) {
      return tiling.reductionLoops.contains({number, dim});
    };
    if (matrix && tiling.isPipelined && !llvm::is_contained(node.units, last) &&
        llvm::none_of(llvm::seq(node.rank, last + 1), hasLoop))
      tiling.reductionLoops[{number, last}] =
          add({number, last}, node.sizes[last], node.sizes[last]);
  }

  void visit(ValueRef value, const Box &box) {
    if (!seen.insert({value.node, box}).second || graph.constantOf(value))
      return;
    const Node &node = graph.nodes[value.node];
    if (!node.op)
      return;
    if (node.sizes.size() > node.rank && !graph.isEmpty(node.operands[0].source))
      planReduction(node, value.node, box);
    const Box domain = tiling.domainBox(node, value.node, box);
    for (const Edge &edge : node.operands) {
      if (tiling.computed.contains(&edge)) {
        visitComputed(edge.source);
        continue;
      }
      OperandBox source = operandBox(edge, graph.node(edge.source), domain);
      for (int main : source.needsWhole)
        if (main >= tiling.gridRank)
          whole.insert(owners[static_cast<size_t>(main - tiling.gridRank)]);
      for (const Access &access : source.box)
        if (tiling.isLoop(access) && access.divisor != 1) {
          const Dim owner = owners[static_cast<size_t>(access.main - tiling.gridRank)];
          int64_t &multiple = multiples.try_emplace(owner, 1).first->second;
          if (multiple % access.divisor == 0)
            continue;
          multiple = std::lcm(multiple, access.divisor);
          isLegal = false;
        }
      visit(edge.source, source.box);
    }
  }

  /// Operands that are read at computed indices have no box, and so no loops, except for scalars
  /// that they use.
  void visitComputed(ValueRef value) {
    const Node &node = graph.nodes[value.node];
    if (node.rank == 0)
      return visit(value, {});
    if (!seenComputed.insert(value.node).second || graph.constantOf(value))
      return;
    for (const Edge &edge : node.operands)
      visitComputed(edge.source);
  }

  const FusionGraph &graph;
  const Capacities &capacities;
  Tiling &tiling;
  std::vector<Dim> owners; // of each loop
  std::set<std::pair<unsigned, Box>> seen;
  std::set<unsigned> seenComputed;
  bool isLegal = true;
};

} // namespace

bool Tiling::planLoops(const FusionGraph &graph, const Capacities &capacities) {
  const bool hasUnits =
      llvm::any_of(graph.nodes, [](const Node &node) { return !node.units.empty(); });
  if (capacities.tileElements == 0)
    return !hasUnits;
  LoopPlanner planner(graph, capacities, *this);
  // Each failed attempt marks a dimension as indivisible or increases the multiple of its tile.
  for (int attempt = 0; attempt < 16; ++attempt)
    if (planner.plan())
      return true;
  // Too many constraints: use no loops, and let the target report an error if it cannot hold the
  // tiles.
  sizes.truncate(static_cast<size_t>(gridRank));
  tiles.truncate(static_cast<size_t>(gridRank));
  reductionLoops.clear();
  storeLoops.clear();
  return !hasUnits;
}

} // namespace tilewright::tile
