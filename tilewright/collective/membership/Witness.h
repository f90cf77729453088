// Witness: sees what every process of a job delivers, and says when that must not be.
#ifndef TILEWRIGHT_COLLECTIVE_MEMBERSHIP_WITNESS_H
#define TILEWRIGHT_COLLECTIVE_MEMBERSHIP_WITNESS_H

#include "tilewright/collective/membership/Places.h"

#include <string>
#include <vector>

namespace tilewright::collective::membership {

/// The rules of docs/design/membership.md, as far as one step can break them.
class Witness {
public:
  /// A process is started; its number is how many were before.
  void add(size_t place);
  void over(size_t node, uint64_t epoch);
  void deliver(size_t node, uint64_t epoch, const Places &members);
  void stop(size_t node);
  void crash(size_t node);
  /// The first one; empty: none.
  const std::string &problem() const { return first; }

private:
  struct Delivered {
    uint64_t epoch;
    Places members;
    bool isOver;
  };
  struct Node {
    size_t place;
    std::vector<Delivered> views;
    bool hasEnded = false;
  };
  void report(std::string text);
  std::vector<Node> nodes;
  std::string first;
};

} // namespace tilewright::collective::membership

#endif // TILEWRIGHT_COLLECTIVE_MEMBERSHIP_WITNESS_H
