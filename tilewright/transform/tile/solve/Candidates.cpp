#include "tilewright/transform/tile/solve/Candidates.h"

#include "tilewright/dialect/sm/InstructionLayouts.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

using namespace tilewright;
using namespace tilewright::solve;
using llvm::ArrayRef, llvm::SmallVector;
using sm::Axis, sm::Layout;

std::vector<Layout> solve::blockedLayouts(ArrayRef<int64_t> shape, int64_t elementBits,
                                          const Machine &machine) {
  std::vector<Layout> found;
  auto add = [&](const Layout &layout) {
    if (!llvm::is_contained(found, layout))
      found.push_back(layout);
  };
  const auto rank = static_cast<int64_t>(shape.size());
  // The candidates for the fastest dimension: up to three dimensions with more than one element,
  // starting from the last.
  SmallVector<int64_t> leading;
  for (int64_t dim = rank; dim-- > 0 && leading.size() < 3;)
    if (shape[dim] > 1)
      leading.push_back(dim);
  if (leading.empty())
    leading.push_back(rank - 1);
  if (rank == 0) {
    add(Layout::blocked({}, {}, 1, machine.lanes, machine.warps));
    return found;
  }
  const int64_t longest = std::max<int64_t>(1, 128 / std::max<int64_t>(elementBits, 8));
  for (int64_t first : leading) {
    SmallVector<int64_t> order = {first};
    for (int64_t dim = rank; dim-- > 0;)
      if (dim != first)
        order.push_back(dim);
    SmallVector<int64_t> slowFirst(llvm::reverse(order));
    for (int64_t vector = longest;; vector /= 4) {
      vector = std::max<int64_t>(vector, 1);
      if (vector == 1 || vector <= shape[first])
        for (ArrayRef<int64_t> warpOrder : {ArrayRef<int64_t>(order), ArrayRef<int64_t>(slowFirst)})
          add(Layout::blocked(shape, order, vector, machine.lanes, machine.warps, warpOrder));
      if (vector == 1)
        break;
    }
  }
  return found;
}

/// A layout of blocks (batch…, rows, columns), where `rows` and `columns` are the digits of the
/// last two dimensions, and consecutive batches are in consecutive registers.
static Layout blocks(ArrayRef<int64_t> batch, Layout::Digits rows, Layout::Digits columns,
                     ArrayRef<sm::Digit> copies) {
  int64_t registers = 1;
  for (const Layout::Digits &digits : {rows, columns})
    for (const sm::Digit &digit : digits)
      if (digit.axis == Axis::reg)
        registers *= digit.size;
  SmallVector<Layout::Digits> dims(batch.size());
  for (size_t dim = batch.size(); dim-- > 0;) {
    dims[dim] = {{std::max<int64_t>(batch[dim], 1), Axis::reg, registers}};
    registers *= std::max<int64_t>(batch[dim], 1);
  }
  dims.push_back(rows);
  dims.push_back(columns);
  return Layout(dims, copies);
}

/// The layout of the instruction with `batch` leading dimensions of size 1.
static Layout withBatch(const Layout &atom, size_t batch) {
  SmallVector<Layout::Digits> dims(batch);
  llvm::append_range(dims, atom.getDims());
  return Layout(dims);
}

/// The ordered scales (1, 1, lines, 128) of an operand whose rows are distributed over `warps` of
/// stride `stride` and then over `count` blocks of 16 in each warp. The scale of row 32 j + 16 h +
/// r (h < 2, r < 16) and of block 4 c + s is byte 16 (16 h + r) + 4 j + s of group c, which has
/// four lines. A lane holds all four scales s of its rows; the four groups of 16 lanes have copies.
static Layout mfmaScales(int64_t warps, int64_t stride, int64_t count, int64_t lines,
                         sm::Digit otherWarps) {
  // The digits h, and the two of j, from the least significant one. Rows beyond those of the
  // operand are in registers, too.
  sm::Digit digits[3];
  int64_t nextRegister = 4;
  // Neighbours in memory, j, are neighbours in registers.
  for (const int digit : {1, 2, 0}) {
    const int64_t step = int64_t(1) << digit; // in blocks of 16 rows
    const bool isInWarp = step >= count && step < count * warps;
    digits[digit] = isInWarp ? sm::Digit{2, Axis::warp, stride * step / count}
                             : sm::Digit{2, Axis::reg, nextRegister};
    nextRegister *= isInWarp ? 1 : 2;
  }
  const Layout::Digits line = {{lines / 4, Axis::reg, nextRegister}, digits[0], {2, Axis::lane, 8}},
                       column = {{8, Axis::lane, 1}, digits[2], digits[1], {4, Axis::reg, 1}};
  return Layout({Layout::Digits{}, Layout::Digits{}, line, column},
                {otherWarps, {4, Axis::lane, 16}})
      .canonical();
}

/// The layouts of an instruction for one tile of each operand and of the sums.
struct Atom {
  Layout a, b, c;
};

