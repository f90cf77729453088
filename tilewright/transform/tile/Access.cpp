// Maps the box of a result to the boxes of its operands.
#include "tilewright/transform/tile/Tiling.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace tilewright::tile {

Box domainBox(const Node &node, const Box &result) {
  Box box = result;
  for (unsigned dim = node.rank; dim < node.sizes.size(); ++dim)
    box.push_back({-1, llvm::is_contained(node.units, dim) ? 1 : node.sizes[dim], 1, 0});
  return box;
}

namespace {
/// An index of the form (constant + scale * dimension) / divisor + positionScale * position +
/// unitScale * unit.
struct SimpleIndex {
  int dim = -1;
  int64_t scale = 0;
  int64_t constant = 0;
  int64_t divisor = 1;
  int position = -1;
  int64_t positionScale = 0;
  int unit = -1;
  int64_t unitScale = 0;
};
} // namespace

/// `expr` as a SimpleIndex; nullopt if it does not have that form.
static std::optional<SimpleIndex> simpleIndex(AffineExpr expr, ArrayRef<unsigned> units) {
  SimpleIndex index;
  if (auto constant = dyn_cast<AffineConstantExpr>(expr)) {
    index.constant = constant.getValue();
    return index;
  }
  if (auto dim = dyn_cast<AffineDimExpr>(expr)) {
    const bool isUnit = llvm::is_contained(units, dim.getPosition());
    (isUnit ? index.unit : index.dim) = static_cast<int>(dim.getPosition());
    (isUnit ? index.unitScale : index.scale) = 1;
    return index;
  }
  if (auto symbol = dyn_cast<AffineSymbolExpr>(expr)) {
    index.position = static_cast<int>(symbol.getPosition());
    index.positionScale = 1;
    return index;
  }
  auto binary = cast<AffineBinaryOpExpr>(expr);
  std::optional<SimpleIndex> left = simpleIndex(binary.getLHS(), units);
  if (!left)
    return std::nullopt;
  if (left->divisor != 1) {
    // x / d + c = (x + c d) / d.
    auto constant = dyn_cast<AffineConstantExpr>(binary.getRHS());
    if (binary.getKind() != AffineExprKind::Add || !constant)
      return std::nullopt;
    left->constant += constant.getValue() * left->divisor;
    return left;
  }
  if (binary.getKind() == AffineExprKind::Add) {
    std::optional<SimpleIndex> right = simpleIndex(binary.getRHS(), units);
    if (!right || right->divisor != 1 || (left->dim >= 0 && right->dim >= 0) ||
        (left->position >= 0 && right->position >= 0) || (left->unit >= 0 && right->unit >= 0))
      return std::nullopt;
    left->constant += right->constant;
    if (right->dim >= 0)
      std::tie(left->dim, left->scale) = std::tie(right->dim, right->scale);
    if (right->position >= 0)
      std::tie(left->position, left->positionScale) =
          std::tie(right->position, right->positionScale);
    if (right->unit >= 0)
      std::tie(left->unit, left->unitScale) = std::tie(right->unit, right->unitScale);
    return left;
  }
  auto right = dyn_cast<AffineConstantExpr>(binary.getRHS());
  if (!right)
    return std::nullopt;
  if (binary.getKind() == AffineExprKind::Mul) {
    left->scale *= right.getValue();
    left->constant *= right.getValue();
    left->positionScale *= right.getValue();
    left->unitScale *= right.getValue();
    return left;
  }
  if (binary.getKind() == AffineExprKind::FloorDiv && right.getValue() > 0 && left->dim >= 0 &&
      left->scale == 1 && left->position < 0 && left->unit < 0) {
    left->divisor = right.getValue();
    return left;
  }
  return std::nullopt;
}

static int64_t floorDivide(int64_t a, int64_t b) { return (a - ((a % b) + b) % b) / b; }

/// The access of a simple index, given the accesses of the domain. Returns nullopt if the index
/// would add two runtime positions or two units, or divide an access that is scaled, already
/// divided, or has one of those.
static std::optional<Access> accessOf(const SimpleIndex &index, const Box &domain, AffineExpr dim,
                                      AffineExpr &view) {
  Access access{-1, 1, 1, 0};
  if (index.dim >= 0) {
    access = domain[static_cast<size_t>(index.dim)];
    view = dim;
  }
  if (index.divisor != 1) {
    if (access.scale != 1 || access.divisor != 1 || access.position >= 0 || access.unit >= 0)
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
  access.unitScale *= scale;
  if (index.unit >= 0) {
    const Access &unit = domain[static_cast<size_t>(index.unit)];
    if (access.unit >= 0 || unit.unit >= 0 || unit.position >= 0 || unit.divisor != 1 ||
        (!unit.follows() && unit.size != 1))
      return std::nullopt;
    access.constant += index.unitScale * unit.constant;
    if (unit.follows())
      std::tie(access.unit, access.unitScale) = std::pair(unit.main, index.unitScale * unit.scale);
  }
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
    if (auto simple = simpleIndex(expr, edge.units)) {
      // A unit by itself is a dimension like any other.
      if (simple->dim < 0 && simple->unit >= 0) {
        std::tie(simple->dim, simple->scale) = std::pair(simple->unit, simple->unitScale);
        simple->unit = -1;
      }
      AffineExpr view = getAffineConstantExpr(0, context);
      AffineExpr dim = getAffineDimExpr(static_cast<unsigned>(std::max(simple->dim, 0)), context);
      if (auto access = accessOf(*simple, domain, dim, view)) {
        found.box.push_back(*access);
        found.view.push_back(view);
        continue;
      }
    }
    // Read the operand's whole dimension; the view then selects the elements.
    SmallVector<AffineExpr> local;
    for (auto [dim, access] : llvm::enumerate(domain))
      local.push_back(getAffineDimExpr(static_cast<unsigned>(dim), context) * access.scale +
                      access.constant);
    expr.walk([&](AffineExpr inner) {
      found.isImpossible |= isa<AffineSymbolExpr>(inner);
      auto dim = dyn_cast<AffineDimExpr>(inner);
      if (!dim)
        return;
      const Access &access = domain[dim.getPosition()];
      if (access.follows())
        found.needsWhole.insert(access.main);
      found.isImpossible |= access.divisor != 1 || access.position >= 0 || access.unit >= 0 ||
                            llvm::is_contained(edge.units, dim.getPosition());
    });
    found.box.push_back({-1, size, 1, 0});
    found.view.push_back(expr.replaceDims(local));
  }
  return found;
}

} // namespace tilewright::tile
