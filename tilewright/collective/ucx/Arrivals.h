// Arrivals: tracks which of a peer's numbered messages have arrived, in any order.
#ifndef TILEWRIGHT_COLLECTIVE_UCX_ARRIVALS_H
#define TILEWRIGHT_COLLECTIVE_UCX_ARRIVALS_H

#include <cstdint>
#include <set>

namespace tilewright::collective::ucx {

/// The set of numbers that have arrived. Numbers start at zero, and each arrives once, in any
/// order.
class Arrivals {
public:
  void add(uint64_t number) {
    ahead.insert(number);
    while (!ahead.empty() && *ahead.begin() == next) {
      ahead.erase(ahead.begin());
      ++next;
    }
  }
  /// Whether this message and all before it have arrived. Counting messages is not sufficient,
  /// because later ones may have arrived first.
  bool haveAllUpTo(uint64_t number) const { return number < next; }

private:
  uint64_t next = 0;        // all before this one have arrived
  std::set<uint64_t> ahead; // later ones that have arrived
};

} // namespace tilewright::collective::ucx

#endif // TILEWRIGHT_COLLECTIVE_UCX_ARRIVALS_H
