// Modes: the ways to place one axis of the mesh in a node.
#ifndef TILEWRIGHT_TRANSFORM_DISTRIBUTE_MODES_H
#define TILEWRIGHT_TRANSFORM_DISTRIBUTE_MODES_H

#include "tilewright/transform/distribute/Choose.h"

#include "llvm/ADT/DenseMap.h"

#include <deque>

namespace tilewright::distribute {

/// A choice and its consequences, identified by numbers (Prices).
struct Mode {
  Choice choice;
  llvm::SmallVector<int, 3> wants, gives; // shardings of operands and results
  double work = 0;
  unsigned number = 0; // counts all modes that are made
};

/// A number that depends on all bits of `value`, so that a sum of such numbers tells what was
/// added.
uint64_t scattered(uint64_t value);

/// The distinct shardings that the uses of a value want, each with the number of uses that want it.
class Wants {
public:
  struct Want {
    int sharding, uses;
  };

  llvm::ArrayRef<Want> list() const { return all; }
  bool contain(int sharding) const {
    return llvm::any_of(all, [&](const Want &one) { return one.sharding == sharding; });
  }
  /// A number for what is wanted, in whatever order it was added.
  uint64_t state() const { return sum; }

  void clear() {
    all.clear();
    sum = 0;
  }
  /// Adds uses, or removes them if `uses` is negative.
  void add(int sharding, int uses);

private:
  llvm::SmallVector<Want, 2> all;
  uint64_t sum = 0;
};

struct MeshAxisRef {
  std::shared_ptr<const numerics::MeshCoordinates> mesh;
  size_t axis;

  bool operator==(const MeshAxisRef &) const = default;
};

/// Makes the modes of nodes for axes that are placed one after the other. Nodes whose modes would
/// be equal, such as elementwise ops on tensors of the same shape, share them.
class Modes {
public:
  Modes(const ShardingGraph &graph, Prices &prices);

  /// Marks `axis` as placed. Shardings that the program fixes are followed only along placed axes.
  void activate(const MeshAxisRef &axis) {
    active.push_back(axis);
    earlier.push_back(std::move(made));
    made = std::vector<std::deque<Placing>>(graph.nodes.size());
    placed.clear();
  }

  /// All modes live as long as this object.
  const Mode &makeOne(int node, Choice choice) {
    return singles.emplace_back(make(node, std::move(choice)));
  }
  /// The alternatives for one axis: the choice `now` without `axis`, then with it in each loop that
  /// it can split, then as a partial sum. Computed once. `now` must be a mode of the node, and
  /// `axis` must be active.
  const std::vector<Mode> &placing(int node, const Mode &now, const MeshAxisRef &axis);

  /// Counts the active axes.
  unsigned numberOf(const MeshAxisRef &axis) const {
    return static_cast<unsigned>(llvm::find(active, axis) - active.begin());
  }

private:
  /// Sets `firstAlike`.
  void findAlike();
  const std::vector<Mode> &findPlacing(int node, const Choice &now, const MeshAxisRef &axis);
  Mode make(int node, Choice choice);
  std::vector<Mode> makePlacing(int node, Choice base, const MeshAxisRef &axis);
  bool isActive(const std::shared_ptr<const numerics::MeshCoordinates> &mesh, size_t axis) const;
  /// Those of the axes that are active.
  Axes projected(const std::shared_ptr<const numerics::MeshCoordinates> &mesh, Axes axes) const;
  Sharding projected(Sharding sharding) const;
  double workOf(const GraphNode &node, int number, const Mode &mode) const;

  const ShardingGraph &graph;
  Prices &prices;
  std::vector<MeshAxisRef> active;
  std::vector<double> flops; // of each node
  std::vector<llvm::SmallVector<int, 3>> inTypes, outTypes;
  std::vector<int> firstAlike; // of each node: the first one that has the same modes
  /// The results of placing(), by current mode and index of the axis in `active`.
  llvm::DenseMap<std::pair<const Mode *, unsigned>, const std::vector<Mode> *> placed;
  /// For the first node of each kind: the result of placing() for a choice without the axis.
  struct Placing {
    Choice base;
    MeshAxisRef axis;
    std::vector<Mode> modes;
  };
  std::vector<std::deque<Placing>> made;
  std::vector<std::vector<std::deque<Placing>>> earlier; // before activate()
  std::deque<Mode> singles;
  unsigned modeCount = 0;
};

} // namespace tilewright::distribute

#endif // TILEWRIGHT_TRANSFORM_DISTRIBUTE_MODES_H
