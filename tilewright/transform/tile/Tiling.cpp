#include "tilewright/transform/tile/Tiling.h"

#include "tilewright/dialect/stablehlo/StablehloOps.h"

#include "mlir/Analysis/Presburger/IntegerRelation.h"
#include "mlir/Analysis/Presburger/PresburgerRelation.h"
#include "llvm/ADT/STLExtras.h"

#include <array>
#include <numeric>

using namespace mlir;
using presburger::IntegerPolyhedron;
using presburger::PresburgerSet;
using presburger::PresburgerSpace;

namespace tilewright::tile {

//===- What the ops ask of the tiles --------------------------------------===//

static int64_t bytesOf(Type type) {
  if (auto complex = dyn_cast<ComplexType>(type))
    return 2 * bytesOf(complex.getElementType());
  return std::max<int64_t>(1, type.getIntOrFloatBitWidth() / 8);
}

bool readsDim(const Edge &edge, unsigned dim) {
  return llvm::any_of(edge.index, [&](AffineExpr expr) { return expr.isFunctionOfDim(dim); });
}

namespace {
/// Follows boxes through the graph.
class Walker {
public:
  Walker(const FusionGraph &graph, const Capacities &capacities, ArrayRef<int64_t> mainSizes,
         Needs &needs)
      : graph(graph), capacities(capacities), mainSizes(mainSizes), needs(needs) {}

  void visit(ValueRef value, const Box &box) {
    if (!seen.insert({value.node, box}).second || graph.constantOf(value))
      return;
    const Node &node = graph.nodes[value.node];
    Box domain = domainBox(node, box);
    const int64_t volume = volumeOf(domain);
    // Of a product of matrices an element is used many times, so tiles are larger.
    const bool isDot = isa_and_nonnull<stablehlo::DotGeneralOp>(node.op);
    needs.elements = std::max(needs.elements, isDot ? volumeOf(box) * 4 : volume);
    for (Type type : node.elementTypes)
      needs.elementBytes = std::max(needs.elementBytes, bytesOf(type));
    if (!node.op) {
      addContiguous(box, volume);
      return;
    }
    if (isDot)
      addProduct(node, domain);
    if (node.sizes.size() > node.rank) {
      needs.hasReduction = true;
      // A point that does not decide what is reduced would do it again.
      for (int main = 0; main < static_cast<int>(mainSizes.size()); ++main)
        if (llvm::none_of(box, [&](const Access &access) { return access.main == main; }))
          needs.whole.insert(main);
    }
    for (const Edge &edge : node.operands) {
      OperandBox source = operandBox(edge, graph.node(edge.source), domain);
      needs.whole.insert(source.needsWhole.begin(), source.needsWhole.end());
      needs.isRefused |= source.isRefused;
      for (const Access &access : source.box)
        if (access.follows() && access.divisor != 1) {
          int64_t &multiple = needs.multiples.try_emplace(access.main, 1).first->second;
          multiple = std::lcm(multiple, access.divisor);
        }
      checkView(domain, source.box, source.view);
      visit(edge.source, source.box);
    }
  }

  /// A view must stay inside its tile, also where a pad or a concatenation above reads
  /// nothing of it.
  void checkView(const Box &domain, const Box &source, ArrayRef<AffineExpr> view) {
    SmallVector<std::optional<int64_t>> lowest(domain.size(), 0), highest;
    for (const Access &access : domain)
      highest.push_back(sizeOf(access) - 1);
    const auto rank = static_cast<unsigned>(domain.size());
    for (auto [access, expr] : llvm::zip_equal(source, view)) {
      if (access.follows() || isa<AffineDimExpr, AffineConstantExpr>(expr))
        continue;
      auto low = getBoundForAffineExpr(expr, rank, 0, lowest, highest, false);
      auto high = getBoundForAffineExpr(expr, rank, 0, lowest, highest, true);
      needs.leavesView |= !low || !high || *low < 0 || *high >= access.size;
    }
  }

  /// What a copy engine would bring for one side of a product.
  struct Side {
    int inner = -1; // the product's dimension that memory is contiguous along; -1 if there is none
    int64_t bits = 0;
    bool isComputed = false;
  };

