#include "tilewright/transform/tile/Tiling.h"

#include "tilewright/dialect/stablehlo/StablehloOps.h"
#include "tilewright/transform/ElementBytes.h"

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

//===- Constraints on tiles -----------------------------------------------===//

bool readsDim(const Edge &edge, unsigned dim) {
  return llvm::any_of(edge.index, [&](AffineExpr expr) { return expr.isFunctionOfDim(dim); });
}

bool isMatmul(const Node &node) {
  if (!isa<stablehlo::ConvolutionOp>(node.op))
    return true;
  bool hasRows = false, hasColumns = false, hasDepth = false;
  for (unsigned dim = 0; dim < node.sizes.size(); ++dim) {
    if (llvm::is_contained(node.units, dim))
      continue;
    const bool left = readsDim(node.operands[0], dim), right = readsDim(node.operands[1], dim);
    hasDepth |= dim >= node.rank;
    hasRows |= dim < node.rank && left && !right;
    hasColumns |= dim < node.rank && right && !left;
  }
  return hasRows && hasColumns && hasDepth;
}

namespace {
/// Propagates boxes from the outputs to the inputs. Collects constraints on the tiles, and the
/// operands that no box describes.
class Walker {
public:
  Walker(const FusionGraph &graph, const Capacities &capacities, ArrayRef<int64_t> mainSizes,
         Needs &needs, std::set<const Edge *> &computed)
      : graph(graph), capacities(capacities), mainSizes(mainSizes), needs(needs),
        computed(computed) {}

  void visit(ValueRef value, const Box &box) {
    if (!seen.insert({value.node, box}).second || graph.constantOf(value))
      return;
    const Node &node = graph.nodes[value.node];
    Box domain = domainBox(node, box);
    const int64_t volume = volumeOf(domain);
    // A matmul reuses each element many times, so its tiles are larger.
    const bool isDot = isa_and_nonnull<stablehlo::DotGeneralOp, stablehlo::ConvolutionOp>(node.op);
    needs.elements = std::max(needs.elements, isDot ? volumeOf(box) * 4 : volume);
    for (Type type : node.elementTypes)
      needs.elementBytes = std::max(needs.elementBytes, elementBytes(type));
    if (!node.op) {
      addContiguous(box, volume);
      return;
    }
    if (isDot)
      addProduct(node, domain);
    for (unsigned dim : node.units)
      if (dim < node.rank && box[dim].follows())
        needs.units.insert(box[dim].main);
    if (node.sizes.size() > node.rank) {
      needs.hasReduction = true;
      // If a grid dimension does not appear in the reduction's box, every point along it would
      // repeat the reduction, so do not tile that dimension.
      for (int main = 0; main < static_cast<int>(mainSizes.size()); ++main)
        if (llvm::none_of(box, [&](const Access &access) { return access.main == main; }))
          needs.whole.insert(main);
    }
    for (const Edge &edge : node.operands)
      visitOperand(node, edge, domain);
  }

  void visitOperand(const Node &node, const Edge &edge, const Box &domain) {
    OperandBox source = operandBox(edge, graph.node(edge.source), domain);
    const bool hasBox = !source.isImpossible && !leavesTile(domain, source);
    // The table of a gather is read at computed indices in any case. The box only says along which
    // dimension memory is contiguous.
    if (isa<stablehlo::GatherOp>(node.op) && &edge == node.operands.begin()) {
      needs.isRefused |= !canCompute(edge.source);
      computed.insert(&edge);
      visitComputed(edge.source);
      if (hasBox && source.needsWhole.empty() && !graph.node(edge.source).op)
        visit(edge.source, source.box);
      return;
    }
    if (computed.contains(&edge) || !hasBox || isTooLarge(edge, source)) {
      if (!isa<stablehlo::DotGeneralOp, stablehlo::ConvolutionOp>(node.op) &&
          canCompute(edge.source)) {
        computed.insert(&edge);
        return visitComputed(edge.source);
      }
      if (!hasBox) {
        needs.isRefused = true;
        return;
      }
    }
    needs.whole.insert(source.needsWhole.begin(), source.needsWhole.end());
    for (const Access &access : source.box)
      if (access.follows() && access.divisor != 1) {
        int64_t &multiple = needs.multiples.try_emplace(access.main, 1).first->second;
        multiple = std::lcm(multiple, access.divisor);
      }
    visit(edge.source, source.box);
  }

