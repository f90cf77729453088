// The checker of certificates: each op by itself, from the definitions. No search, no candidates,
// no costs.
#include "tilewright/transform/tile/solve/Certificate.h"

#include "tilewright/dialect/sm/SmDialect.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/STLExtras.h"

#include <set>

using namespace mlir;
using namespace tilewright;
using namespace tilewright::solve;
using sm::Axis, sm::Layout;

static RankedTensorType tileType(Value value) {
  return dyn_cast<RankedTensorType>(value.getType());
}

namespace {

/// The indices that a thread's registers hold.
class Holdings {
public:
  explicit Holdings(const Layout &layout) : forms(layout.indexForms()) {}
  int64_t at(size_t dim, int64_t reg, int64_t lane, int64_t warp) const {
    int64_t index = forms[dim].registers[reg];
    for (const sm::IndexTerm &term : forms[dim].terms)
      if (term.axis == Axis::lane || term.axis == Axis::warp)
        index += (term.axis == Axis::lane ? lane : warp) / term.stride % term.size * term.weight;
    return index;
  }

private:
  llvm::SmallVector<sm::IndexForm> forms;
};

class Checker {
public:
  explicit Checker(const Certificate &certificate) : certificate(certificate) {}

  /// What is wrong with the op, or "".
  std::string check(Operation *op) {
    for (Value result : op->getResults())
      if (std::string problem = checkValue(result); !problem.empty())
        return problem;
    for (OpOperand &operand : op->getOpOperands())
      if (auto found = certificate.uses.find(&operand); found != certificate.uses.end())
        if (std::string problem = checkLayout(tileType(operand.get()), found->second);
            !problem.empty())
          return problem;
    // What is computed again for each use has no layout here; the verifier of sm.kernel sees it
    // afterwards.
    if (op->getNumResults() != 0 && llvm::none_of(op->getResults(), [&](Value result) {
          return certificate.values.contains(result);
        }))
      return "";
    if (isa<tile::MapOp, tile::GatherOp, tile::ScanOp>(op))
      return checkEqual(op);
    if (auto view = dyn_cast<tile::ViewOp>(op))
      return checkView(view);
    if (auto reduce = dyn_cast<tile::ReduceOp>(op))
      return checkReduce(reduce);
    if (auto dot = dyn_cast<tile::DotOp>(op))
      return checkDot(dot);
    if (auto loop = dyn_cast<scf::ForOp>(op))
      return checkLoop(loop);
    if (auto store = dyn_cast<tile::StoreOp>(op))
      return use(store.getTileMutable()) ? "" : "stores a tile that no layout is needed of";
    return "";
  }

private:
  const Layout *value(Value tile) const {
    auto found = certificate.values.find(tile);
    return found == certificate.values.end() ? nullptr : &found->second;
  }
  const Layout *use(OpOperand &operand) const {
    auto found = certificate.uses.find(&operand);
    return found == certificate.uses.end() ? nullptr : &found->second;
  }

  std::string checkValue(Value tile) const {
    const Layout *layout = value(tile);
    return layout ? checkLayout(tileType(tile), *layout) : "";
  }

  /// Whether the layout is one of this tile in registers of this machine.
  std::string checkLayout(RankedTensorType type, const Layout &layout) const {
    if (std::string problem = layout.problem(); !problem.empty())
      return problem;
    if (layout.rank() != type.getRank())
      return "has a layout of another rank";
    for (int64_t dim = 0; dim < layout.rank(); ++dim)
      if (layout.cover(dim) < type.getDimSize(dim))
        return "has elements that its layout does not cover: " + layout.str();
    for (Axis axis : {Axis::reg, Axis::lane, Axis::warp})
      if (!layout.isDense(axis))
        return "has a layout with gaps: " + layout.str();
    if (layout.extent(Axis::lane) != certificate.lanes ||
        layout.extent(Axis::warp) != certificate.warps || layout.extent(Axis::group) != 1 ||
        layout.extent(Axis::cta) != 1 || layout.extent(Axis::offset) != 1 ||
        !layout.getFlips().empty())
      return "has a layout of another machine: " + layout.str();
    return "";
  }