static std::vector<Atom> atomsFor(int64_t bits, bool isMfma, bool isChained) {
  using namespace sm::instruction;
  if (!isMfma)
    return {{mmaA(bits), mmaB(bits), mmaC(bits)}};
  std::vector<Atom> atoms;
  for (int64_t size : {16, 32})
    for (MfmaDepth depth : {MfmaDepth::consecutive, MfmaDepth::ofSums}) {
      const bool isPlain = size == 16 && depth == MfmaDepth::consecutive;
      const bool isSame = depth == MfmaDepth::ofSums && bits >= 32;
      if (isPlain || (isChained && bits < 64 && !isSame))
        atoms.push_back({mfmaA(bits, depth, size), mfmaB(bits, depth, size), mfmaC(bits, size)});
    }
  return atoms;
}

/// The layouts for tiles (batch…, m, k) and (batch…, k, n), for this arrangement of the warps.
static DotLayouts arrange(const Atom &atom, ArrayRef<int64_t> accumulator, int64_t depth,
                          int64_t bits, int64_t warpsM, int64_t warpsN) {
  const auto &[a, b, c] = atom;
  const size_t batchRank = accumulator.size() - 2;
  ArrayRef<int64_t> batch = accumulator.take_front(batchRank);
  // An empty tile has one block too, because a layout assigns elements to every thread.
  auto count = [](int64_t size, int64_t block) {
    return std::max<int64_t>(1, static_cast<int64_t>(llvm::divideCeil(size, block)));
  };
  const int64_t inM = count(accumulator[batchRank], warpsM * c.cover(0)),
                inN = count(accumulator[batchRank + 1], warpsN * c.cover(1)),
                inK = count(depth, a.cover(1));
  DotLayouts layouts;
  layouts.accumulator = blocks(batch, {{warpsM, Axis::warp, 1}, {inM, Axis::reg, inN}},
                               {{warpsN, Axis::warp, warpsM}, {inN, Axis::reg, 1}}, {})
                            .times(withBatch(c, batchRank))
                            .canonical();
  layouts.lhs = blocks(batch, {{warpsM, Axis::warp, 1}, {inM, Axis::reg, inK}},
                       {{inK, Axis::reg, 1}}, {{warpsN, Axis::warp, warpsM}})
                    .times(withBatch(a, batchRank))
                    .canonical();
  layouts.rhs =
      blocks(batch, {{inK, Axis::reg, 1}}, {{warpsN, Axis::warp, warpsM}, {inN, Axis::reg, inK}},
             {{warpsM, Axis::warp, 1}})
          .times(withBatch(b, batchRank))
          .canonical();
  int64_t batches = 1;
  for (int64_t size : batch)
    batches *= size;
  // A multiprocessor performs 1024 multiply-adds of 16-bit elements per cycle, and proportionally
  // fewer for wider elements.
  const double pairs = static_cast<double>(c.cover(0) * c.cover(1) * a.cover(1));
  layouts.cycles = static_cast<double>(batches * inM * inN * inK * warpsM * warpsN) * pairs *
                   static_cast<double>(bits) / 16 / 1024;
  return layouts;
}

std::vector<DotLayouts> solve::mmaLayouts(ArrayRef<int64_t> accumulator, int64_t depth,
                                          int64_t bits, const Machine &machine, int64_t scaleLines,
                                          bool isChained) {
  std::vector<DotLayouts> found;
  if (scaleLines > 0 && !llvm::is_contained({1, 2, 4, 8}, machine.warps))
    return found;
  const std::vector<Atom> atoms = atomsFor(bits, machine.lanes == 64, isChained && scaleLines == 0);
  const int64_t m = accumulator.drop_back().back(), n = accumulator.back();
  for (int64_t warpsM = machine.warps; warpsM >= 1; --warpsM) {
    if (machine.warps % warpsM != 0 || (machine.hasRowsInWarps && warpsM != machine.warps))
      continue;
    const int64_t warpsN = machine.warps / warpsM;
    for (const Atom &atom : atoms) {
      // Larger instructions must not multiply more than the tile.
      if (atom.c.cover(0) > 16 &&
          (m % (warpsM * atom.c.cover(0)) != 0 || n % (warpsN * atom.c.cover(1)) != 0))
        continue;
      DotLayouts layouts = arrange(atom, accumulator, depth, bits, warpsM, warpsN);
      if (scaleLines > 0) {
        auto blocksOf = [](int64_t size, int64_t warps) {
          return std::max<int64_t>(1, static_cast<int64_t>(llvm::divideCeil(size, warps * 16)));
        };
        layouts.lhsScale =
            mfmaScales(warpsM, 1, blocksOf(m, warpsM), scaleLines, {warpsN, Axis::warp, warpsM});
        layouts.rhsScale =
            mfmaScales(warpsN, warpsM, blocksOf(n, warpsN), scaleLines, {warpsM, Axis::warp, 1});
      }
      found.push_back(std::move(layouts));
    }
  }
  return found;
}
