// Scans along one dimension, whose index is a mixed-radix number: its digits select registers,
// lanes and warps. Processes the digits from the least significant. Before each digit, elements
// that differ only in the digits already processed form a block, and each element has the prefix of
// its block up to itself and the total of its block. Processing the digit merges adjacent blocks.
#include "tilewright/target/gpu/KernelLowering.h"

#include "tilewright/target/gpu/thread/Shuffle.h"

#include <map>

using namespace llvm;

namespace tilewright::gpu {

using sm::Axis;

struct ReductionsLowering::Scan {
  ReductionsLowering &group;
  tile::ScanOp op;
  mlir::RankedTensorType type;
  const ThreadLayout &threads;
  ThreadBuilder &b;
  const bool reverse;
  /// For each register, the prefix up to its element, and the total of its block.
  SmallVector<Partial> before, total;

  Scan(ReductionsLowering &group, tile::ScanOp op)
      : group(group), op(op), type(cast<mlir::RankedTensorType>(op.getInputs().front().getType())),
        threads(group.kernel.threadsOf(type)), b(group.b), reverse(op.getReverse()) {}

  void start();
  /// Merge the blocks along a digit of the index, for digits that select registers, lanes and
  /// warps.
  void mergeRegisters(const sm::IndexTerm &term);
  void mergeLanes(const sm::IndexTerm &term);
  void mergeWarps(const sm::IndexTerm &term);
  void finish();

  Partial join(const Partial &first, const Partial &second) {
    return combine(b, op.getCombiner().front(), first, second);
  }
  /// Marks the partial as invalid if `isOn` is false.
  Partial only(Partial partial, Value isOn) {
    partial.valid = partial.valid ? b.bitAnd(partial.valid, isOn) : isOn;
    return partial;
  }
  /// The thread's position along a digit, in the order of the scan.
  Value placeOf(const sm::IndexTerm &term) {
    Value place = group.kernel.digitOf(term);
    return reverse ? b.sub(b.i32(term.size - 1), place) : place;
  }
};

void ReductionsLowering::Scan::start() {
  for (unsigned reg = 0; reg < threads.registers(); ++reg) {
    Partial partial = group.partialOf(op.getInputs(), threads, type.getShape(), reg);
    // Out-of-bounds elements have the highest indices, so they only affect a reverse scan.
    if (!reverse)
      partial.valid = nullptr;
    before.push_back(partial);
    total.push_back(partial);
  }
}

void ReductionsLowering::Scan::mergeRegisters(const sm::IndexTerm &term) {
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
}

void ReductionsLowering::Scan::mergeLanes(const sm::IndexTerm &term) {
  Value lane = group.kernel.axis(Axis::lane);
  Value place = placeOf(term);
  auto readFrom = [&](const Partial &partial, Value from) {
    return shuffled(partial, [&](Lanes value) { return shuffleFrom(b, value, from); });
  };
  // The value of the lane `count` positions earlier; invalid if there is no such lane.
  auto earlier = [&](const Partial &partial, int64_t count) {
    Value from =
        reverse ? b.add(lane, b.i32(count * term.stride)) : b.sub(lane, b.i32(count * term.stride));
    from = b.bitAnd(from, b.i32(group.kernel.warpSize() - 1));
    Partial got = readFrom(partial, from);
    return only(got, b.unsignedAtLeast(place, b.i32(count)));
  };
  Value first = b.sub(lane, b.mul(group.kernel.digitOf(term), b.i32(term.stride)));
  Value last = b.add(first, b.i32(reverse ? 0 : (term.size - 1) * term.stride));
  // Registers of the same block have the same total.
  struct Merged {
    Partial ahead, total;
  };
  std::map<std::vector<const void *>, Merged> known;
  for (unsigned reg = 0; reg < threads.registers(); ++reg) {
    std::vector<const void *> key{total[reg].valid.getAsOpaquePointer()};
    for (Lanes value : total[reg].values)
      key.insert(key.end(), {value.value.getAsOpaquePointer(), value.imag.getAsOpaquePointer()});
    auto [found, isNew] = known.try_emplace(std::move(key));
    if (isNew) {
      Partial sums = total[reg];
      for (int64_t count = 1; count < term.size; count *= 2)
        sums = join(earlier(sums, count), sums);
      found->second = {earlier(sums, 1), readFrom(sums, last)};
    }
    before[reg] = join(found->second.ahead, before[reg]);
    total[reg] = found->second.total;
  }
}

void ReductionsLowering::Scan::mergeWarps(const sm::IndexTerm &term) {
  SmallVector<sm::IndexTerm> allLanes;
  for (size_t dim = 0; dim < size_t(type.getRank()); ++dim)
    append_range(allLanes, threads.digits(dim, Axis::lane));
  Value place = placeOf(term);
  auto all = group.exchangeWarps(total, {term}, allLanes, op);
  for (unsigned reg = 0; reg < threads.registers(); ++reg) {
    if (reverse)
      std::reverse(all[reg].begin(), all[reg].end());
    Partial sum = all[reg][0], ahead = only(sum, b.unsignedMore(place, b.i32(0)));
    for (int64_t i = 1; i < term.size; ++i) {
      if (i + 1 < term.size)
        ahead = join(ahead, only(all[reg][size_t(i)], b.unsignedMore(place, b.i32(i))));
      sum = join(sum, all[reg][size_t(i)]);
    }
    before[reg] = join(ahead, before[reg]);
    total[reg] = sum;
  }
}

void ReductionsLowering::Scan::finish() {
  Partial init;
  for (Value value : op.getInits())
    init.values.push_back(group.kernel.scalars.lookup(value));
  SmallVector<Tile> made(op.getNumResults());
  for (const Partial &partial : before) {
    Partial result = join(init, partial);
    for (auto [tile, value] : zip_equal(made, result.values))
      tile.push_back(value);
  }
  for (auto [result, tile] : zip_equal(op.getResults(), made))
    group.kernel.tiles[result] = std::move(tile);
}

void ReductionsLowering::scan(tile::ScanOp op) {
  Scan scan(*this, op);
  scan.start();
  const auto dim = static_cast<size_t>(op.getDim());
  for (const sm::Digit &digit : llvm::reverse(scan.threads.layout.getDims()[dim])) {
    if (digit.size == 1)
      continue;
    const sm::IndexTerm term = scan.threads.ofCta({digit.axis, digit.stride, digit.size, 0});
    if (term.axis == Axis::reg)
      scan.mergeRegisters(term);
    else if (term.axis == Axis::lane)
      scan.mergeLanes(term);
    else
      scan.mergeWarps(term);
  }
  scan.finish();
}

} // namespace tilewright::gpu
