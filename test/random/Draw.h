// Draw: random choices that are the same in every run and on every machine.
#ifndef TEST_RANDOM_DRAW_H
#define TEST_RANDOM_DRAW_H

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iterator>

namespace tilewright::random {

/// SplitMix64. The standard library's distributions differ between implementations.
class Draw {
public:
  explicit Draw(uint64_t seed) : state(seed * 0x9E3779B97F4A7C15 + 0x1234567) {}

  uint64_t bits() {
    uint64_t z = state += 0x9E3779B97F4A7C15;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9;
    z = (z ^ z >> 27) * 0x94D049BB133111EB;
    return z ^ z >> 31;
  }
  /// A number in [0, limit).
  int64_t below(int64_t limit) {
    return limit <= 1 ? 0 : static_cast<int64_t>((bits() >> 8) % static_cast<uint64_t>(limit));
  }
  /// A number in [low, high].
  int64_t number(int64_t low, int64_t high) { return low + below(high - low + 1); }
  /// True once in `n` times.
  bool oneIn(int64_t n) { return below(n) == 0; }

  template <typename T> T oneOf(std::initializer_list<T> list) {
    return list.begin()[below(static_cast<int64_t>(list.size()))];
  }
  template <typename List> auto &pick(List &list) {
    return list[static_cast<size_t>(below(static_cast<int64_t>(std::size(list))))];
  }

private:
  uint64_t state;
};

} // namespace tilewright::random

#endif // TEST_RANDOM_DRAW_H