  std::string checkEqual(Operation *op) const {
    const Layout *first = value(op->getResult(0));
    for (Value result : op->getResults())
      if (!value(result) || !value(result)->sameAs(*first))
        return "has results of different layouts";
    for (OpOperand &operand : op->getOpOperands())
      if (tileType(operand.get()) && (!use(operand) || !use(operand)->sameAs(*first)))
        return "reads a tile in another layout than it computes in";
    return "";
  }

  std::string checkView(tile::ViewOp view) const {
    if (certificate.moved.contains(view))
      return ""; // a conversion does it, whatever the layouts
    std::optional<sm::ViewMap> map = sm::viewMapOf(view.getMap(), view.getType().getShape(),
                                                   tileType(view.getSource()).getShape());
    const Layout *source = use(view.getSourceMutable());
    if (!map || !source || !sm::registersOfView(*value(view), *source, *map))
      return "needs elements that its threads do not have";
    return "";
  }

  /// Every thread has a place for each element that it contributes to, and no other.
  std::string checkReduce(tile::ReduceOp reduce) const {
    const Layout *input = use(*reduce.getInputsMutable().begin()),
                 *result = value(reduce.getResult(0));
    for (OpOperand &operand : reduce.getInputsMutable())
      if (!input || !use(operand) || !use(operand)->sameAs(*input))
        return "combines tiles of different layouts";
    for (Value other : reduce.getResults())
      if (!value(other) || !value(other)->sameAs(*result))
        return "has results of different layouts";
    auto type = tileType(reduce.getInputs().front());
    sm::ViewMap projection;
    projection.resultShape.assign(type.getShape().begin(), type.getShape().end());
    for (int64_t dim = 0; dim < type.getRank(); ++dim)
      if (!llvm::is_contained(reduce.getDims(), dim)) {
        projection.sourceShape.push_back(type.getDimSize(dim));
        projection.source.push_back({0, {{dim, 1, std::max<int64_t>(type.getDimSize(dim), 1), 1}}});
      }
    std::optional<SmallVector<int64_t>> places = sm::registersOfView(*input, *result, projection);
    if (!places)
      return "has results that are not in the threads that hold their elements";
    std::set<int64_t> used(places->begin(), places->end());
    used.erase(-1);
    // Registers whose elements all lie outside of the tile hold nothing.
    const Holdings held(*result);
    for (int64_t reg = 0; reg < result->extent(Axis::reg); ++reg) {
      if (used.contains(reg))
        continue;
      for (int64_t warp = 0; warp < certificate.warps; ++warp)
        for (int64_t lane = 0; lane < certificate.lanes; ++lane) {
          bool inside = true;
          for (size_t dim = 0; dim < projection.sourceShape.size(); ++dim)
            inside &= held.at(dim, reg, lane, warp) < projection.sourceShape[dim];
          if (inside)
            return "has a register for a result that no element is combined into";
        }
    }
    return "";
  }

