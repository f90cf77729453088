// RowArithmetic for types with native arithmetic. Included only where it is instantiated.
#ifndef TILEWRIGHT_RUNTIME_CPU_LIBRARY_ROWS_VECTORROWS_H
#define TILEWRIGHT_RUNTIME_CPU_LIBRARY_ROWS_VECTORROWS_H

#include "tilewright/runtime/cpu/library/rows/Numbers.h"
#include "tilewright/runtime/cpu/library/rows/RowArithmetic.h"

#include <algorithm>
#include <utility>

namespace tilewright::runtime::cpu {

template <typename Number, typename Op>
class VectorRows final : public IndexedRows<VectorRows<Number, Op>> {
  using Stored = typename Number::Stored;
  using Value = typename Number::Value;
  /// The number of lanes of a vector; the same on every machine, so that sums are too.
  static constexpr int lanes = Number::hasVectors ? int(64 / sizeof(Value)) : 1;
  using V = Vector<typename Number::Lane, lanes>;

public:
  VectorRows() : IndexedRows<VectorRows>(sizeof(Stored), sizeof(Value)) {}

  void identity(std::byte *value) const override {
    const Value none = Op::template identity<Value>();
    std::memcpy(value, &none, sizeof none);
  }

  void widen(const std::byte *stored, std::byte *values, int64_t count) const override {
    if constexpr (std::is_same_v<Stored, Value>)
      std::memcpy(values, stored, static_cast<size_t>(count) * sizeof(Stored));
    else
      eachVector(count, [=](int64_t i, auto isVector) TILEWRIGHT_LAMBDA {
        if constexpr (isVector.value)
          storeVector(valuesAt(values) + i, Number::template loadMany<lanes>(storedAt(stored) + i));
        else
          valuesAt(values)[i] = Number::load(storedAt(stored)[i]);
      });
  }

  void narrow(const std::byte *values, std::byte *stored, int64_t count) const override {
    if constexpr (std::is_same_v<Stored, Value>)
      std::memcpy(stored, values, static_cast<size_t>(count) * sizeof(Stored));
    else
      eachVector(count, [=](int64_t i, auto isVector) TILEWRIGHT_LAMBDA {
        if constexpr (isVector.value)
          Number::template storeMany<lanes>(storedAt(stored) + i,
                                            loadVector<V>(valuesAt(values) + i));
        else
          storedAt(stored)[i] = Number::store(valuesAt(values)[i]);
      });
  }

  void combine(std::byte *values, const std::byte *stored, int64_t count) const override {
    eachVector(count, [=](int64_t i, auto isVector) TILEWRIGHT_LAMBDA {
      if constexpr (isVector.value)
        storeVector(valuesAt(values) + i,
                    Op::apply(loadVector<V>(valuesAt(values) + i),
                              Number::template loadMany<lanes>(storedAt(stored) + i)));
      else
        valuesAt(values)[i] = Op::apply(valuesAt(values)[i], Number::load(storedAt(stored)[i]));
    });
  }

  void combineValues(std::byte *values, const std::byte *others, int64_t count) const override {
    eachVector(count, [=](int64_t i, auto isVector) TILEWRIGHT_LAMBDA {
      if constexpr (isVector.value)
        storeVector(valuesAt(values) + i, Op::apply(loadVector<V>(valuesAt(values) + i),
                                                    loadVector<V>(valuesAt(others) + i)));
      else
        valuesAt(values)[i] = Op::apply(valuesAt(values)[i], valuesAt(others)[i]);
    });
  }

  void combineTaps(std::byte *values, const std::byte *stored,
                   const TappedRows &rows) const override {
    if constexpr (Number::hasVectors) {
      if (rows.inner >= lanes)
        return withVectors([&](auto) TILEWRIGHT_LAMBDA {
          const int64_t *taps = rows.taps.data();
          const size_t count = rows.taps.size();
          for (int64_t p = 0; p < rows.positions; ++p) {
            const Stored *from = storedAt(stored) + p * rows.step;
            Value *to = valuesAt(values) + p * rows.inner;
            int64_t i = 0;
            for (; i + lanes <= rows.inner; i += lanes) {
              V value = Number::template loadMany<lanes>(from + taps[0] + i);
              for (size_t t = 1; t < count; ++t)
                value = Op::apply(value, Number::template loadMany<lanes>(from + taps[t] + i));
              storeVector(to + i, value);
            }
            for (; i < rows.inner; ++i) {
              Value value = Number::load(from[taps[0] + i]);
              for (size_t t = 1; t < count; ++t)
                value = Op::apply(value, Number::load(from[taps[t] + i]));
              to[i] = value;
            }
          }
        });
    }
    RowArithmetic::combineTaps(values, stored, rows);
  }

