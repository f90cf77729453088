// Groups: decides which ops of a block become one kernel, without changing the IR.
#ifndef TILEWRIGHT_TRANSFORM_FUSE_GROUPS_H
#define TILEWRIGHT_TRANSFORM_FUSE_GROUPS_H

#include "tilewright/transform/fuse/Classify.h"

#include "mlir/IR/Block.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/SmallVector.h"

#include <functional>
#include <string>
#include <vector>

namespace tilewright::fuse {

/// How a member relates to its group's iteration space.
enum class Role : uint8_t {
  full,     ///< one element for each point
  row,      ///< one element for each row, around a reduction
  internal, ///< computed where it is read, never stored
};

/// The iteration space of a kernel: a shape and the dimensions that a reduction reduces. The
/// dimensions that are not reduced form the rows.
struct Space {
  llvm::SmallVector<int64_t, 4> shape, reduced;
  int64_t elements = 1, rows = 1;
  bool reduces = false;
  /// The reduced dimensions are the last ones, so a row is contiguous in memory.
  bool trailing = false;
  /// Some members have another shape with the same number of elements.
  bool reshaped = false;

  int64_t rowLength() const { return rows ? elements / rows : 0; }
  bool sameReduction(const Space &other) const;
  std::string toString() const;
};

/// An op of the block, in program order.
struct Node {
  mlir::Operation *op = nullptr;
  OpClass opClass = OpClass::other;
  /// Whether it is a cloned op: every reader gets its own copy, and the op belongs to no group.
  bool floating = false;
  /// Whether the points at which it reads operands differ from those that it computes.
  bool moves = false;
  /// The maximum number of ops that cloning it copies, including the cloned ops that it reads.
  unsigned weight = 1;
  Role role = Role::full;
  unsigned group = ~0u;
  /// The nodes that it depends on, and those that depend on it, looking through cloned ops.
  llvm::SmallVector<unsigned, 4> dependencies, followers;
  /// The values in memory that it reads, looking through cloned ops.
  llvm::SmallVector<mlir::Value, 3> sources;
  /// Whether kernels of other groups that read its result compute it again (chooseRecomputed).
  bool recomputed = false;
  /// Whether its kernel stores its result although no op reads it there: what is computed again
  /// needs it.
  bool storedAsSource = false;
  /// Its position in a topological order of all kernels, if it does not belong to a group.
  unsigned rank = 0;
};

struct Group {
  Space space;
  unsigned parent;               // itself, or the group that it was merged into
  std::vector<unsigned> members; // in program order once finished
  unsigned rank = 0;             // position in a topological order of all kernels
  unsigned weight = 0;           // number of ops, including cloned ops
  bool expensive = false;
  bool gathers = false;
  /// How often an internal op is computed for each point, at most.
  int64_t copies = 1;
  int64_t operands = 0; // inputs and outputs (upper bound)
  /// Nodes whose results must be available before the kernel starts.
  llvm::SmallVector<unsigned, 2> parameters;
  unsigned joins = 0, siblings = 0;
  /// How many values of other groups it computes again, the cycles that this takes, and those of
  /// storing and loading these values instead.
  unsigned recomputed = 0;
  double recomputeCycles = 0, storeCycles = 0;
};

/// How an op reads a value through cloned ops.
struct Access {
  enum Kind { same, broadcast, other } kind = same;
  mlir::Value source; // null if no memory is read
  bool reshaped = false;
  /// For a broadcast: the dimensions of the reader that the source maps to.
  llvm::SmallVector<int64_t, 4> dims;
  /// For a broadcast: the product of the reader's leading dimensions if the source maps to exactly
  /// those, otherwise -1.
  int64_t leading = -1;
};

struct Limits {
  int64_t maxOps, maxOperands;
  /// Whether gathers may join other ops, which is so for CPUs. On GPUs, fuse-products joins them.
  bool fusesGathers = false;
};

/// Called for each decision with the producer, the consumer and the reason.
using Report = std::function<void(mlir::Operation *producer, mlir::Operation *consumer, bool joined,
                                  llvm::StringRef reason)>;

class Groups {
public:
  Groups(mlir::Block &block, Limits limits, Report report);

  /// Forms the groups.
  void run();

  /// Whether the op, which may be in an outer block, is cloned into its readers.
  bool isFloating(mlir::Operation *op) const;
  Node *nodeOf(mlir::Operation *op);
  /// The group of an op of this block; ~0u if it has none.
  unsigned groupOf(mlir::Operation *op);
  unsigned find(unsigned group);
  /// Finds the value in memory from which cloned ops compute `value`.
  Access resolve(mlir::Value value) const;
  /// Whether the kernel of a member stores its result, because something else reads it.
  bool isStored(unsigned member);
  /// The ops that read a value of this block, looking through cloned ops other than `except`.
  llvm::SmallSetVector<unsigned, 4> readersOf(mlir::Value value, mlir::Operation *except = nullptr);

  std::vector<Node> nodes;
  std::vector<Group> groups;
  const Limits limits;

private:
  void classifyNodes();
  void addDependencies(Node &node);
  void setSources(Node &node);
  void makeGroup(unsigned index);
  void joinProducers(unsigned index);
  /// Tries again to join producers whose readers were in several groups, if these groups have been
  /// merged since.
  void joinRefused();
  void joinSiblings();
  void joinScalars();
  void joinConversions();
  void dissolve();

  /// How two groups would become one kernel: the space, the roles of their members and the reason,
  /// or the refusal (null if they can be merged).
  struct Plan {
    const char *refusal = nullptr;
    const char *reason = "";
    Space space;
    Role producers = Role::full, consumers = Role::full;
    int64_t copies = 1; // Group::copies after the join
  };
  Plan plan(unsigned producer, unsigned consumer, const Access &access);
  Plan planInternal(unsigned producer, unsigned consumer);
  /// Merges the groups of a producer and its reader, and reports the decision. Returns null, or the
  /// reason if they cannot be merged.
  const char *tryJoin(unsigned producer, unsigned consumer, Plan plan);
  /// The number of different places at which the group of `reader` reads another group, for each of
  /// its own elements; 0 if a third group reads that group, too.
  int64_t placesRead(const Group &group, unsigned reader);
  /// Why a read between the two groups is impossible within one kernel; null if all are possible.
  const char *refuseEdges(unsigned producers, unsigned consumers, const Plan &plan);
  const char *refuseEdge(const Node &from, Role fromRole, const Node &to, Role toRole,
                         const Space &space);
  const char *refuseMerge(unsigned a, unsigned b);
  /// Finds a topological order in which the two groups are adjacent; returns false if another unit
  /// must run between them.
  bool findOrder(unsigned a, unsigned b);
  using Unit = unsigned; // a group, or a node without a group: see unitOf
  Unit unitOf(unsigned node);
  unsigned &rankOf(Unit unit);
  void forEachMember(Unit unit, llvm::function_ref<void(unsigned)> visit);
  unsigned merge(unsigned into, unsigned from, const Plan &plan, bool fromIsProducer);
  int64_t countOperands(unsigned a, unsigned b);

  mlir::Block &block;
  const Report report;
  llvm::DenseMap<mlir::Operation *, unsigned> index;
  /// Producers and readers that did not join because the producer has other readers.
  std::vector<std::pair<unsigned, unsigned>> refused;
  /// Results of findOrder(): the units that must run before and after the merged group, by rank.
  std::vector<Unit> before, after;
};

} // namespace tilewright::fuse

#endif // TILEWRIGHT_TRANSFORM_FUSE_GROUPS_H
