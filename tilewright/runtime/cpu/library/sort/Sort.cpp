// sort.
#include "tilewright/runtime/cpu/library/CallReader.h"
#include "tilewright/runtime/cpu/library/movement/CopyPlan.h"
#include "tilewright/runtime/cpu/library/movement/CopyRows.h"
#include "tilewright/runtime/cpu/library/sort/RadixSort.h"
#include "tilewright/runtime/cpu/library/sort/SortKeys.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <optional>

namespace tilewright::runtime::cpu {

namespace {
/// Sorts contiguous rows. A sort along another dimension is transposed to rows and back.
class SortKernel final : public LibraryKernel {
public:
  struct Input {
    ElementType type;
    int64_t bytes;
    CopyPlan toRows, fromRows;
  };
  struct Comparator {
    Body body = nullptr; // null if one input is sorted by a built-in order
    size_t input = 0;
    SortOrder order;
  };

  SortKernel(std::vector<Input> inputs, Comparator comparator, int64_t length, int64_t rows,
             bool isMoved)
      : inputs(std::move(inputs)), comparator(comparator), length(length), rows(rows),
        isMoved(isMoved) {}

  Status run(const LibraryRun &run) const override {
    if (rows * length == 0)
      return Status();
    std::vector<Scratch> moved;
    std::vector<const std::byte *> from;
    std::vector<std::byte *> to;
    for (size_t i = 0; i < inputs.size(); ++i) {
      from.push_back(run.operands[i]);
      to.push_back(run.results[i]);
      if (!isMoved)
        continue;
      // Copy the rows to the kernel's result, which serves as scratch, sort them into other memory
      // and copy them back from there. If the result shares the operand's memory, copy the rows to
      // the other memory and sort them into the result.
      moved.emplace_back(rows * length * inputs[i].bytes);
      const bool isInPlace = run.operands[i] == run.results[i];
      std::byte *rowsOf = isInPlace ? moved.back().data() : run.results[i];
      inputs[i].toRows.run(run.operands[i], rowsOf, run.pool);
      from[i] = rowsOf;
      to[i] = isInPlace ? run.results[i] : moved.back().data();
    }
    if (rows == 1)
      sortRow(from, to, 0, &run.pool);
    else
      run.pool.parallelFor(rows, std::max<int64_t>(1, 2048 / length),
                           [&](int64_t begin, int64_t end) {
                             for (int64_t row = begin; row < end; ++row)
                               sortRow(from, to, row, nullptr);
                           });
    if (isMoved)
      for (size_t i = 0; i < inputs.size(); ++i) {
        if (to[i] == run.results[i]) {
          std::memcpy(moved[i].data(), to[i], static_cast<size_t>(rows * length * inputs[i].bytes));
          to[i] = moved[i].data();
        }
        inputs[i].fromRows.run(to[i], run.results[i], run.pool);
      }
    return Status();
  }

private:
  using From = std::vector<const std::byte *>;
  using To = std::vector<std::byte *>;

  void sortRow(const From &from, const To &to, int64_t row, ThreadPool *pool) const {
    if (comparator.body)
      return sortByFunction(from, to, row, pool);
    const Input &key = inputs[comparator.input];
    const std::byte *keys = from[comparator.input] + row * length * key.bytes;
    const int bits = keyBits(key.type);
    if (inputs.size() == 1 && canMakeElements(key.type) &&
        keysAreExact(key.type, comparator.order, keys, length)) {
      std::byte *out = to[0] + row * length * key.bytes;
      return bits <= 32 ? sortKeys<uint32_t>(keys, out, pool) : sortKeys<uint64_t>(keys, out, pool);
    }
    if (bits <= 32)
      sortPairs(from, to, row, keys, bits, pool);
    else
      sortWidePairs(from, to, row, keys, pool);
  }

  /// One input: sorts only keys.
  template <typename Key>
  void sortKeys(const std::byte *from, std::byte *to, ThreadPool *pool) const {
    const ElementType type = inputs[0].type;
    // If the result's elements are as wide as keys, use it as scratch.
    const bool fits = inputs[0].bytes == sizeof(Key);
    const Scratch first(length * static_cast<int64_t>(sizeof(Key)));
    const Scratch second(fits ? 0 : length * static_cast<int64_t>(sizeof(Key)));
    Key *data = first.as<Key>();
    Key *other = fits ? reinterpret_cast<Key *>(to) : second.as<Key>();
    makeKeys(type, comparator.order, from, length, data);
    sortValues(data, other, length, 0, keyBits(type), pool);
    makeElements(type, comparator.order, data, length, to);
  }