  void update(std::byte *target, const std::byte *stored, int64_t count) const override {
    eachVector(count, [=](int64_t i, auto isVector) TILEWRIGHT_LAMBDA {
      if constexpr (isVector.value)
        Number::template storeMany<lanes>(
            storedAt(target) + i,
            Op::apply(Number::template loadMany<lanes>(storedAt(target) + i),
                      Number::template loadMany<lanes>(storedAt(stored) + i)));
      else
        storedAt(target)[i] = Number::store(
            Op::apply(Number::load(storedAt(target)[i]), Number::load(storedAt(stored)[i])));
    });
  }

  void reduce(const std::byte *stored, int64_t count, std::byte *value) const override {
    Value result;
    if constexpr (Number::hasVectors) {
      if (count < lanes) {
        result = reduceFew(storedAt(stored), count);
      } else {
        withVectors([&](auto) TILEWRIGHT_LAMBDA { result = reduceMany(storedAt(stored), count); });
      }
    } else {
      result = reducePairs(storedAt(stored), count);
    }
    std::memcpy(value, &result, sizeof result);
  }

  void scan(const std::byte *stored, std::byte *to, int64_t count, bool reversed,
            const std::byte *carry, std::byte *total) const override {
    Value before, all;
    std::memcpy(&before, carry, sizeof before);
    if (!std::is_same_v<Stored, Value> && count <= maxRoundedSteps)
      all = scanRounded(storedAt(stored), storedAt(to), count, reversed, before);
    else if constexpr (Number::hasVectors && sizeof(Value) >= 4)
      withVectors([&](auto) TILEWRIGHT_LAMBDA {
        all = reversed ? scanVectors<true>(storedAt(stored), storedAt(to), count, before)
                       : scanVectors<false>(storedAt(stored), storedAt(to), count, before);
      });
    else
      all = scanOneByOne(storedAt(stored), storedAt(to), 0, count, reversed, before,
                         Op::template identity<Value>());
    std::memcpy(total, &all, sizeof all);
  }

  template <typename Index>
  static void updateEach(std::byte *target, int64_t targetStride, int64_t limit, const Index *index,
                         int64_t indexStride, const std::byte *stored, int64_t storedStride,
                         int64_t count) {
    for (int64_t i = 0; i < count; ++i) {
      const auto at = static_cast<int64_t>(index[i * indexStride]);
      if (static_cast<uint64_t>(at) >= static_cast<uint64_t>(limit))
        continue;
      Stored &element = storedAt(target)[at * targetStride];
      element = Number::store(
          Op::apply(Number::load(element), Number::load(storedAt(stored)[i * storedStride])));
    }
  }

private:
  static TILEWRIGHT_INLINE const Stored *storedAt(const std::byte *at) {
    return reinterpret_cast<const Stored *>(at);
  }
  static TILEWRIGHT_INLINE Stored *storedAt(std::byte *at) {
    return reinterpret_cast<Stored *>(at);
  }
  static TILEWRIGHT_INLINE const Value *valuesAt(const std::byte *at) {
    return reinterpret_cast<const Value *>(at);
  }
  static TILEWRIGHT_INLINE Value *valuesAt(std::byte *at) { return reinterpret_cast<Value *>(at); }

  /// Calls body(i, isVector) for whole vectors, then for the remaining elements one by one.
  template <typename Body> static void eachVector(int64_t count, Body body) {
    if constexpr (Number::hasVectors) {
      if (count >= lanes)
        return withVectors([&](auto) TILEWRIGHT_LAMBDA {
          int64_t i = 0;
          for (; i + lanes <= count; i += lanes)
            body(i, std::true_type());
          for (; i < count; ++i)
            body(i, std::false_type());
        });
    }
    for (int64_t i = 0; i < count; ++i)
      body(i, std::false_type());
  }

  static Value reduceFew(const Stored *from, int64_t count) {
    Value result = Number::load(from[0]);
    for (int64_t i = 1; i < count; ++i)
      result = Op::apply(result, Number::load(from[i]));
    return result;
  }
  /// Combines many elements pairwise, so that the error grows only with the logarithm of their
  /// number.
  static Value reducePairs(const Stored *from, int64_t count) {
    if (count <= 64)
      return reduceFew(from, count);
    const int64_t half = count / 2;
    return Op::apply(reducePairs(from, half), reducePairs(from + half, count - half));
  }

