// Groups: which ops of one block will become one kernel, decided without
// changing the IR.
#ifndef TILEWRIGHT_TRANSFORM_FUSE_GROUPS_H
#define TILEWRIGHT_TRANSFORM_FUSE_GROUPS_H

#include "tilewright/transform/fuse/Classify.h"

#include "mlir/IR/Block.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallVector.h"

#include <functional>
#include <string>
#include <vector>

namespace tilewright::fuse {

/// How a member of a group lies in the group's space.
enum class Role : uint8_t {
  full,     ///< one element for each point
  row,      ///< one element for each row, around a reduction
  internal, ///< computed where it is read, never stored
};

/// The points that a kernel goes over: a shape, of which a reduction may fold
/// dimensions. What is left of it then are the rows.
struct Space {
  llvm::SmallVector<int64_t, 4> shape, reduced;
  int64_t elements = 1, rows = 1;
  bool reduces = false;
  /// The reduced dimensions are the last ones, so a row is one piece of memory.
  bool trailing = false;
  /// Some members see the points under another shape of as many elements.
  bool reshaped = false;

  int64_t rowLength() const { return rows ? elements / rows : 0; }
  bool sameReduction(const Space &other) const;
  std::string toString() const;
};

/// An op of the block, in program order.
struct Node {
  mlir::Operation *op = nullptr;
  OpClass opClass = OpClass::other;
  /// Copied into whoever reads it; belongs to no group.
  bool floating = false;
  /// Ops that a copy takes along, at most.
  unsigned weight = 1;
  Role role = Role::full;
  unsigned group = ~0u;
  /// Nodes that it waits for, those that float looked through; and the other way round.
  llvm::SmallVector<unsigned, 4> dependencies, followers;
  /// What its operands are read from, where that lies in memory.
  llvm::SmallVector<mlir::Value, 3> sources;
  /// Its place in an order of all kernels, while it is in no group.
  unsigned rank = 0;
};

struct Group {
  Space space;
  unsigned parent;               // itself, or the group that it joined
  std::vector<unsigned> members; // in program order once finished
  unsigned rank = 0;             // place in an order of all kernels
  unsigned weight = 0;           // ops with the copies that float
  bool expensive = false;
  int64_t operands = 0; // inputs and outputs, at most
  /// Nodes whose results must be there before the kernel starts.
  llvm::SmallVector<unsigned, 2> parameters;
  unsigned joins = 0, siblings = 0;
};

/// How an op reads the value that a non-floating node made.
struct Access {
  enum Kind { same, broadcast, other } kind = same;
  mlir::Value source; // null if what is read comes from no memory at all
  bool reshaped = false;
  /// For a broadcast: the dimensions of the reader that the source lies in.
  llvm::SmallVector<int64_t, 4> dims;
  /// For a broadcast: product of the leading dimensions if it lies in exactly those, else -1.
  int64_t leading = -1;
};

struct Limits {
  int64_t maxOps, maxOperands;
};

/// Called for each decision: producer, consumer, and why (not).
using Report = std::function<void(mlir::Operation *producer, mlir::Operation *consumer, bool joined,
                                  llvm::StringRef reason)>;

class Groups {
public:
  Groups(mlir::Block &block, Limits limits, Report report);

  /// Decides.
  void run();

  /// Whether the op is copied into its readers, wherever it is defined.
  bool isFloating(mlir::Operation *op) const;
  Node *nodeOf(mlir::Operation *op);
  /// The group of an op of this block, ~0u if it has none.
  unsigned groupOf(mlir::Operation *op);
  unsigned find(unsigned group);
  /// Where `value`, read by some op, comes from.
  Access resolve(mlir::Value value) const;

  std::vector<Node> nodes;
  std::vector<Group> groups;

private:
  void classifyNodes();
  void addDependencies(Node &node);
  void makeGroup(unsigned index);
  void joinProducers(unsigned index);
  void joinSiblings();
  void joinScalars();
  void dissolve();

  /// Null if the groups may be one kernel, else the reason why not. Roles as they would be.
  struct Plan {
    const char *refusal = nullptr;
    const char *reason = "";
    Space space;
    Role producers = Role::full, consumers = Role::full;
  };
  Plan plan(unsigned producer, unsigned consumer, const Access &access);
  Plan planInternal(unsigned producer, unsigned consumer);
  /// Whether every op of the one that reads the other still may, in one kernel.
  const char *refuseEdges(unsigned producers, unsigned consumers, const Plan &plan);
  const char *refuseEdge(const Node &from, Role fromRole, const Node &to, Role toRole,
                         const Space &space);
  const char *refuseMerge(unsigned a, unsigned b);
  bool isOnlyReadBy(const Group &group, unsigned reader);
  /// An order in which the two are neighbours; nothing if an op lies between them.
  bool findOrder(unsigned a, unsigned b);
  using Unit = unsigned; // a group, or a node in no group: see unitOf
  Unit unitOf(unsigned node);
  unsigned &rankOf(Unit unit);
  void forEachMember(Unit unit, llvm::function_ref<void(unsigned)> visit);
  unsigned merge(unsigned into, unsigned from, const Plan &plan, bool fromIsProducer);
  int64_t countOperands(unsigned a, unsigned b);

  mlir::Block &block;
  const Limits limits;
  const Report report;
  llvm::DenseMap<mlir::Operation *, unsigned> index;
  /// What findOrder found: units before and after the two, by rank.
  std::vector<Unit> before, after;
};

} // namespace tilewright::fuse

#endif // TILEWRIGHT_TRANSFORM_FUSE_GROUPS_H
