#include "tilewright/transform/distribute/MinCut.h"

#include <algorithm>
#include <limits>

namespace tilewright::distribute {

size_t MinCut::addNode() {
  edgesOf.emplace_back();
  return edgesOf.size() - 3;
}

void MinCut::addEdge(size_t from, size_t to, double capacity) {
  edgesOf[from].push_back(edges.size());
  edges.push_back({to, capacity});
  edgesOf[to].push_back(edges.size());
  edges.push_back({from, 0});
}

void MinCut::price(size_t node, double ofZero, double ofOne) {
  // Only the difference between the two prices matters.
  if (ofOne > ofZero)
    addEdge(source, node + 2, ofOne - ofZero);
  else if (ofZero > ofOne)
    addEdge(node + 2, sink, ofZero - ofOne);
}

void MinCut::priceIfApart(size_t zero, size_t one, double price) {
  if (price > 0)
    addEdge(zero + 2, one + 2, price);
}

void MinCut::priceIfAnyApart(size_t node, llvm::ArrayRef<size_t> others, double ofOne,
                             double ofZero) {
  constexpr double infinite = std::numeric_limits<double>::infinity();
  if (others.size() == 1) {
    priceIfApart(node, others[0], ofOne);
    priceIfApart(others[0], node, ofZero);
    return;
  }
  if (ofOne > 0) {
    const size_t any = addNode();
    priceIfApart(node, any, ofOne);
    for (size_t other : others)
      priceIfApart(any, other, infinite);
  }
  if (ofZero > 0) {
    const size_t any = addNode();
    priceIfApart(any, node, ofZero);
    for (size_t other : others)
      priceIfApart(other, any, infinite);
  }
}

bool MinCut::computeLevels() {
  levels.assign(edgesOf.size(), -1);
  levels[source] = 0;
  std::vector<size_t> queue = {source};
  for (size_t at = 0; at < queue.size(); ++at)
    for (size_t edge : edgesOf[queue[at]])
      if (edges[edge].left > smallest && levels[edges[edge].to] < 0) {
        levels[edges[edge].to] = levels[queue[at]] + 1;
        queue.push_back(edges[edge].to);
      }
  return levels[sink] >= 0;
}

/// Sends as much flow as possible, up to `limit`, along one shortest path.
double MinCut::push(size_t start, double limit) {
  // An explicit stack: paths are as long as programs.
  std::vector<size_t> path;
  size_t node = start;
  while (node != sink) {
    bool goesOn = false;
    for (size_t &at = next[node]; at < edgesOf[node].size(); ++at) {
      const Edge &edge = edges[edgesOf[node][at]];
      if (edge.left > smallest && levels[edge.to] == levels[node] + 1) {
        path.push_back(edgesOf[node][at]);
        node = edge.to;
        goesOn = true;
        break;
      }
    }
    if (goesOn)
      continue;
    if (path.empty())
      return 0;
    node = edges[path.back() ^ 1].to;
    path.pop_back();
    ++next[node];
  }
  for (size_t edge : path)
    limit = std::min(limit, edges[edge].left);
  for (size_t edge : path) {
    edges[edge].left -= limit;
    edges[edge ^ 1].left += limit;
  }
  return limit;
}

std::vector<bool> MinCut::solve() {
  constexpr double infinite = std::numeric_limits<double>::infinity();
  double largest = 0;
  for (const Edge &edge : edges)
    if (edge.left < infinite)
      largest = std::max(largest, edge.left);
  smallest = largest * 1e-12;
  while (computeLevels()) {
    next.assign(edgesOf.size(), 0);
    while (push(source, infinite) > 0) {
    }
  }
  // To make the sink's side as small as possible, include only nodes that can still reach the sink.
  std::vector<bool> reaches(edgesOf.size());
  std::vector<size_t> queue = {sink};
  reaches[sink] = true;
  for (size_t at = 0; at < queue.size(); ++at)
    for (size_t edge : edgesOf[queue[at]])
      if (edges[edge ^ 1].left > smallest && !reaches[edges[edge].to]) {
        reaches[edges[edge].to] = true;
        queue.push_back(edges[edge].to);
      }
  return {reaches.begin() + 2, reaches.end()};
}

} // namespace tilewright::distribute