  /// Four independent vectors hide the latency of the operation. Blocks are combined in pairs, so
  /// that the error grows only with the logarithm of their number.
  static TILEWRIGHT_INLINE Value reduceMany(const Stored *from, int64_t count) {
    constexpr int64_t step = 4 * lanes, blockSize = 64 * step;
    V partial[48];
    int64_t block = 0, depth = 0, i = 0;
    while (count - i >= step) {
      const int64_t end = i + std::min(blockSize, (count - i) / step * step);
      V a = Number::template loadMany<lanes>(from + i);
      V b = Number::template loadMany<lanes>(from + i + lanes);
      V c = Number::template loadMany<lanes>(from + i + 2 * lanes);
      V d = Number::template loadMany<lanes>(from + i + 3 * lanes);
      for (i += step; i < end; i += step) {
        a = Op::apply(a, Number::template loadMany<lanes>(from + i));
        b = Op::apply(b, Number::template loadMany<lanes>(from + i + lanes));
        c = Op::apply(c, Number::template loadMany<lanes>(from + i + 2 * lanes));
        d = Op::apply(d, Number::template loadMany<lanes>(from + i + 3 * lanes));
      }
      partial[depth++] = Op::apply(Op::apply(a, b), Op::apply(c, d));
      // Combine two partial results of the same size whenever a bit of the block count carries
      // over.
      for (int64_t carry = ++block; (carry & 1) == 0; carry >>= 1, --depth)
        partial[depth - 2] = Op::apply(partial[depth - 2], partial[depth - 1]);
    }
    for (; count - i >= lanes; i += lanes)
      partial[depth++] = Number::template loadMany<lanes>(from + i);
    for (; depth > 1; --depth)
      partial[depth - 2] = Op::apply(partial[depth - 2], partial[depth - 1]);
    Value values[lanes];
    storeVector(values, partial[0]);
    for (int width = lanes / 2; width > 0; width /= 2)
      for (int lane = 0; lane < width; ++lane)
        values[lane] = Op::apply(values[lane], values[lane + width]);
    Value result = values[0];
    for (; i < count; ++i)
      result = Op::apply(result, Number::load(from[i]));
    return result;
  }

  static TILEWRIGHT_INLINE Value scanOneByOne(const Stored *from, Stored *to, int64_t begin,
                                              int64_t count, bool reversed, Value carry,
                                              Value running) {
    for (int64_t i = begin; i < count; ++i) {
      const int64_t at = reversed ? count - 1 - i : i;
      running = i == 0 ? Number::load(from[at]) : Op::apply(running, Number::load(from[at]));
      if (to)
        to[at] = Number::store(Op::apply(carry, running));
    }
    return running;
  }

  static Value scanRounded(const Stored *from, Stored *to, int64_t count, bool reversed,
                           Value carry) {
    Value running = Op::template identity<Value>();
    for (int64_t i = 0; i < count; ++i) {
      const int64_t at = reversed ? count - 1 - i : i;
      const Value value = Number::load(from[at]);
      running = i == 0 ? value : Number::load(Number::store(Op::apply(running, value)));
      if (to)
        to[at] = Number::store(Op::apply(carry, running));
    }
    return running;
  }

  /// Lane i takes lane i - shift; the first lanes take the identity.
  template <int shift, int... i>
  static TILEWRIGHT_INLINE V shifted(V value, V none, std::integer_sequence<int, i...>) {
    return __builtin_shufflevector(value, none, (i >= shift ? i - shift : lanes)...);
  }
  template <int... i> static TILEWRIGHT_INLINE V turned(V value, std::integer_sequence<int, i...>) {
    return __builtin_shufflevector(value, value, (lanes - 1 - i)...);
  }
  template <int... i> static TILEWRIGHT_INLINE V last(V value, std::integer_sequence<int, i...>) {
    return __builtin_shufflevector(value, value, (lanes - 1 + 0 * i)...);
  }
  template <int shift> static TILEWRIGHT_INLINE V prefix(V value, V none) {
    if constexpr (shift >= lanes)
      return value;
    else
      return prefix<2 * shift>(
          Op::apply(shifted<shift>(value, none, std::make_integer_sequence<int, lanes>()), value),
          none);
  }

  /// Computes prefixes within a vector in log2(lanes) steps; from one vector to the next, the
  /// dependency chain has only one operation.
  template <bool reversed>
  static TILEWRIGHT_INLINE Value scanVectors(const Stored *from, Stored *to, int64_t count,
                                             Value carry) {
    constexpr auto places = std::make_integer_sequence<int, lanes>();
    const V none = V(Op::template identity<Value>()), before = V(carry);
    V running = none;
    int64_t i = 0;
    for (; i + lanes <= count; i += lanes) {
      const int64_t at = reversed ? count - lanes - i : i;
      V value = Number::template loadMany<lanes>(from + at);
      if constexpr (reversed)
        value = turned(value, places);
      value = prefix<1>(value, none);
      if (to) {
        V out = Op::apply(before, Op::apply(running, value));
        if constexpr (reversed)
          out = turned(out, places);
        Number::template storeMany<lanes>(to + at, out);
      }
      running = Op::apply(running, last(value, places));
    }
    return scanOneByOne(from, to, i, count, reversed, carry, Value(running[0]));
  }
};

} // namespace tilewright::runtime::cpu

#endif // TILEWRIGHT_RUNTIME_CPU_LIBRARY_ROWS_VECTORROWS_H