  /// The one input that a side is read from, element by element, by way of ops that compute
  /// elements from elements.
  Side sideOf(const Edge &side, Type type) {
    auto dimsOf = [](ArrayRef<AffineExpr> index) {
      std::set<unsigned> dims;
      for (AffineExpr expr : index)
        expr.walk([&](AffineExpr part) {
          if (auto dim = dyn_cast<AffineDimExpr>(part))
            dims.insert(dim.getPosition());
        });
      return dims;
    };
    const std::set<unsigned> all = dimsOf(side.index);
    struct Step {
      const Node *node;
      SmallVector<AffineExpr> index;
      bool isComputed;
    };
    SmallVector<Step> open{{&graph.node(side.source), side.index, false}};
    Side found;
    // A side is a few ops; one of many that read each other many times is nobody's prologue.
    for (int steps = 0; !open.empty(); ++steps) {
      Step step = open.pop_back_val();
      if (steps > 64 || step.node->sizes.size() > step.node->rank)
        return {};
      if (!step.node->op) {
        if (dimsOf(step.index) != all)
          continue; // a scale of rows, columns or groups
        const int64_t bits = 8 * bytesOf(step.node->elementTypes[0]);
        auto dim = step.index.empty() ? AffineDimExpr(nullptr)
                                      : dyn_cast<AffineDimExpr>(step.index.back());
        if (found.inner >= 0 || !dim || step.node->shape().back() * bits % 128 != 0 ||
            (!step.isComputed && step.node->elementTypes[0] != type))
          return {};
        found = {static_cast<int>(dim.getPosition()), bits,
                 step.isComputed || step.node->elementTypes[0] != type};
        continue;
      }
      for (const Edge &edge : step.node->operands) {
        if (!edge.bounds.empty())
          return {};
        SmallVector<AffineExpr> index;
        for (AffineExpr expr : edge.index)
          index.push_back(expr.replaceDims(step.index));
        const Node &source = graph.node(edge.source);
        const bool isNew = llvm::none_of(
            open, [&](const Step &other) { return other.node == &source && other.index == index; });
        if (isNew)
          open.push_back({&source, index, true});
      }
    }
    return found;
  }

  void addProduct(const Node &node, const Box &domain) {
    if (auto types = capacities.matrixFor(node, graph)) {
      int64_t depth = 1;
      for (int64_t size : llvm::drop_begin(node.sizes, node.rank))
        depth *= size;
      const Side left = sideOf(node.operands[0], types->left);
      const Side right = sideOf(node.operands[1], types->right);
      const int kept = right.isComputed ? left.inner : right.inner;
      needs.product = {depth, *types,
                       left.inner >= 0 && right.inner >= 0 && !types->isTf32 &&
                           !(left.isComputed && right.isComputed),
                       kept >= 0 && kept < static_cast<int>(node.rank)};
      needs.product->leftComputed = left.isComputed;
      needs.product->rightComputed = right.isComputed;
      needs.product->computedBits = left.isComputed ? left.bits : right.bits;
    }
    for (unsigned dim = 0; dim < node.rank; ++dim) {
      const Access &access = domain[dim];
      if (!access.follows() || access.scale != 1 || access.divisor != 1)
        continue;
      const bool left = readsDim(node.operands[0], dim), right = readsDim(node.operands[1], dim);
      if (left && !right)
        needs.rows.insert(access.main);
      else if (right && !left)
        needs.columns.insert(access.main);
    }
  }

  void addContiguous(const Box &box, int64_t volume) {
    if (!box.empty() && box.back().follows() && std::abs(box.back().scale) == 1)
      needs.contiguous[box.back().main] += volume;
  }

