// Modes: the ways to place one axis of the mesh in a node.
#ifndef TILEWRIGHT_TRANSFORM_DISTRIBUTE_MODES_H
#define TILEWRIGHT_TRANSFORM_DISTRIBUTE_MODES_H

#include "tilewright/transform/distribute/Choose.h"

#include <deque>

namespace tilewright::distribute {

/// A choice with what follows from it, by number (Prices).
struct Mode {
  Choice choice;
  llvm::SmallVector<int, 3> wants, gives; // shardings of operands and results
  double work = 0;
};

struct MeshAxisRef {
  std::shared_ptr<const numerics::MeshCoordinates> mesh;
  size_t axis;

  bool operator==(const MeshAxisRef &) const = default;
};

/// Makes the modes of nodes for axes that are placed one after the other.
class Modes {
public:
  Modes(const ShardingGraph &graph, Prices &prices);

  /// From now on, `axis` is placed. Shardings that the program fixes are followed only along axes
  /// that are.
  void activate(const MeshAxisRef &axis) {
    active.push_back(axis);
    earlier.push_back(std::move(made));
    made = std::vector<std::deque<Placing>>(graph.nodes.size());
  }

  /// All modes live as long as this.
  const Mode &makeOne(int node, Choice choice) {
    return singles.emplace_back(make(node, std::move(choice)));
  }
  /// The choice without `axis`, then with it in each loop that it can split, then as a partial sum.
  /// Made once.
  const std::vector<Mode> &placing(int node, const Choice &now, const MeshAxisRef &axis);

private:
  Mode make(int node, Choice choice);
  std::vector<Mode> makePlacing(int node, Choice base, const MeshAxisRef &axis);
  /// The axes that are active.
  Axes projected(const std::shared_ptr<const numerics::MeshCoordinates> &mesh,
                 const Axes &axes) const;
  Sharding projected(const Sharding &sharding) const;
  double workOf(const GraphNode &node, int number, const Mode &mode) const;

  const ShardingGraph &graph;
  Prices &prices;
  std::vector<MeshAxisRef> active;
  std::vector<double> flops; // of each node
  std::vector<llvm::SmallVector<int, 3>> inTypes, outTypes;
  /// Of each node: what placing() made of a choice without the axis.
  struct Placing {
    Choice base;
    MeshAxisRef axis;
    std::vector<Mode> modes;
  };
  std::vector<std::deque<Placing>> made;
  std::vector<std::vector<std::deque<Placing>>> earlier; // before activate()
  std::deque<Mode> singles;
};

} // namespace tilewright::distribute

#endif // TILEWRIGHT_TRANSFORM_DISTRIBUTE_MODES_H