  /// The fragments of mma.sync, register by register, as PTX's tables give them.
  std::string checkDot(tile::DotOp dot) const {
    const Layout *lhs = use(dot.getLhsMutable()), *rhs = use(dot.getRhsMutable()),
                 *acc = use(dot.getAccMutable()), *result = value(dot);
    if (!lhs || !rhs || !acc || !acc->sameAs(*result))
      return "has operands without layouts, or an accumulator that changes its own";
    Type element = tileType(dot.getLhs()).getElementType();
    const int64_t bits = element.getIntOrFloatBitWidth();
    const bool wide = bits == 64;
    const int64_t packed = wide ? 1 : 32 / bits;
    const int64_t perA = wide ? 1 : 4 * packed, perB = wide ? 1 : 2 * packed, perC = wide ? 2 : 4;
    const size_t row = static_cast<size_t>(tileType(dot).getRank()) - 2, column = row + 1;
    // Offsets inside an instruction's block, and the blocks' origins in each warp.
    using Origins = std::vector<std::set<int64_t>>;
    std::string problem;
    auto inspect = [&](const Layout &layout, int64_t perBlock, auto expected, Origins &rows,
                       Origins &columns, llvm::StringRef what) {
      const Holdings held(layout);
      rows.resize(certificate.warps), columns.resize(certificate.warps);
      if (layout.extent(Axis::reg) % perBlock != 0)
        problem = "has a part of a fragment as its " + what.str();
      for (int64_t warp = 0; problem.empty() && warp < certificate.warps; ++warp)
        for (int64_t reg = 0; problem.empty() && reg < layout.extent(Axis::reg); ++reg) {
          const int64_t first = reg / perBlock * perBlock;
          const int64_t originRow = held.at(row, first, 0, warp),
                        originColumn = held.at(column, first, 0, warp);
          rows[warp].insert(originRow), columns[warp].insert(originColumn);
          for (int64_t lane = 0; lane < certificate.lanes; ++lane) {
            const std::pair<int64_t, int64_t> offset = expected(reg - first, lane);
            bool right = held.at(row, reg, lane, warp) == originRow + offset.first &&
                         held.at(column, reg, lane, warp) == originColumn + offset.second;
            for (size_t dim = 0; dim < row; ++dim)
              right &= held.at(dim, reg, lane, warp) == held.at(dim, first, 0, warp);
            if (!right) {
              problem = "has a " + what.str() + " that is no fragment of its instruction";
              break;
            }
          }
        }
    };
    Origins aRows, aDepths, bDepths, bColumns, cRows, cColumns;
    inspect(
        *lhs, perA,
        [&](int64_t v, int64_t l) {
          const int64_t part = v / packed;
          return std::pair(l / 4 + 8 * (part & 1),
                           packed * (l % 4) + v % packed + 4 * packed * (part >> 1));
        },
        aRows, aDepths, "left operand");
    inspect(
        *rhs, perB,
        [&](int64_t v, int64_t l) {
          return std::pair(packed * (l % 4) + v % packed + 4 * packed * (v / packed), l / 4);
        },
        bDepths, bColumns, "right operand");
    inspect(
        *result, perC,
        [&](int64_t v, int64_t l) {
          return std::pair(l / 4 + 8 * (v >> 1), 2 * (l % 4) + (v & 1));
        },
        cRows, cColumns, "accumulator");
    if (problem.empty() && (aRows != cRows || bColumns != cColumns || aDepths != bDepths))
      problem = "has operands whose blocks are not those of its accumulator in every warp";
    return problem;
  }

  std::string checkLoop(scf::ForOp loop) const {
    auto yields = cast<scf::YieldOp>(loop.getBody()->getTerminator());
    for (auto [i, argument] : llvm::enumerate(loop.getRegionIterArgs())) {
      if (!tileType(argument))
        continue;
      const Layout *carried = value(argument);
      const Layout *others[] = {value(loop.getResult(i)), use(loop.getInitArgsMutable()[i]),
                                use(yields->getOpOperand(static_cast<unsigned>(i)))};
      if (!carried || !checkValue(argument).empty())
        return "carries a tile without a layout";
      for (const Layout *other : others)
        if (!other || !other->sameAs(*carried))
          return "carries a tile whose layout changes from turn to turn";
    }
    return "";
  }

  const Certificate &certificate;
};

} // namespace

std::string solve::checkCertificate(tile::KernelOp kernel, const Certificate &certificate) {
  Checker checker(certificate);
  std::string problem;
  kernel.walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (op == kernel.getOperation())
      return WalkResult::advance();
    problem = checker.check(op);
    if (!problem.empty()) {
      problem = "'" + op->getName().getStringRef().str() + "' " + problem;
      return WalkResult::interrupt();
    }
    // Regions over scalars hold no tiles.
    return isa<tile::MapOp, tile::ReduceOp, tile::ScanOp>(op) ? WalkResult::skip()
                                                              : WalkResult::advance();
  });
  return problem;
}
