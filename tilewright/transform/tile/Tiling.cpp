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
  return capacities;
}

Box domainBox(const Node &node, const Box &result) {
  Box box = result;
  for (int64_t size : llvm::drop_begin(node.sizes, node.rank))
    box.push_back({-1, size, 1, 0});
  return box;
}

namespace {
/// constant + scale * dimension + positionScale * position, the first two divided by `divisor`.
struct SimpleIndex {
  int dim = -1;
  int64_t scale = 0;
  int64_t constant = 0;
  int64_t divisor = 1;
  int position = -1;
  int64_t positionScale = 0;
};
} // namespace

/// `expr` in that form; nothing if it is more than that.
static std::optional<SimpleIndex> simpleIndex(AffineExpr expr) {
  SimpleIndex index;
  if (auto constant = dyn_cast<AffineConstantExpr>(expr)) {
    index.constant = constant.getValue();
    return index;
  }
  if (auto dim = dyn_cast<AffineDimExpr>(expr)) {
    index.dim = static_cast<int>(dim.getPosition());
    index.scale = 1;
    return index;
  }
  if (auto symbol = dyn_cast<AffineSymbolExpr>(expr)) {
    index.position = static_cast<int>(symbol.getPosition());
    index.positionScale = 1;
    return index;
  }
  auto binary = cast<AffineBinaryOpExpr>(expr);
  std::optional<SimpleIndex> left = simpleIndex(binary.getLHS());
  if (!left || left->divisor != 1)
    return std::nullopt;
  if (binary.getKind() == AffineExprKind::Add) {
    std::optional<SimpleIndex> right = simpleIndex(binary.getRHS());
    if (!right || right->divisor != 1 || (left->dim >= 0 && right->dim >= 0) ||
        (left->position >= 0 && right->position >= 0))
      return std::nullopt;
    left->constant += right->constant;
    if (right->dim >= 0)
      std::tie(left->dim, left->scale) = std::tie(right->dim, right->scale);
    if (right->position >= 0)
      std::tie(left->position, left->positionScale) =
          std::tie(right->position, right->positionScale);
    return left;
  }
  auto right = dyn_cast<AffineConstantExpr>(binary.getRHS());
  if (!right)
    return std::nullopt;
  if (binary.getKind() == AffineExprKind::Mul) {
    left->scale *= right.getValue();
    left->constant *= right.getValue();
    left->positionScale *= right.getValue();
    return left;
  }
  if (binary.getKind() == AffineExprKind::FloorDiv && right.getValue() > 0 && left->dim >= 0 &&
      left->scale == 1 && left->position < 0) {
    left->divisor = right.getValue();
    return left;
  }
  return std::nullopt;
}

static int64_t floorDivide(int64_t a, int64_t b) { return (a - ((a % b) + b) % b) / b; }

/// The access of a simple index, given those of the domain; nothing where two positions or two
/// divisions meet.
static std::optional<Access> accessOf(const SimpleIndex &index, const Box &domain, AffineExpr dim,
                                      AffineExpr &view) {
  Access access{-1, 1, 1, 0};
  if (index.dim >= 0) {
    access = domain[static_cast<size_t>(index.dim)];
    view = dim;
  }
  if (index.divisor != 1) {
    if (access.scale != 1 || access.divisor != 1 || access.position >= 0)
      return std::nullopt;
    const int64_t first = index.constant + access.constant;
    access.constant = floorDivide(first, index.divisor);
    const int64_t phase = first - access.constant * index.divisor;
    view = (dim + phase).floorDiv(index.divisor);
    if (access.follows()) {
      access.divisor = index.divisor;
      access.phase = phase;
    } else {
      access.size = (access.size - 1 + phase) / index.divisor + 1;
    }
    return access;
  }
  const int64_t scale = index.dim >= 0 ? index.scale : 0;
  access.constant = index.constant + scale * access.constant;
  if (index.dim >= 0)
    access.scale *= index.scale;
  access.positionScale *= scale;
  if (index.position >= 0) {
    if (access.position >= 0)
      return std::nullopt;
    access.position = index.position;
    access.positionScale = index.positionScale;
  }
  return access;
}

OperandBox operandBox(const Edge &edge, const Node &source, const Box &domain) {
  OperandBox found;
  for (auto [expr, size] : llvm::zip_equal(edge.index, source.shape())) {
    MLIRContext *context = expr.getContext();
    if (auto simple = simpleIndex(expr)) {
      AffineExpr view = getAffineConstantExpr(0, context);
      AffineExpr dim = getAffineDimExpr(static_cast<unsigned>(std::max(simple->dim, 0)), context);
      if (auto access = accessOf(*simple, domain, dim, view)) {
        found.box.push_back(*access);
        found.view.push_back(view);
        continue;
      }
    }
    // All of the operand's dimension, looked into by the view.
    SmallVector<AffineExpr> local;
    for (auto [dim, access] : llvm::enumerate(domain))
      local.push_back(getAffineDimExpr(static_cast<unsigned>(dim), context) * access.scale +
                      access.constant);
    expr.walk([&](AffineExpr inner) {
      found.isRefused |= isa<AffineSymbolExpr>(inner);
      auto dim = dyn_cast<AffineDimExpr>(inner);
      if (!dim)
        return;
      const Access &access = domain[dim.getPosition()];
      if (access.follows())
        found.needsWhole.insert(access.main);
      found.isRefused |= access.divisor != 1 || access.position >= 0;
    });
    found.box.push_back({-1, size, 1, 0});
    found.view.push_back(expr.replaceDims(local));
  }
  return found;
}