  /// Whether the view of an operand may exceed the operand's tile. It must not, even for elements
  /// that the pad or concatenation using the view ignores.
  bool leavesTile(const Box &domain, const OperandBox &source) const {
    SmallVector<std::optional<int64_t>> lowest(domain.size(), 0), highest;
    for (const Access &access : domain)
      highest.push_back(sizeOf(access) - 1);
    const auto rank = static_cast<unsigned>(domain.size());
    for (auto [access, expr] : llvm::zip_equal(source.box, source.view)) {
      // Even a plain dimension can exceed the tile, if the tile is the operand's whole dimension.
      if (access.follows() || isa<AffineConstantExpr>(expr))
        continue;
      auto low = getBoundForAffineExpr(expr, rank, 0, lowest, highest, false);
      auto high = getBoundForAffineExpr(expr, rank, 0, lowest, highest, true);
      if (!low || !high || *low < 0 || *high >= access.size)
        return true;
    }
    return false;
  }

  /// Whether a point could not hold the smallest legal tile if it read the operand by boxes.
  bool isTooLarge(const Edge &edge, const OperandBox &source) const {
    auto divides = [](AffineExpr expr) {
      bool found = false;
      expr.walk([&](AffineExpr part) {
        found |=
            part.getKind() == AffineExprKind::FloorDiv || part.getKind() == AffineExprKind::Mod;
      });
      return found;
    };
    if (capacities.tileElements == 0 ||
        (source.needsWhole.empty() && llvm::none_of(edge.index, divides)))
      return false;
    std::map<int, int64_t> smallest = needs.multiples;
    for (const Access &access : source.box)
      if (access.follows())
        smallest[access.main] =
            std::lcm(std::max<int64_t>(smallest[access.main], 1), access.divisor);
    for (int main : needs.whole)
      smallest[main] = mainSizes[static_cast<size_t>(main)];
    for (int main : source.needsWhole)
      smallest[main] = mainSizes[static_cast<size_t>(main)];
    int64_t volume = 1;
    for (auto [main, size] : smallest)
      volume *= std::clamp<int64_t>(size, 1, capacities.tileElements + 1);
    return volume > capacities.tileElements;
  }

  /// Whether single elements of a value can be computed at any index: it contains no reduction,
  /// except of scalars.
  bool canCompute(ValueRef value) {
    const Node &node = graph.nodes[value.node];
    if (!node.op || node.rank == 0 || graph.constantOf(value))
      return true;
    auto [found, isNew] = computable.try_emplace(value.node, false);
    if (!isNew)
      return found->second;
    const bool can = !node.reduces && llvm::all_of(node.operands, [&](const Edge &edge) {
      return canCompute(edge.source);
    });
    return computable[value.node] = can;
  }

  /// Visits a value whose elements are computed one by one, so that it has no box.
  void visitComputed(ValueRef value) {
    const Node &node = graph.nodes[value.node];
    if (node.rank == 0)
      return visit(value, {});
    if (!seenComputed.insert(value.node).second || graph.constantOf(value))
      return;
    for (Type type : node.elementTypes)
      needs.elementBytes = std::max(needs.elementBytes, elementBytes(type));
    for (const Edge &edge : node.operands)
      visitComputed(edge.source);
  }

  /// How the copy engine would load one operand of a matmul.
  struct OperandLoad {
    int inner = -1; // the contiguous dimension of memory, as a dimension of the product; -1: none
    int64_t bits = 0;
    bool hasPrologue = false;
  };