  /// For keys of up to 32 bits: sorts 64-bit integers, each a key in the upper and a position in
  /// the lower half.
  void sortPairs(const From &from, const To &to, int64_t row, const std::byte *keys, int bits,
                 ThreadPool *pool) const {
    const Scratch first(length * 8), second(length * 8);
    auto *data = first.as<uint64_t>(), *other = second.as<uint64_t>();
    auto *narrow = second.as<uint32_t>();
    makeKeys(inputs[comparator.input].type, comparator.order, keys, length, narrow);
    for (int64_t i = 0; i < length; ++i)
      data[i] = static_cast<uint64_t>(narrow[i]) << 32 | static_cast<uint64_t>(i);
    sortValues(data, other, length, 32, 32 + bits, pool);
    for (int64_t i = 0; i < length; ++i)
      data[i] &= 0xffffffff;
    place(from, to, row, data, pool);
  }

  void sortWidePairs(const From &from, const To &to, int64_t row, const std::byte *keys,
                     ThreadPool *pool) const {
    const Scratch first(length * 16), second(length * 16);
    auto *data = first.as<WidePair>(), *other = second.as<WidePair>();
    auto *wide = second.as<uint64_t>();
    makeKeys(inputs[comparator.input].type, comparator.order, keys, length, wide);
    for (int64_t i = 0; i < length; ++i)
      data[i] = {wide[i], static_cast<uint64_t>(i)};
    sortValues(data, other, length, 0, 64, pool);
    auto *places = reinterpret_cast<uint64_t *>(other);
    for (int64_t i = 0; i < length; ++i)
      places[i] = data[i].place;
    place(from, to, row, places, pool);
  }

  /// Copies elements to their sorted places, as bytes so that NaNs keep their bits.
  void place(const From &from, const To &to, int64_t row, const uint64_t *places,
             ThreadPool *pool) const {
    for (size_t i = 0; i < inputs.size(); ++i) {
      const int64_t begin = row * length * inputs[i].bytes;
      withCell(inputs[i].bytes, [&]<typename Cell>() {
        const auto *source = reinterpret_cast<const Cell *>(from[i] + begin);
        auto *target = reinterpret_cast<Cell *>(to[i] + begin);
        // In place, an element could be overwritten before it is read.
        const Scratch kept(from[i] == to[i] ? length * inputs[i].bytes : 0);
        if (from[i] == to[i]) {
          std::memcpy(kept.data(), source, static_cast<size_t>(length * inputs[i].bytes));
          source = kept.as<Cell>();
        }
        auto piece = [&](int64_t first, int64_t last) {
          for (int64_t k = first; k < last; ++k)
            target[k] = source[places[k]];
        };
        if (pool)
          pool->parallelFor(length, 1 << 15, piece);
        else
          piece(0, length);
      });
    }
  }

  // A separate merge sort: the standard library's may access memory out of bounds if the comparator
  // is inconsistent.
  void sortByFunction(const From &from, const To &to, int64_t row, ThreadPool *pool) const {
    const Scratch first(length * 8), second(length * 8);
    auto *order = first.as<uint64_t>(), *other = second.as<uint64_t>();
    std::iota(order, order + length, uint64_t(0));
    std::vector<const std::byte *> bases;
    for (size_t i = 0; i < inputs.size(); ++i)
      bases.push_back(from[i] + row * length * inputs[i].bytes);
    for (int64_t run = 1; run < length; run *= 2) {
      const int64_t merges = (length + 2 * run - 1) / (2 * run);
      auto piece = [&](int64_t begin, int64_t end) {
        std::vector<const void *> arguments(2 * inputs.size());
        for (int64_t i = begin; i < end; ++i) {
          const int64_t low = i * 2 * run;
          merge(bases, arguments, order, other, low, std::min(low + run, length),
                std::min(low + 2 * run, length));
        }
      };
      if (pool)
        pool->parallelFor(merges, std::max<int64_t>(1, 1024 / run), piece);
      else
        piece(0, merges);
      std::swap(order, other);
    }
    place(from, to, row, order, pool);
  }