//===- What the ops ask of the tiles --------------------------------------===//

/// What is found by following boxes from the outputs to the inputs.
struct Tiling::Needs {
  /// Dimensions that must be in one piece.
  std::set<int> whole;
  /// The largest loop nest, in elements, and the widest element in it.
  int64_t elements = 1;
  int64_t elementBytes = 1;
  /// Dimensions along which memory is contiguous, with the number of elements moved so.
  std::map<int, int64_t> contiguous;
  bool hasReduction = false;
  /// An index that leaves what it looks into, where only a view could follow it.
  bool leavesView = false;
  /// Two positions that are known only later, in one index.
  bool isRefused = false;
  /// Tiles of these dimensions are multiples of a number.
  std::map<int, int64_t> multiples;
};

static int64_t bytesOf(Type type) {
  if (auto complex = dyn_cast<ComplexType>(type))
    return 2 * bytesOf(complex.getElementType());
  return std::max<int64_t>(1, type.getIntOrFloatBitWidth() / 8);
}

namespace {
/// Follows boxes through the graph.
class Walker {
public:
  Walker(const FusionGraph &graph, ArrayRef<int64_t> mainSizes, Tiling::Needs &needs)
      : graph(graph), mainSizes(mainSizes), needs(needs) {}

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
  ArrayRef<int64_t> mainSizes;
  Tiling::Needs &needs;
  std::set<std::pair<unsigned, Box>> seen;
};
} // namespace

//===- The choice ---------------------------------------------------------===//

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

bool Tiling::choose(const FusionGraph &graph, const Needs &needs, const Capacities &capacities,
                    std::string &reason) {
  const size_t count = sizes.size();
  // The legal sizes, as a set over one symbol for each dimension: all of it, or, where nothing
  // needs that, a multiple of what divides its indices.
  const PresburgerSpace space = PresburgerSpace::getSetSpace(static_cast<unsigned>(count));
  auto legal = PresburgerSet::getUniverse(space);
  auto multipleOf = [&](size_t dim) {
    auto found = needs.multiples.find(static_cast<int>(dim));
    return found == needs.multiples.end() ? int64_t(1) : found->second;
  };
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
      part.addLocalFloorDiv(tile, multipleOf(dim));
      SmallVector<int64_t> rest(count + 2, 0);
      rest[dim] = 1;
      rest[count] = -multipleOf(dim);
      part.addEquality(rest);
      options.unionInPlace(part);
    }
    legal = legal.intersect(options);
  }

  tiles.assign(sizes.begin(), sizes.end());
  for (int64_t &tile : tiles)
    tile = std::max<int64_t>(tile, 1);
  SmallVector<size_t> open;
  int64_t volume = 1;
  for (size_t dim = 0; dim < count; ++dim) {
    if (needs.whole.contains(static_cast<int>(dim)))
      continue;
    open.push_back(dim);
    volume *= sizes[dim];
  }
  if (needs.elements >= capacities.minParallelItems && volume > 1) {
    const int64_t perTile =
        std::clamp<int64_t>(capacities.l1Bytes / needs.elementBytes, 4 << 10, 16 << 10);
    const int64_t points = std::max(4 * capacities.cores, needs.elements / perTile);
    int64_t budget = std::max<int64_t>(1, volume / points);
    const int64_t granule = std::max<int64_t>(1, 8 * capacities.vectorBytes / needs.elementBytes);
    // Along these, most of the memory is contiguous.
    SmallVector<size_t> inner;
    for (size_t dim : open)
      if (auto found = needs.contiguous.find(static_cast<int>(dim));
          found != needs.contiguous.end() && found->second * 8 >= needs.elements)
        inner.push_back(dim);
    if (inner.size() > 1) {
      // A transposition: a square of whole cache lines on both sides.
      for (size_t dim : inner) {
        tiles[dim] = pickTile(sizes[dim], granule, std::lcm(granule, multipleOf(dim)));
        budget = std::max<int64_t>(1, budget / tiles[dim]);
      }
    }
    for (size_t dim : llvm::reverse(open)) {
      if (inner.size() > 1 && llvm::is_contained(inner, dim))
        continue;
      tiles[dim] =
          pickTile(sizes[dim], budget,
                   std::lcm(llvm::is_contained(inner, dim) ? granule : 1, multipleOf(dim)));
      budget = std::max<int64_t>(1, budget / tiles[dim]);
    }
  }
  if (!legal.containsPoint(presburger::getDynamicAPIntVec(tiles))) {
    reason = "no sizes of tiles are legal";
    return false;
  }
  return true;
}

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
  Walker walker(graph, tiling.sizes, needs);
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
  if (!tiling.choose(graph, needs, capacities, reason))
    return std::nullopt;
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
