// Witness: observes what every process of a job delivers, and reports violations of the protocol.
#ifndef TILEWRIGHT_COLLECTIVE_MEMBERSHIP_TESTING_WITNESS_H
#define TILEWRIGHT_COLLECTIVE_MEMBERSHIP_TESTING_WITNESS_H

#include "tilewright/collective/membership/Places.h"

#include <string>
#include <vector>

namespace tilewright::collective::membership {

/// Checks the safety rules of docs/design/membership.md that a single step can violate.
class Witness {
public:
  /// Records that a process was started. Nodes are numbered in the order of these calls.
  void add(size_t place);
  void over(size_t node, uint64_t epoch);
  void deliver(size_t node, uint64_t epoch, const Places &members);
  void stop(size_t node);
  void crash(size_t node);
  /// The first violation; empty if there is none.
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

#endif // TILEWRIGHT_COLLECTIVE_MEMBERSHIP_TESTING_WITNESS_H
