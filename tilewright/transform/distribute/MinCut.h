// MinCut: the cheapest division of a graph's nodes into two sides.
#ifndef TILEWRIGHT_TRANSFORM_DISTRIBUTE_MINCUT_H
#define TILEWRIGHT_TRANSFORM_DISTRIBUTE_MINCUT_H

#include "llvm/ADT/ArrayRef.h"

#include <cstddef>
#include <vector>

namespace tilewright::distribute {

/// Decides a question with two answers for many nodes at once, at the least price in total.
///
///   MinCut cut(2);
///   cut.price(0, 5, 1);       // answer 0 costs 5 at node 0, answer 1 costs 1
///   cut.priceIfApart(1, 0, 3) // 3 if node 1 has answer 0 and node 0 has answer 1
///   cut.solve();              // {true, true}
///
/// Prices must not be negative. Dinic's algorithm: seldom more than a few passes over the graph.
class MinCut {
public:
  explicit MinCut(size_t nodes) : edgesOf(nodes + 2) {}

  size_t addNode();
  void price(size_t node, double ofZero, double ofOne);
  void priceIfApart(size_t zero, size_t one, double price);
  /// Costs `ofOne` if `node` has answer 0 and any of `others` has 1, and `ofZero` in the other
  /// case.
  void priceIfAnyApart(size_t node, llvm::ArrayRef<size_t> others, double ofOne, double ofZero);
  /// For each node, whether it has answer 1. If both answers cost the same, it has answer 0.
  std::vector<bool> solve();

private:
  static constexpr size_t source = 0, sink = 1; // source's side has answer 0
  struct Edge {
    size_t to;
    double left; // capacity that is not used
  };
  void addEdge(size_t from, size_t to, double capacity);
  bool computeLevels();
  double push(size_t node, double limit);

  std::vector<Edge> edges; // each is followed by its reverse
  std::vector<std::vector<size_t>> edgesOf;
  std::vector<int> levels;
  std::vector<size_t> next; // of each node, the edge to try next
  double smallest = 0;      // capacities below are used up: rounding leaves them
};

} // namespace tilewright::distribute

#endif // TILEWRIGHT_TRANSFORM_DISTRIBUTE_MINCUT_H
