// Scans the index digit by digit, from the least significant. Each element has the prefix of its
// block up to itself and the total of its block; each digit merges blocks into larger ones.
#include "tilewright/target/nvptx/emit/KernelEmitter.h"

using namespace llvm;

namespace tilewright::nvptx {

using sm::Axis;

void KernelEmitter::emitScan(tile::ScanOp scan) {
  IRBuilder<> &ir = b.ir;
  auto type = cast<mlir::RankedTensorType>(scan.getInputs().front().getType());
  const ThreadLayout &threads = threadsOf(type);
  mlir::Block &combiner = scan.getCombiner().front();
  const bool reverse = scan.getReverse();
  const auto dim = static_cast<size_t>(scan.getDim());

  // For each register, the prefix up to its element, and the total of its block.
  SmallVector<Partial> before, total;
  for (unsigned reg = 0; reg < threads.registers(); ++reg) {
    Partial partial = partialOf(scan.getInputs(), threads, type.getShape(), reg);
    // Out-of-bounds elements have the highest indices, so they only affect a reverse scan.
    if (!reverse)
      partial.valid = nullptr;
    before.push_back(partial);
    total.push_back(partial);
  }
  auto join = [&](const Partial &first, const Partial &second) {
    return combine(combiner, first, second);
  };
  // Marks the partial as invalid if `isOn` is false.
  auto only = [&](Partial partial, Value *isOn) {
    partial.valid = partial.valid ? ir.CreateAnd(partial.valid, isOn) : isOn;
    return partial;
  };
  SmallVector<sm::IndexTerm> allLanes;
  for (size_t each = 0; each < size_t(type.getRank()); ++each)
    append_range(allLanes, threads.digits(each, Axis::lane));

  for (const sm::Digit &digit : llvm::reverse(threads.layout.getDims()[dim])) {
    if (digit.size == 1)
      continue;
    const sm::IndexTerm term = threads.ofCta({digit.axis, digit.stride, digit.size, 0});
    if (term.axis == Axis::reg) {
      for (unsigned first = 0; first < threads.registers(); ++first) {
        if (first / term.stride % term.size != 0)
          continue;
        auto at = [&](int64_t place) {
          return size_t(first + (reverse ? term.size - 1 - place : place) * term.stride);
        };
        Partial running = total[at(0)];
        for (int64_t place = 1; place < term.size; ++place) {
          before[at(place)] = join(running, before[at(place)]);
          running = join(running, total[at(place)]);
        }
        for (int64_t place = 0; place < term.size; ++place)
          total[at(place)] = running;
      }
    } else if (term.axis == Axis::lane) {
      Value *lane = axis(Axis::lane), *place = digitOf(term);
      if (reverse)
        place = ir.CreateSub(i32(term.size - 1), place);
      // The value of the lane `count` positions earlier; invalid if there is no such lane.
      auto earlier = [&](const Partial &partial, int64_t count) {
        Value *from = reverse ? ir.CreateAdd(lane, i32(count * term.stride))
                              : ir.CreateSub(lane, i32(count * term.stride));
        from = ir.CreateAnd(from, i32(Chip::warpSize - 1));
        return only(shuffled(partial, [&](Lanes value) { return shuffleFrom(value, from); }),
                    ir.CreateICmpUGE(place, i32(count)));
      };
      Value *last = ir.CreateAdd(ir.CreateSub(lane, ir.CreateMul(digitOf(term), i32(term.stride))),
                                 i32(reverse ? 0 : (term.size - 1) * term.stride));
      for (unsigned reg = 0; reg < threads.registers(); ++reg) {
        Partial sums = total[reg];
        for (int64_t count = 1; count < term.size; count *= 2)
          sums = join(earlier(sums, count), sums);
        before[reg] = join(earlier(sums, 1), before[reg]);
        total[reg] = shuffled(sums, [&](Lanes value) { return shuffleFrom(value, last); });
      }
    } else {
      Value *place = digitOf(term);
      if (reverse)
        place = ir.CreateSub(i32(term.size - 1), place);
      auto all = exchangeWarps(total, threads, {term}, allLanes, scan);
      for (unsigned reg = 0; reg < threads.registers(); ++reg) {
        if (reverse)
          std::reverse(all[reg].begin(), all[reg].end());
        Partial sum = all[reg][0], ahead = only(sum, ir.CreateICmpUGT(place, i32(0)));
        for (int64_t i = 1; i < term.size; ++i) {
          if (i + 1 < term.size)
            ahead = join(ahead, only(all[reg][size_t(i)], ir.CreateICmpUGT(place, i32(i))));
          sum = join(sum, all[reg][size_t(i)]);
        }
        before[reg] = join(ahead, before[reg]);
        total[reg] = sum;
      }
    }
  }

  Partial init;
  for (mlir::Value value : scan.getInits())
    init.values.push_back(scalars.lookup(value));
  SmallVector<Tile> made(scan.getNumResults());
  for (const Partial &partial : before) {
    Partial result = join(init, partial);
    for (auto [tile, value] : zip_equal(made, result.values))
      tile.push_back(value);
  }
  for (auto [result, tile] : zip_equal(scan.getResults(), made))
    tiles[result] = std::move(tile);
}

} // namespace tilewright::nvptx