  void merge(const std::vector<const std::byte *> &bases, std::vector<const void *> &arguments,
             const uint64_t *order, uint64_t *out, int64_t begin, int64_t middle,
             int64_t end) const {
    auto goesBefore = [&](uint64_t lhs, uint64_t rhs) {
      for (size_t i = 0; i < inputs.size(); ++i) {
        arguments[2 * i] = bases[i] + static_cast<int64_t>(lhs) * inputs[i].bytes;
        arguments[2 * i + 1] = bases[i] + static_cast<int64_t>(rhs) * inputs[i].bytes;
      }
      uint8_t result = 0;
      void *results[] = {&result};
      comparator.body(arguments.data(), results);
      return result != 0;
    };
    int64_t left = begin, right = middle;
    // The two halves are already in order, as is common for sorted input.
    if (middle < end && !goesBefore(order[middle], order[middle - 1])) {
      std::copy(order + begin, order + end, out + begin);
      return;
    }
    for (int64_t to = begin; to < end; ++to) {
      // Take the right element only if it is strictly less, so that the sort is stable.
      const bool takesRight =
          left == middle || (right < end && goesBefore(order[right], order[left]));
      out[to] = order[takesRight ? right++ : left++];
    }
  }

  std::vector<Input> inputs;
  Comparator comparator;
  int64_t length, rows;
  bool isMoved;
};
} // namespace

static Result<SortKernel::Comparator> comparatorOf(const CallReader &reader,
                                                   const artifact::SortCall &call) {
  const LibrarySignature &types = reader.types;
  SortKernel::Comparator comparator;
  if (call.comparator == Comparator::function) {
    if (types.bodies.size() != 1)
      return reader.failure("must have exactly one comparator function, got ", types.bodies.size());
    comparator.body = types.bodies[0];
    return comparator;
  }
  const int64_t input = call.comparatorOperand;
  if (input < 0 || input >= static_cast<int64_t>(types.operands.size()))
    return reader.failure("comparator_operand must be the index of one of the ",
                          types.operands.size(), " inputs, got ", input);
  comparator.input = static_cast<size_t>(input);
  comparator.order = {call.comparatorTotalOrder ? SortOrder::Kind::total : SortOrder::Kind::byValue,
                      call.comparator == Comparator::greater};
  const ElementType type = types.operands[comparator.input].element;
  if (keyBits(type) == 0)
    return reader.failure("elements of ", numerics::spelling(type),
                          " cannot be ordered; use a comparator function");
  return comparator;
}

KernelResult prepareSort(const artifact::SortCall &call, const LibrarySignature &types) {
  CallReader reader(call.name, types);
  const size_t count = types.operands.size();
  if (count == 0)
    return reader.failure("must have at least one input");
  TILEWRIGHT_TRY(reader.expectCounts(count, count));
  TILEWRIGHT_ASSIGN(Shape shape, reader.operandShape(0));
  const int64_t dimension = call.dimension + (call.dimension < 0 ? shape.rank() : 0);
  if (shape.rank() > 0)
    TILEWRIGHT_TRY(reader.checkDims("dimension", Dims{dimension}, shape.rank()));
  TILEWRIGHT_ASSIGN(SortKernel::Comparator comparator, comparatorOf(reader, call));
  const int64_t length = shape.rank() == 0 ? 1 : shape[dimension];
  if (length > std::numeric_limits<uint32_t>::max())
    return reader.failure("the sorted dimension must have fewer than 2^32 elements, got ", length);
  const int64_t rows = shape.elementCount() == 0 ? 0 : shape.elementCount() / length;
  const bool isMoved = shape.rank() > 0 && shape.strides()[static_cast<size_t>(dimension)] != 1 &&
                       length > 1 && rows > 0;

  // Order the dimensions such that the sorted one is last; each row then runs along it.
  Dims order = remaining(shape.rank(), Dims{dimension});
  if (shape.rank() > 0)
    order.push_back(dimension);
  const Dims sizes = pick(shape.dims(), order), strides = pick(shape.strides(), order);
  TILEWRIGHT_ASSIGN(Shape rowShape, Shape::create(sizes));
  std::vector<SortKernel::Input> inputs;
  for (size_t i = 0; i < count; ++i) {
    if (types.operands[i].dims != types.operands[0].dims)
      return reader.failure("inputs must have the same shape, got ", typeString(types.operands[0]),
                            " and ", typeString(types.operands[i]));
    const ElementType type = types.operands[i].element;
    TILEWRIGHT_TRY(reader.expectResult(i, type, shape.dims()));
    const size_t bytes = numerics::storageBytes(type);
    SortKernel::Input input{type, static_cast<int64_t>(bytes), {}, {}};
    if (isMoved) {
      input.toRows = CopyPlan(sizes, strides, rowShape.strides(), bytes);
      input.fromRows = CopyPlan(sizes, rowShape.strides(), strides, bytes);
    }
    inputs.push_back(std::move(input));
  }
  return makeKernel<SortKernel>(std::move(inputs), comparator, length, rows, isMoved);
}

} // namespace tilewright::runtime::cpu
