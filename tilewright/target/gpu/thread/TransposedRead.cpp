#include "tilewright/target/gpu/thread/TransposedRead.h"

#include "tilewright/target/gpu/thread/ThreadBuilder.h"

using namespace llvm;

namespace tilewright::gpu {

/// Whether consecutive lanes have consecutive indices of a dimension, in groups of 16, and no other
/// part of the index is smaller than such a group.
static bool hasLanesAlong(const ThreadLayout &threads, size_t dim) {
  int64_t lanes = 1;
  for (const sm::IndexTerm &term : threads.forms[dim].terms)
    if (term.axis == sm::Axis::lane && term.stride == 1 && term.weight == 1)
      lanes = term.size;
    else if (term.weight % TransposedRead::lanes != 0)
      return false;
  return lanes % TransposedRead::lanes == 0 &&
         all_of(threads.forms[dim].registers,
                [](int64_t index) { return index % TransposedRead::lanes == 0; });
}

std::optional<TransposedRead> findTransposedRead(const ThreadLayout &threads,
                                                 ArrayRef<int64_t> strides, ArrayRef<int64_t> shape,
                                                 int64_t bytes, const Machine::Limits &limits) {
  if (limits.transposedBytes == 0 || bytes > 2 || shape.size() < 2)
    return std::nullopt;
  TransposedRead read;
  read.count = limits.transposedBytes / bytes;
  const auto *contiguous = llvm::find(strides, 1);
  if (contiguous == strides.end() || threads.registers() % unsigned(read.count) != 0)
    return std::nullopt;
  read.column = size_t(contiguous - strides.begin());
  if (!hasLanesAlong(threads, read.column))
    return std::nullopt;
  // Each read is aligned.
  for (auto [dim, stride] : enumerate(strides))
    if (dim != read.column && stride % read.count != 0)
      return std::nullopt;
  for (size_t dim = 0; dim < shape.size(); ++dim)
    if (threads.constant(dim, 1) != threads.constant(dim, 0))
      read.row = dim;
  if (read.row == read.column)
    return std::nullopt;
  for (unsigned reg = 0; reg < threads.registers(); ++reg) {
    const auto step = int64_t(reg) % read.count;
    const unsigned first = reg - unsigned(step);
    for (size_t dim = 0; dim < shape.size(); ++dim)
      if (threads.constant(dim, reg) != threads.constant(dim, first) + (dim == read.row ? step : 0))
        return std::nullopt;
    if (!threads.isAlive(reg, shape))
      return std::nullopt;
    if (step == 0)
      read.first.push_back(reg);
  }
  return read;
}

Value transposedOffset(ThreadBuilder &b, const TransposedRead &read, int64_t rowBytes,
                       int64_t bytes, Value lane) {
  const auto perRow = TransposedRead::lanes / read.count;
  Value number = b.bitAnd(lane, b.i32(TransposedRead::lanes - 1));
  Value row = b.lshr(number, b.i32(Log2_64(uint64_t(perRow))));
  Value column = b.mul(b.bitAnd(number, b.i32(perRow - 1)), b.i32(read.count));
  return b.add(b.mul(row, b.i32(rowBytes)), b.mul(b.sub(column, number), b.i32(bytes)));
}

} // namespace tilewright::gpu
