// Arrivals: which of numbered messages have come, when they overtake each other.
#ifndef TILEWRIGHT_COLLECTIVE_UCX_ARRIVALS_H
#define TILEWRIGHT_COLLECTIVE_UCX_ARRIVALS_H

#include <cstdint>
#include <set>

namespace tilewright::collective::ucx {

/// Numbers from zero, each once, in any order.
class Arrivals {
public:
  void add(uint64_t number) {
    ahead.insert(number);
    while (!ahead.empty() && *ahead.begin() == next) {
      ahead.erase(ahead.begin());
      ++next;
    }
  }
  /// Whether this one and all before it have come. To count them would not do: later ones may have
  /// come instead.
  bool haveAllUpTo(uint64_t number) const { return number < next; }

private:
  uint64_t next = 0;        // all before have come
  std::set<uint64_t> ahead; // of the others
};

} // namespace tilewright::collective::ucx

#endif // TILEWRIGHT_COLLECTIVE_UCX_ARRIVALS_H