  int64_t volumeOf(const Box &box) const {
    int64_t volume = 1;
    for (const Access &access : box)
      volume *= sizeOf(access);
    return volume;
  }
  int64_t sizeOf(const Access &access) const {
    return access.follows()
               ? (mainSizes[static_cast<size_t>(access.main)] - 1 + access.phase) / access.divisor +
                     1
               : access.size;
  }

private:
  const FusionGraph &graph;
  const Capacities &capacities;
  ArrayRef<int64_t> mainSizes;
  Needs &needs;
  std::set<std::pair<unsigned, Box>> seen;
};
} // namespace

//===- The tiling ---------------------------------------------------------===//

std::optional<Tiling> Tiling::create(const FusionGraph &graph, const Capacities &capacities,
                                     std::string &reason) {
  Tiling tiling;
  // The largest output is the domain; of equals, the one with the most dimensions.
  auto rankOf = [&](ValueRef value) {
    int64_t elements = 1;
    for (int64_t size : graph.node(value).shape())
      elements *= size;
    return std::make_pair(elements, graph.node(value).rank);
  };
  ValueRef main = graph.outputs.front();
  for (ValueRef output : graph.outputs)
    if (rankOf(output) > rankOf(main))
      main = output;
  const Node &domain = graph.node(main);
  tiling.sizes.assign(domain.shape().begin(), domain.shape().end());

  Needs needs;
  Walker walker(graph, capacities, tiling.sizes, needs);
  for (ValueRef output : graph.outputs) {
    const Node &node = graph.node(output);
    Box box;
    std::set<int> used;
    for (unsigned dim = 0; dim < node.rank; ++dim) {
      int found = -1;
      for (unsigned candidate = 0; candidate < domain.rank && found < 0; ++candidate)
        if (domain.classes[candidate] == node.classes[dim] &&
            !used.contains(static_cast<int>(candidate)))
          found = static_cast<int>(candidate);
      // Where dimensions are alike, the same place goes first.
      if (dim < domain.rank && domain.classes[dim] == node.classes[dim] &&
          !used.contains(static_cast<int>(dim)))
        found = static_cast<int>(dim);
      if (found >= 0) {
        used.insert(found);
        box.push_back({found, node.sizes[dim], 1, 0});
      } else {
        box.push_back({-1, node.sizes[dim], 1, 0});
      }
    }
    // Points that differ elsewhere would all write this output.
    for (unsigned dim = 0; dim < domain.rank; ++dim)
      if (!used.contains(static_cast<int>(dim)))
        needs.whole.insert(static_cast<int>(dim));
    for (Access &access : box)
      if (access.follows())
        access.size = 0; // the tile's, not its own
    tiling.outputs.push_back(box);
    walker.visit(output, box);
    walker.addContiguous(box, walker.volumeOf(box));
  }
  if (needs.isRefused) {
    reason = "an index depends on two positions that only the run knows";
    return std::nullopt;
  }
  for (const RunPosition &position : graph.positions)
    tiling.positionLimits.push_back(position.limit);
  if (needs.leavesView) {
    reason = "a reshape cuts across dimensions that are padded or joined";
    return std::nullopt;
  }
  tiling.gridRank = static_cast<int>(tiling.sizes.size());
  if (!tiling.choose(needs, capacities, reason))
    return std::nullopt;
  tiling.planLoops(graph, capacities);
  return tiling;
}

bool Tiling::isInside(const Access &access, int64_t size, bool keptOnly) const {
  // Points and elements of a tile as variables; what is asked is whether an index
  // outside can be reached.
  const auto main = static_cast<size_t>(std::max(access.main, 0));
  const int64_t tile = tileSize(access), count = access.follows() ? points(access.main) : 1;
  const int64_t limit =
      access.position >= 0 ? positionLimits[static_cast<size_t>(access.position)] : 0;
  for (const bool low : {true, false}) {
    IntegerPolyhedron outside(PresburgerSpace::getSetSpace(3)); // point, element, position
    for (auto [var, bound] : llvm::enumerate(std::array{count - 1, tile - 1, limit})) {
      outside.addBound(presburger::BoundType::LB, static_cast<unsigned>(var), 0);
      outside.addBound(presburger::BoundType::UB, static_cast<unsigned>(var), bound);
    }
    if (access.follows() && keptOnly && access.divisor == 1)
      outside.addInequality({-tile, -1, 0, sizes[main] - 1});
    const int64_t a = pointStride(access), b = access.scale, c = access.positionScale;
    if (low)
      outside.addInequality({-a, -b, -c, -1 - access.constant});
    else
      outside.addInequality({a, b, c, access.constant - size});
    if (!outside.isIntegerEmpty())
      return false;
  }
  return true;
}

} // namespace tilewright::tile
