// top_k: the k largest elements of each row, in order.
#include "tilewright/runtime/cpu/library/CallReader.h"
#include "tilewright/runtime/cpu/library/Isa.h"
#include "tilewright/runtime/cpu/library/movement/CopyRows.h"
#include "tilewright/runtime/cpu/library/sort/RadixSort.h"
#include "tilewright/runtime/cpu/library/sort/SortKeys.h"

#include <algorithm>
#include <limits>

namespace tilewright::runtime::cpu {

namespace {
class TopKKernel final : public LibraryKernel {
public:
  TopKKernel(ElementType type, ElementType indexType, int64_t rows, int64_t length, int64_t k,
             bool largest)
      : type(type), indexType(indexType), rows(rows), length(length), k(k), largest(largest) {}

  Status run(const LibraryRun &run) const override {
    if (k == 0)
      return Status();
    run.pool.parallelFor(rows, std::max<int64_t>(1, 8192 / length),
                         [&](int64_t begin, int64_t end) {
                           for (int64_t row = begin; row < end; ++row)
                             if (keyBits(type) <= 32)
                               select<uint32_t>(run, row);
                             else
                               select<uint64_t>(run, row);
                         });
    return Status();
  }

private:
  /// An element that may be among the largest. Keys are those of a descending sort: a smaller key
  /// is better, and among equal keys the smaller position. A narrow key has its position in the
  /// same integer.
  struct WideCandidate {
    uint64_t key;
    uint32_t place;
    bool operator<(const WideCandidate &other) const {
      return key != other.key ? key < other.key : place < other.place;
    }
  };
  template <typename Key>
  using Candidate = std::conditional_t<sizeof(Key) == 4, uint64_t, WideCandidate>;
  static uint64_t candidate(uint32_t key, int64_t place) {
    return static_cast<uint64_t>(key) << 32 | static_cast<uint64_t>(place);
  }
  static WideCandidate candidate(uint64_t key, int64_t place) {
    return {key, static_cast<uint32_t>(place)};
  }
  static uint32_t keyOf(uint64_t candidate) { return static_cast<uint32_t>(candidate >> 32); }
  static uint64_t keyOf(const WideCandidate &candidate) { return candidate.key; }
  static int64_t placeOf(uint64_t candidate) { return static_cast<uint32_t>(candidate); }
  static int64_t placeOf(const WideCandidate &candidate) { return candidate.place; }

  template <typename Item> static void sortItems(Item *items, int64_t count) {
    if constexpr (std::is_same_v<Item, uint64_t>)
      if (canSortVectors())
        return sortVectors(items, count, nullptr);
    std::sort(items, items + count);
  }

  template <typename Key> void select(const LibraryRun &run, int64_t row) const {
    const auto bytes = static_cast<int64_t>(numerics::storageBytes(type));
    const std::byte *from = run.operands[0] + row * length * bytes;
    const Scratch keyMemory(length * static_cast<int64_t>(sizeof(Key)));
    Key *keys = keyMemory.as<Key>();
    makeKeys(type, {SortOrder::Kind::total, largest}, from, length, keys);

    // A buffer for more than k candidates; when it is full, only the k best are kept.
    using Item = Candidate<Key>;
    const int64_t room = std::min<int64_t>(length, std::max<int64_t>(2 * k, k + 128));
    const Scratch memory(room * static_cast<int64_t>(sizeof(Item)));
    Item *best = memory.as<Item>();
    // Take the first elements unconditionally, so that a row that fits needs only one sort.
    int64_t count = room;
    for (int64_t i = 0; i < room; ++i)
      best[i] = candidate(keys[i], i);
    Key threshold = 0;
    auto prune = [&] {
      sortItems(best, count);
      count = k;
      threshold = keyOf(best[k - 1]);
    };
    prune();
    // Elements arrive in index order, so an element that is equal to the current k-th element comes
    // after it and can be skipped.
    constexpr int64_t block = 64;
    for (int64_t begin = room; begin < length; begin += block) {
      const int64_t end = std::min(begin + block, length);
      if (end - begin == block && !anyBelow<Key>(keys + begin, threshold))
        continue;
      for (int64_t i = begin; i < end; ++i)
        if (keys[i] < threshold) {
          best[count++] = candidate(keys[i], i);
          if (count == room)
            prune();
        }
    }
    if (count > k)
      prune();
    std::byte *values = run.results[0] + row * k * bytes;
    for (int64_t i = 0; i < k; ++i)
      copyRow(values + i * bytes, from + placeOf(best[i]) * bytes, bytes);
    if (indexType == ElementType::i32)
      for (int64_t i = 0; i < k; ++i)
        reinterpret_cast<int32_t *>(run.results[1])[row * k + i] =
            static_cast<int32_t>(placeOf(best[i]));
    else
      for (int64_t i = 0; i < k; ++i)
        reinterpret_cast<int64_t *>(run.results[1])[row * k + i] = placeOf(best[i]);
  }

  template <typename Key> static bool anyBelow(const Key *keys, Key threshold) {
    bool any = false;
    withVectors([&](auto) TILEWRIGHT_LAMBDA {
      Key found = 0;
      for (int64_t i = 0; i < 64; ++i)
        found |= static_cast<Key>(keys[i] < threshold);
      any = found != 0;
    });
    return any;
  }

  ElementType type, indexType;
  int64_t rows, length, k;
  bool largest;
};
} // namespace

/// Operand: [..., n]. Results: values [..., k] and indices [..., k]. Sorted by IEEE-754 totalOrder,
/// equal elements by position.
KernelResult prepareTopK(const artifact::TopKCall &call, const LibrarySignature &types) {
  CallReader reader(call.name, types);
  TILEWRIGHT_TRY(reader.expectCounts(1, 2));
  TILEWRIGHT_ASSIGN(Shape shape, reader.operandShape(0));
  const int64_t k = call.k;
  const ElementType type = types.operands[0].element, index = types.results[1].element;
  if (shape.rank() == 0 || k < 0 || k > shape[shape.rank() - 1] ||
      shape[shape.rank() - 1] > std::numeric_limits<int32_t>::max())
    return reader.failure("k must be in [0, size of the last dimension], got ", k, " for ",
                          typeString(types.operands[0]));
  if (keyBits(type) == 0 || (index != ElementType::i32 && index != ElementType::i64))
    return reader.failure("elements must have an order, and indices must be i32 or i64, got ",
                          numerics::spelling(type), " and ", numerics::spelling(index));
  const int64_t length = shape[shape.rank() - 1];
  Dims sizes(shape.dims().begin(), shape.dims().end());
  sizes.back() = k;
  TILEWRIGHT_TRY(reader.expectResult(0, type, sizes));
  TILEWRIGHT_TRY(reader.expectResult(1, index, sizes));
  const int64_t rows = shape.elementCount() == 0 ? 0 : shape.elementCount() / length;
  return makeKernel<TopKKernel>(type, index, rows, length, k, call.largest);
}

} // namespace tilewright::runtime::cpu
