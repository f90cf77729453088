// Places: a set of processes of a job, each identified by its index in the list of processes.
#ifndef TILEWRIGHT_COLLECTIVE_MEMBERSHIP_PLACES_H
#define TILEWRIGHT_COLLECTIVE_MEMBERSHIP_PLACES_H

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace tilewright::collective::membership {

/// A bit set. Up to 64 places need no heap memory.
class Places {
public:
  static Places firstOf(size_t count) {
    Places all;
    for (size_t place = 0; place < count; ++place)
      all.add(place);
    return all;
  }

  bool has(size_t place) const { return word(place / 64) >> (place % 64) & 1; }
  void add(size_t place) { grown(place / 64) |= uint64_t(1) << (place % 64); }
  void remove(size_t place) {
    if (has(place))
      grown(place / 64) &= ~(uint64_t(1) << (place % 64));
  }
  bool isEmpty() const { return count() == 0; }
  size_t count() const {
    size_t bits = static_cast<size_t>(std::popcount(low));
    for (uint64_t each : high)
      bits += static_cast<size_t>(std::popcount(each));
    return bits;
  }
  /// The lowest place. The set must not be empty.
  size_t lowest() const {
    size_t index = 0;
    while (word(index) == 0)
      ++index;
    return index * 64 + static_cast<size_t>(std::countr_zero(word(index)));
  }

  Places &operator|=(const Places &other) {
    for (size_t i = 0; i < other.words(); ++i)
      if (other.word(i))
        grown(i) |= other.word(i);
    return *this;
  }
  Places operator|(const Places &other) const { return Places(*this) |= other; }
  Places operator&(const Places &other) const {
    Places result;
    for (size_t i = 0; i < words(); ++i)
      if (const uint64_t both = word(i) & other.word(i))
        result.grown(i) = both;
    return result;
  }
  Places operator-(const Places &other) const {
    Places result;
    for (size_t i = 0; i < words(); ++i)
      if (const uint64_t left = word(i) & ~other.word(i))
        result.grown(i) = left;
    return result;
  }
  bool isWithin(const Places &other) const { return (*this - other).isEmpty(); }
  bool operator==(const Places &other) const { return isWithin(other) && other.isWithin(*this); }

  /// In ascending order.
  template <typename Visit> void forEach(Visit visit) const {
    for (size_t i = 0; i < words(); ++i)
      for (uint64_t left = word(i); left; left &= left - 1)
        visit(i * 64 + static_cast<size_t>(std::countr_zero(left)));
  }

private:
  size_t words() const { return 1 + high.size(); }
  uint64_t word(size_t index) const {
    return index == 0 ? low : index <= high.size() ? high[index - 1] : 0;
  }
  uint64_t &grown(size_t index) {
    if (index > high.size())
      high.resize(index);
    return index == 0 ? low : high[index - 1];
  }
  uint64_t low = 0;
  std::vector<uint64_t> high;
};

} // namespace tilewright::collective::membership

#endif // TILEWRIGHT_COLLECTIVE_MEMBERSHIP_PLACES_H
