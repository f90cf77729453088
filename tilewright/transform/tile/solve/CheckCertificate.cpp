// The certificate checker: checks each op independently, from first principles. Contains no search,
// candidates or costs.
#include "tilewright/dialect/tile/SortOps.h"
#include "tilewright/dialect/tile/WindowOps.h"
#include "tilewright/transform/tile/solve/Certificate.h"

#include "tilewright/dialect/sm/SmDialect.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringMap.h"

#include <set>

using namespace mlir;
using namespace tilewright;
using namespace tilewright::solve;
using sm::Axis, sm::Layout;

static RankedTensorType tileType(Value value) {
  return dyn_cast<RankedTensorType>(value.getType());
}

namespace {

/// The indices of the elements in a thread's registers.
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

  /// Returns the error of an op, or "".
  std::string check(Operation *op) {
    for (Value result : op->getResults())
      if (std::string problem = checkValue(result); !problem.empty())
        return problem;
    for (OpOperand &operand : op->getOpOperands())
      if (auto found = certificate.uses.find(&operand); found != certificate.uses.end())
        if (std::string problem = checkLayout(tileType(operand.get()), found->second);
            !problem.empty())
          return problem;
    // Rematerialized values have no layout here; the verifier of sm.kernel checks them afterwards.
    if (op->getNumResults() != 0 && llvm::none_of(op->getResults(), [&](Value result) {
          return certificate.values.contains(result);
        }))
      return "";
    if (isa<tile::MapOp, tile::GatherOp, tile::ScatterOp, tile::UpdateOp, tile::ScanOp,
            tile::SortOp, tile::CarryOp>(op))
      return checkEqual(op);
    if (auto bucket = dyn_cast<tile::BucketOp>(op))
      return checkBucket(bucket);
    if (auto take = dyn_cast<tile::TakeOp>(op))
      return checkTake(take);
    if (auto view = dyn_cast<tile::ViewOp>(op))
      return checkView(view);
    if (auto reduce = dyn_cast<tile::ReduceOp>(op))
      return checkReduce(reduce);
    if (auto dot = dyn_cast<tile::DotOp>(op))
      return checkDot(dot);
    if (auto loop = dyn_cast<scf::ForOp>(op))
      return checkLoop(loop);
    if (auto store = dyn_cast<tile::StoreOp>(op))
      return use(store.getTileMutable()) ? "" : "stores a tile without a required layout";
    if (auto store = dyn_cast<tile::StorePartsOp>(op))
      return use(store.getTileMutable()) ? "" : "stores a tile without a required layout";
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

  /// Checks that the layout is a valid register layout of this tile on this machine. Returns the
  /// error, or "".
  std::string checkLayout(RankedTensorType type, const Layout &layout) const {
    if (std::string problem = layout.problem(); !problem.empty())
      return problem;
    if (layout.rank() != type.getRank())
      return "has a layout whose rank differs from the rank of its tile";
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
      return "has a layout for another machine: " + layout.str();
    return "";
  }

  std::string checkEqual(Operation *op) const {
    // Operand 0 of an op without results is the tile that it writes.
    const Layout *first =
        op->getNumResults() == 0 ? use(op->getOpOperand(0)) : value(op->getResult(0));
    if (!first)
      return "has no layout";
    for (Value result : op->getResults())
      if (!value(result) || !value(result)->sameAs(*first))
        return "has results of different layouts";
    for (OpOperand &operand : op->getOpOperands())
      if (tileType(operand.get()) && (!use(operand) || !use(operand)->sameAs(*first)))
        return "reads a tile in a layout that differs from its result";
    return "";
  }

  std::string checkBucket(tile::BucketOp bucket) const {
    const Layout *first = use(bucket.getDigitsMutable());
    if (!first || !value(bucket.getStarts()))
      return "has no layout";
    for (OpOperand &input : bucket.getInputsMutable())
      if (!use(input) || !use(input)->sameAs(*first))
        return "reads a tile in a layout that differs from the digits'";
    for (Value result : bucket.getResults())
      if (!value(result) || !value(result)->sameAs(*first))
        return "has a result in a layout that differs from the digits'";
    return "";
  }

  std::string checkTake(tile::TakeOp take) const {
    const Layout *indices = use(take.getIndicesMutable());
    if (!indices || !use(take.getSourceMutable()) || !value(take.getResult()))
      return "has no layout";
    return value(take.getResult())->sameAs(*indices)
               ? ""
               : "has a result in a layout that differs from the indices'";
  }

  std::string checkView(tile::ViewOp view) {
    if (certificate.moved.contains(view))
      return ""; // the conversion supports any two layouts
    std::optional<sm::ViewMap> map = sm::viewMapOf(view.getMap(), view.getType().getShape(),
                                                   tileType(view.getSource()).getShape());
    const Layout *source = use(view.getSourceMutable());
    if (!map || !source || !meet(*value(view), *source, *map))
      return "needs elements that its threads do not have";
    return "";
  }

  /// For each register of the result, the source register with the same element; nullopt if a
  /// thread lacks an element. Memoized.
  const std::optional<SmallVector<int64_t>> &meet(const Layout &result, const Layout &source,
                                                  const sm::ViewMap &map) {
    std::string key;
    llvm::raw_string_ostream out(key);
    out << result << "|" << source;
    for (ArrayRef<int64_t> shape : {ArrayRef(map.resultShape), ArrayRef(map.sourceShape)}) {
      out << "|";
      for (int64_t size : shape)
        out << size << ",";
    }
    for (const sm::ViewIndex &form : map.source) {
      out << "|" << form.constant;
      for (const sm::ViewPiece &piece : form.pieces)
        out << ";" << piece.dim << "," << piece.stride << "," << piece.size << "," << piece.weight;
    }
    auto [entry, isNew] = met.try_emplace(key);
    if (isNew)
      entry->second = sm::registersOfView(result, source, map);
    return entry->second;
  }

  /// Checks that every thread holds exactly the result elements to which its input elements
  /// contribute.
  std::string checkReduce(tile::ReduceOp reduce) {
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
    const std::optional<SmallVector<int64_t>> &places = meet(*input, *result, projection);
    if (!places)
      return "has results that are not in the threads that hold their elements";
    std::set<int64_t> used(places->begin(), places->end());
    used.erase(-1);
    // Unused registers must have only elements outside of the tile.
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
            return "has a result register that no input element contributes to";
        }
    }
    return "";
  }

  /// Checks the fragments of mma.sync, or of MFMA for 64 lanes, register by register against the
  /// tables of PTX and of AMD.
  std::string checkDot(tile::DotOp dot) const {
    const Layout *lhs = use(dot.getLhsMutable()), *rhs = use(dot.getRhsMutable()),
                 *acc = use(dot.getAccMutable()), *result = value(dot);
    if (!lhs || !rhs || !acc || !acc->sameAs(*result))
      return "has operands without layouts, or an accumulator whose layout changes";
    Type element = tileType(dot.getLhs()).getElementType();
    const int64_t bits = element.getIntOrFloatBitWidth();
    const bool wide = bits == 64;
    const int64_t packed = wide ? 1 : 32 / bits;
    const bool isMfma = certificate.lanes == 64;
    const int64_t deep = 128 / bits; // MFMA reads 16 bytes of each lane
    const int64_t perA = isMfma ? deep : wide ? 1 : 4 * packed;
    const int64_t perB = isMfma ? deep : wide ? 1 : 2 * packed;
    const size_t row = static_cast<size_t>(tileType(dot).getRank()) - 2, column = row + 1;
    // The origins of an instruction's blocks in each warp; `inspect` checks the offsets inside the
    // blocks.
    using Origins = std::vector<std::set<int64_t>>;
    std::string problem;
    auto inspect = [&](const Layout &layout, int64_t perBlock, auto expected, Origins &rows,
                       Origins &columns, llvm::StringRef what) {
      const Holdings held(layout);
      rows.resize(certificate.warps), columns.resize(certificate.warps);
      if (layout.extent(Axis::reg) % perBlock != 0)
        problem = "has only a part of a fragment as its " + what.str();
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
              problem = "has a " + what.str() + " that is not a fragment of its instruction";
              break;
            }
          }
        }
    };
    // MFMA has 16 or 32 rows and columns. If the depth of a lane's 16 bytes is that of sums, groups
    // of four consecutive elements are a lane's, in both operands.
    const Holdings heldByLeft(*lhs);
    const int64_t size =
        isMfma && heldByLeft.at(row, 0, 16, 0) == heldByLeft.at(row, 0, 0, 0) + 16 ? 32 : 16;
    const bool isOfSums =
        isMfma && deep > 4 &&
        heldByLeft.at(column, 4, 0, 0) == heldByLeft.at(column, 0, 0, 0) + 256 / size;
    auto depthOf = [&](int64_t v, int64_t l) {
      return isOfSums ? 256 / size * (v / 4) + 4 * (l / size) + v % 4 : deep * (l / size) + v;
    };
    const int64_t perC = isMfma && size == 32 ? 16 : !isMfma && wide ? 2 : 4;
    Origins aRows, aDepths, bDepths, bColumns, cRows, cColumns;
    inspect(
        *lhs, perA,
        [&](int64_t v, int64_t l) {
          if (isMfma)
            return std::pair(l % size, depthOf(v, l));
          const int64_t part = v / packed;
          return std::pair(l / 4 + 8 * (part & 1),
                           packed * (l % 4) + v % packed + 4 * packed * (part >> 1));
        },
        aRows, aDepths, "left operand");
    inspect(
        *rhs, perB,
        [&](int64_t v, int64_t l) {
          if (isMfma)
            return std::pair(depthOf(v, l), l % size);
          return std::pair(packed * (l % 4) + v % packed + 4 * packed * (v / packed), l / 4);
        },
        bDepths, bColumns, "right operand");
    inspect(
        *result, perC,
        [&](int64_t v, int64_t l) {
          if (isMfma)
            return std::pair(l % size, wide         ? 4 * v + l / 16
                                       : size == 32 ? 8 * (v / 4) + 4 * (l / 32) + v % 4
                                                    : 4 * (l / 16) + v);
          return std::pair(l / 4 + 8 * (v >> 1), 2 * (l % 4) + (v & 1));
        },
        cRows, cColumns, "accumulator");
    if (problem.empty() && (aRows != cRows || bColumns != cColumns || aDepths != bDepths))
      problem = "has operands whose blocks differ from those of its accumulator in some warp";
    if (problem.empty() && dot.getLhsScale())
      problem = checkScales(dot, cRows, cColumns);
    return problem;
  }

  /// Checks that every lane holds the scales of its row (its number modulo 16) for each block of 16
  /// rows of its warp, in words of the four scales of a line's blocks. `rows` and `columns` are the
  /// first ones of these blocks, by warp.
  std::string checkScales(tile::DotOp dot, llvm::ArrayRef<std::set<int64_t>> rows,
                          llvm::ArrayRef<std::set<int64_t>> columns) const {
    for (auto [scales, blocks] : {std::pair(&*dot.getLhsScaleMutable().begin(), rows),
                                  std::pair(&*dot.getRhsScaleMutable().begin(), columns)}) {
      const Layout *layout = use(*scales);
      if (!layout)
        return "has scales without a layout";
      const Holdings held(*layout);
      const int64_t lines = tileType(scales->get()).getDimSize(2);
      for (int64_t warp = 0; warp < certificate.warps; ++warp)
        for (int64_t lane = 0; lane < certificate.lanes; ++lane) {
          std::set<std::pair<int64_t, int64_t>> found; // rows, groups of four scales
          for (int64_t reg = 0; reg < layout->extent(Axis::reg); ++reg) {
            const int64_t line = held.at(2, reg, lane, warp), column = held.at(3, reg, lane, warp),
                          byte = line % 4 * 128 + column, row = byte % 16 / 4 * 32 + byte / 16;
            if (byte % 4 != reg % 4 || row % 16 != lane % 16)
              return "has scales that are not in the lanes of their rows";
            found.insert({row / 16 * 16, line / 4});
          }
          for (int64_t block : blocks[static_cast<size_t>(warp)])
            for (int64_t group = 0; group < lines / 4; ++group)
              if (!found.contains({block, group}))
                return "lacks scales of rows of its operands";
        }
    }
    return "";
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
          return "carries a tile whose layout changes between iterations";
    }
    return "";
  }

  const Certificate &certificate;
  llvm::StringMap<std::optional<SmallVector<int64_t>>> met;
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
    // Regions over scalars contain no tiles.
    return isa<tile::MapOp, tile::ReduceOp, tile::ScanOp, tile::SortOp, tile::UpdateOp,
               tile::CarryOp>(op)
               ? WalkResult::skip()
               : WalkResult::advance();
  });
  return problem;
}
