#include "tilewright/target/gpu/thread/StridedView.h"

#include "tilewright/target/lanes/Lanes.h"

#include <map>
#include <numeric>

using namespace llvm;

namespace tilewright::gpu {

SmallVector<int64_t> rowMajor(ArrayRef<int64_t> shape) {
  SmallVector<int64_t> strides(shape.size(), 1);
  for (size_t dim = shape.size(); dim-- > 1;)
    strides[dim - 1] = strides[dim] * shape[dim];
  return strides;
}

// --- Chunks ---

/// The widest access. The runtime aligns allocations to at least this.
constexpr int64_t maxBytes = 16;

static bool divides(int64_t count, int64_t number) { return number % count == 0; }

/// Whether the elements of these registers, which are consecutive in memory, are all in bounds or
/// all out of bounds.
static bool isUniform(ArrayRef<unsigned> registers, const ThreadLayout &threads,
                      const StridedView &view, ArrayRef<int64_t> shape) {
  const auto count = int64_t(registers.size());
  for (size_t dim = 0; dim < shape.size(); ++dim) {
    const int64_t constant = threads.constant(dim, registers[0]);
    bool isEqual = true, isRun = divides(count, constant) && divides(count, threads.divisor[dim]);
    bool isAlive = true;
    for (int64_t i = 0; i < count; ++i) {
      const int64_t here = threads.constant(dim, registers[size_t(i)]);
      isEqual &= here == constant;
      isRun &= here == constant + i;
      isAlive &= here + threads.most[dim] < shape[dim];
    }
    if (isEqual)
      continue;
    if (!isAlive && !(isRun && divides(count, shape[dim])))
      return false;
    for (const StridedView::Check &check : view.checks)
      if (check.dim == dim && !(isRun && check.stride == 1 && divides(count, check.size) &&
                                divides(count, check.divisor)))
        return false;
  }
  return true;
}

namespace {
/// The registers of a tile, grouped by address; copies of an element share an entry.
struct ByAddress {
  /// The key is the constant part of the address.
  std::map<int64_t, SmallVector<unsigned, 1>> elements;
  /// An out-of-bounds index may have the same address as another element, but needs its own
  /// predicate, so it is here: by index, with the constant part of the address.
  std::map<std::vector<int64_t>, std::pair<int64_t, SmallVector<unsigned, 1>>> others;

  ByAddress(const ThreadLayout &threads, const StridedView &view, ArrayRef<int64_t> shape) {
    for (unsigned reg = 0; reg < threads.registers(); ++reg) {
      if (threads.isDead(reg, shape))
        continue;
      int64_t constant = 0;
      for (size_t dim = 0; dim < shape.size(); ++dim)
        constant += threads.constant(dim, reg) * view.strides[dim];
      SmallVector<unsigned, 1> &here = elements[constant];
      if (here.empty() || threads.constants(here.front()) == threads.constants(reg)) {
        here.push_back(reg);
      } else {
        auto &other = others[threads.constants(reg)];
        other.first = constant;
        other.second.push_back(reg);
      }
    }
  }
};
} // namespace

SmallVector<Chunk> chunksOf(const ThreadLayout &threads, const StridedView &view,
                            ArrayRef<int64_t> shape) {
  const ByAddress byAddress(threads, view, shape);
  // The largest known divisor of the variable part of the address.
  int64_t variable = view.divisor;
  for (size_t dim = 0; dim < shape.size(); ++dim)
    variable = std::gcd(variable, threads.divisor[dim] * std::abs(view.strides[dim]));
  const int64_t bytes = lanes::storageBytes(view.elementType);
  SmallVector<Chunk> chunks;
  for (auto at = byAddress.elements.begin(); at != byAddress.elements.end();) {
    // Element sizes that are not a power of two are never vectorized.
    int64_t count = isPowerOf2_64(uint64_t(bytes)) ? std::max<int64_t>(maxBytes / bytes, 1) : 1;
    SmallVector<unsigned> run; // a register of each of up to `count` contiguous elements
    for (auto next = at; next != byAddress.elements.end() && int64_t(run.size()) < count &&
                         next->first == at->first + int64_t(run.size());
         ++next)
      run.push_back(next->second.front());
    while (count > 1 && !(count <= int64_t(run.size()) && divides(count, variable) &&
                          divides(count, at->first) &&
                          isUniform(ArrayRef(run).take_front(size_t(count)), threads, view, shape)))
      count /= 2;
    Chunk chunk{{}, at->first};
    for (int64_t i = 0; i < count; ++i, ++at)
      chunk.elements.push_back(at->second);
    chunks.push_back(std::move(chunk));
  }
  for (const auto &[index, other] : byAddress.others)
    chunks.push_back(Chunk{{other.second}, other.first});
  return chunks;
}

// --- Bounds ---

Value isInside(ThreadBuilder &b, const ThreadLayout &threads, const StridedView &view,
               ArrayRef<int64_t> shape, unsigned reg) {
  Value all = nullptr;
  auto require = [&](Value condition) { all = all ? b.bitAnd(all, condition) : condition; };
  for (size_t dim = 0; dim < shape.size(); ++dim) {
    const int64_t constant = threads.constant(dim, reg);
    if (constant + threads.most[dim] >= shape[dim])
      require(b.less(threads.base[dim], b.i32(shape[dim] - constant)));
  }
  for (const StridedView::Check &check : view.checks) {
    // 0 ≤ offset + (base + constant) * stride < size as one unsigned comparison. 32 bits suffice
    // for tensors below 2^31 bytes, because out-of-bounds offsets exceed the size only slightly.
    Type word = view.isWide ? b.i64Type : b.i32Type;
    auto number = [&](int64_t value) { return b.integer(word, value); };
    Value index = nullptr;
    if (Value base = threads.base[check.dim])
      index = b.mul(b.zextOrTrunc(base, word), number(check.stride));
    if (check.offset) {
      Value offset = b.trunc(check.offset, word);
      index = index ? b.add(index, offset) : offset;
    }
    Value constant = number(threads.constant(check.dim, reg) * check.stride);
    index = index ? b.add(index, constant) : constant;
    require(b.unsignedLess(index, number(check.size)));
  }
  return all;
}

} // namespace tilewright::gpu