  /// Finds the single input that a matmul operand is computed from by elementwise ops only.
  OperandLoad findOperandLoad(const Edge &operand, Type type) {
    auto dimsOf = [](ArrayRef<AffineExpr> index) {
      std::set<unsigned> dims;
      for (AffineExpr expr : index)
        expr.walk([&](AffineExpr part) {
          if (auto dim = dyn_cast<AffineDimExpr>(part))
            dims.insert(dim.getPosition());
        });
      return dims;
    };
    const std::set<unsigned> all = dimsOf(operand.index);
    struct WorkItem {
      const Node *node;
      SmallVector<AffineExpr> index;
      bool hasPrologue;
    };
    SmallVector<WorkItem> open{{&graph.node(operand.source), operand.index, false}};
    OperandLoad found;
    // A prologue has a few ops. Give up after 64 steps, because the number of paths may be
    // exponential.
    for (int steps = 0; !open.empty(); ++steps) {
      WorkItem item = open.pop_back_val();
      if (steps > 64 || item.node->sizes.size() > item.node->rank ||
          isa_and_nonnull<stablehlo::GatherOp>(item.node->op))
        return {};
      if (!item.node->op) {
        if (dimsOf(item.index) != all)
          continue; // a scale of rows, columns or groups
        const int64_t bits = 8 * elementBytes(item.node->elementTypes[0]);
        auto dim = item.index.empty() ? AffineDimExpr(nullptr)
                                      : dyn_cast<AffineDimExpr>(item.index.back());
        if (found.inner >= 0 || !dim || item.node->shape().back() * bits % 128 != 0 ||
            (!item.hasPrologue && item.node->elementTypes[0] != type))
          return {};
        found = {static_cast<int>(dim.getPosition()), bits,
                 item.hasPrologue || item.node->elementTypes[0] != type};
        continue;
      }
      for (const Edge &edge : item.node->operands) {
        if (!edge.bounds.empty())
          return {};
        SmallVector<AffineExpr> index;
        for (AffineExpr expr : edge.index)
          index.push_back(expr.replaceDims(item.index));
        const Node &source = graph.node(edge.source);
        const bool isNew = llvm::none_of(open, [&](const WorkItem &other) {
          return other.node == &source && other.index == index;
        });
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
      const OperandLoad left = findOperandLoad(node.operands[0], types->left);
      const OperandLoad right = findOperandLoad(node.operands[1], types->right);
      const int kept = right.hasPrologue ? left.inner : right.inner;
      const int rank = static_cast<int>(node.rank);
      // A role of its own computes a second operand for wgmma, which reads it from shared memory.
      const bool isOne = !(left.hasPrologue && right.hasPrologue);
      const bool hasComputeRole = capacities.machine &&
                                  capacities.machine->matrixUnit == exec::MatrixUnit::wgmma &&
                                  types->right.getIntOrFloatBitWidth() == 16;
      bool canCopy = left.inner >= 0 && right.inner >= 0 && (isOne || hasComputeRole);
      // Only a copy rounds operands to tf32, and the instructions require both operands to be
      // contiguous along K.
      if (types->isTf32)
        canCopy &=
            left.inner >= rank && right.inner >= rank && !left.hasPrologue && !right.hasPrologue;
      const bool depthInner = left.inner >= rank && right.inner >= rank;
      needs.product = {depth, *types, canCopy, depthInner, kept >= 0 && kept < rank};
      needs.product->leftHasPrologue = left.hasPrologue;
      needs.product->rightHasPrologue = right.hasPrologue;
      needs.product->leftBits = left.bits;
      needs.product->rightBits = right.bits;
      needs.product->spreadsRows = isa<stablehlo::ConvolutionOp>(node.op);
      needs.product->hint = exec::hintOf(node.op);
    }
    // A depthwise convolution multiplies elements, like an elementwise op.
    if (!isMatmul(node))
      return;
    for (unsigned dim = 0; dim < node.rank; ++dim) {
      const Access &access = domain[dim];
      if (!access.follows() || access.scale != 1 || access.divisor != 1 ||
          llvm::is_contained(node.units, dim))
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
  std::set<const Edge *> &computed;
  std::set<std::pair<unsigned, Box>> seen;
  std::set<unsigned> seenComputed;
  std::map<unsigned, bool> computable; // by node
};
} // namespace

//===- The tiling ---------------------------------------------------------===//

std::optional<Tiling> Tiling::create(const FusionGraph &graph, const Capacities &capacities,
                                     std::string &reason) {
  Tiling tiling;
  // The largest output defines the domain; among equally large outputs, the one with the highest
  // rank.
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
  Walker walker(graph, capacities, tiling.sizes, needs, tiling.computed);
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
      // If several dimensions belong to the same class, prefer the one at the same position.
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
    // Do not tile a dimension that this output does not use: all points along it would write the
    // same elements.
    for (unsigned dim = 0; dim < domain.rank; ++dim)
      if (!used.contains(static_cast<int>(dim)))
        needs.whole.insert(static_cast<int>(dim));
    for (Access &access : box)
      if (access.follows())
        access.size = 0; // the tile's size, not the dimension's
    tiling.outputs.push_back(box);
    walker.visit(output, box);
    walker.addContiguous(box, walker.volumeOf(box));
  }
  if (needs.isRefused) {
    reason = "the result of a reduction or product is read at indices that no box describes";
    return std::nullopt;
  }
  for (const RunPosition &position : graph.positions)
    tiling.positionLimits.push_back(position.limit);
  tiling.gridRank = static_cast<int>(tiling.sizes.size());
  if (!tiling.choose(needs, capacities, reason))
    return std::nullopt;
  // If copies load the operands of a product, its warps hold the accumulator in registers: a tile
  // of up to 128x256 in each CTA of a cluster, which its epilogue can hold as well.
  Capacities held = capacities;
  if (capacities.machine && needs.product && needs.product->canCopy && capacities.tileElements) {
    const pipeline::Machine &machine = *capacities.machine;
    const bool usesWgmma = machine.matrixUnit == exec::MatrixUnit::wgmma;
    const bool hasLoop =
        tiling.isPipelined ||
        needs.product->depth * needs.product->types.left.getIntOrFloatBitWidth() > 1024;
    if (usesWgmma || hasLoop)
      held.tileElements =
          std::max<int64_t>(held.tileElements, 128 * 256 *
                                                   (usesWgmma && hasLoop         ? machine.cluster
                                                    : pipeline::hasMfma(machine) ? 2
                                                                                 : 1));
  }
  if (!tiling.planLoops(graph, held)) {
    reason = "the window of a convolution cannot become a loop";
    return std::nullopt;
  }
  return tiling;
}

bool Tiling::isInside(const Access &access, int64_t size, bool keptOnly) const {
  // Tests whether the polyhedron of out-of-bounds indices is empty. Its variables are the point of
  // the grid, the element of the tile, the runtime position and the unit dimension's coordinate.
  const auto main = static_cast<size_t>(std::max(access.main, 0));
  const int64_t tile = tileSize(access), count = access.follows() ? points(access.main) : 1;
  const int64_t limit =
      access.position >= 0 ? positionLimits[static_cast<size_t>(access.position)] : 0;
  const int64_t lastUnit = access.unit >= 0 ? sizes[static_cast<size_t>(access.unit)] - 1 : 0;
  for (const bool low : {true, false}) {
    IntegerPolyhedron outside(PresburgerSpace::getSetSpace(4)); // point, element, position, unit
    for (auto [var, bound] : llvm::enumerate(std::array{count - 1, tile - 1, limit, lastUnit})) {
      outside.addBound(presburger::BoundType::LB, static_cast<unsigned>(var), 0);
      outside.addBound(presburger::BoundType::UB, static_cast<unsigned>(var), bound);
    }
    if (access.follows() && keptOnly && access.divisor == 1)
      outside.addInequality({-tile, -1, 0, 0, sizes[main] - 1});
    const int64_t a = pointStride(access), b = access.scale, c = access.positionScale,
                  d = access.unitScale;
    if (low)
      outside.addInequality({-a, -b, -c, -d, -1 - access.constant});
    else
      outside.addInequality({a, b, c, d, access.constant - size});
    if (!outside.isIntegerEmpty())
      return false;
  }
  return true;
}

} // namespace tilewright::tile
