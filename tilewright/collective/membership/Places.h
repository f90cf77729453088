// Places: a set of processes of a job, each identified by its index in the list of processes.
#ifndef TILEWRIGHT_COLLECTIVE_MEMBERSHIP_PLACES_H
#define TILEWRIGHT_COLLECTIVE_MEMBERSHIP_PLACES_H

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace tilewright::collective::membership {

/// A set of bits. Up to 64 places need no heap memory. In a larger job, only nonzero words are
/// stored, so a set of few places is small wherever they are. Copies share their words until one of
/// them changes, so all processes of a simulated job share the members of a view. Copies must not
/// be used by several threads.
class Places {
public:
  static Places firstOf(size_t count) {
    Places all;
    for (size_t index = 0; index * 64 < count; ++index)
      all.set(index,
              count - index * 64 >= 64 ? ~uint64_t(0) : (uint64_t(1) << (count - index * 64)) - 1);
    return all;
  }

  bool has(size_t place) const { return word(place / 64) >> (place % 64) & 1; }
  void add(size_t place) {
    if (!has(place))
      set(place / 64, word(place / 64) | uint64_t(1) << (place % 64));
  }
  void remove(size_t place) {
    if (has(place))
      set(place / 64, word(place / 64) & ~(uint64_t(1) << (place % 64)));
  }
  bool isEmpty() const { return low == 0 && words().empty(); }
  size_t count() const {
    size_t bits = static_cast<size_t>(std::popcount(low));
    for (const Word &each : words())
      bits += static_cast<size_t>(std::popcount(each.bits));
    return bits;
  }
  /// The lowest place. The set must not be empty.
  size_t lowest() const {
    const Word first = low ? Word{0, low} : words().front();
    return first.index * 64 + static_cast<size_t>(std::countr_zero(first.bits));
  }

  Places &operator|=(const Places &other) {
    if (isEmpty())
      return *this = other;
    other.forEachWord([&](size_t index, uint64_t bits) { set(index, word(index) | bits); });
    return *this;
  }
  Places operator|(const Places &other) const { return Places(*this) |= other; }
  Places operator&(const Places &other) const {
    const bool isSmaller = words().size() <= other.words().size();
    const Places &few = isSmaller ? *this : other, &many = isSmaller ? other : *this;
    Places result;
    few.forEachWord(
        [&](size_t index, uint64_t bits) { result.set(index, bits & many.word(index)); });
    return result;
  }
  Places operator-(const Places &other) const {
    Places result = *this;
    if (words().size() <= other.words().size())
      forEachWord(
          [&](size_t index, uint64_t bits) { result.set(index, bits & ~other.word(index)); });
    else
      other.forEachWord(
          [&](size_t index, uint64_t bits) { result.set(index, word(index) & ~bits); });
    return result;
  }
  bool isWithin(const Places &other) const {
    if (high == other.high)
      return (low & ~other.low) == 0;
    bool isInside = true;
    forEachWord([&](size_t index, uint64_t bits) { isInside &= (bits & ~other.word(index)) == 0; });
    return isInside;
  }
  bool operator==(const Places &other) const { return isWithin(other) && other.isWithin(*this); }

  /// In ascending order.
  template <typename Visit> void forEach(Visit visit) const {
    const Places kept = *this; // `visit` may change this set
    kept.forEachWord([&](size_t index, uint64_t bits) {
      for (; bits; bits &= bits - 1)
        visit(index * 64 + static_cast<size_t>(std::countr_zero(bits)));
    });
  }

private:
  struct Word {
    size_t index;
    uint64_t bits; // not 0
  };
  using Words = std::vector<Word>; // ascending

  const Words &words() const {
    static const Words none;
    return high ? *high : none;
  }
  template <typename Visit> void forEachWord(Visit visit) const {
    if (low)
      visit(size_t(0), low);
    const std::shared_ptr<Words> kept = high;
    if (kept)
      for (const Word &each : *kept)
        visit(each.index, each.bits);
  }
  uint64_t word(size_t index) const {
    if (index == 0)
      return low;
    const Words &all = words();
    // The position of the word if none is missing, as in the members of a view.
    if (index <= all.size() && all[index - 1].index == index)
      return all[index - 1].bits;
    const auto found = std::lower_bound(all.begin(), all.end(), index, isBefore);
    return found != all.end() && found->index == index ? found->bits : 0;
  }
  void set(size_t index, uint64_t bits) {
    if (index == 0) {
      low = bits;
      return;
    }
    if (bits == word(index))
      return;
    if (!high)
      high = std::make_shared<Words>();
    else if (high.use_count() > 1)
      high = std::make_shared<Words>(*high);
    if (high->empty() || high->back().index < index) {
      high->push_back({index, bits});
      return;
    }
    const auto found = std::lower_bound(high->begin(), high->end(), index, isBefore);
    if (found->index != index)
      high->insert(found, {index, bits});
    else if (bits != 0)
      found->bits = bits;
    else
      high->erase(found);
    if (high->empty())
      high.reset();
  }
  static bool isBefore(const Word &word, size_t index) { return word.index < index; }

  uint64_t low = 0;            // the first 64 places
  std::shared_ptr<Words> high; // the others; null: none
};

} // namespace tilewright::collective::membership

#endif // TILEWRIGHT_COLLECTIVE_MEMBERSHIP_PLACES_H
