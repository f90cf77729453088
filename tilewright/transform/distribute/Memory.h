// Memory: estimates how many bytes a device holds while it runs a sharded program.
#ifndef TILEWRIGHT_TRANSFORM_DISTRIBUTE_MEMORY_H
#define TILEWRIGHT_TRANSFORM_DISTRIBUTE_MEMORY_H

#include "tilewright/transform/distribute/ShardingGraph.h"
#include "tilewright/transform/distribute/reshard/Price.h"

#include <map>
#include <set>

namespace tilewright::distribute {

/// Whether a value is resharded only before its first use in another sharding, to hold less,
/// instead of where it is computed: this is so if its other shards are larger than the computed
/// one.
bool isReshardedLate(const Sharding &computed, llvm::ArrayRef<Sharding> others);

/// When the values of a program are in memory, if its ops run in program order.
///
/// An estimate: ops that fusion joins hold less, buffers that are combined or prefetched hold more.
/// The compiler checks the buffers of the finished program (E5050).
class Memory {
public:
  Memory(const ShardingGraph &graph, const Prices &prices, llvm::ArrayRef<int> types);

  /// The sharding with which a value is computed, and the one that each use wants.
  struct Placed {
    int computed;
    llvm::SmallVector<int, 4> wanted;
  };
  /// A shard of a value that a device holds.
  struct Copy {
    int value, sharding;
    int begin, end; // both included
    /// Whether the shard was made from the computed one. Only such a shard can be dropped and made
    /// again.
    bool isMade = false;
  };
  struct Peak {
    double bytes = 0;
    int moment = 0;
    std::vector<Copy> copies; // held there
  };
  /// By value and sharding: the moments at which a device drops a copy, which it makes again for
  /// later uses.
  using Drops = std::map<std::pair<int, int>, std::set<int>>;
  /// The maximum number of bytes that a device holds at a time, if values are resharded as
  /// isReshardedLate() says.
  Peak peakOf(llvm::ArrayRef<Placed> values, const Drops &drops) const;

  /// While the peak exceeds the limit, drops the largest copy that is idle at the peak and for
  /// which `isCheaper` (called with its size in bytes) says that making it again costs less than
  /// holding it. Updates `peak`.
  void dropIdle(Peak &peak, double limit, llvm::ArrayRef<Placed> values, Drops &drops,
                llvm::function_ref<bool(const Copy &, double)> isCheaper) const;

  /// For each value with a dropped copy: the number of the copy that each use reads.
  llvm::DenseMap<int, llvm::SmallVector<int>> copiesOf(llvm::ArrayRef<Placed> values,
                                                       const Drops &drops) const;

private:
  struct Span {
    int begin, end;                 // while it exists, in the sharding it is computed with
    llvm::SmallVector<int, 4> use;  // when each of its uses begins,
    llvm::SmallVector<int, 4> last; // and when it ends
    bool isStored;                  // not if a fusion makes it again for each use
  };

  /// Whether the copy is used before and after the moment, but not at it.
  bool mayDrop(const Copy &copy, const Placed &placed, int moment) const;
  /// The number of times that the copy was dropped before this use.
  int dropsBefore(int value, size_t use, int sharding, const Drops &drops) const;

  const Prices &prices;
  llvm::ArrayRef<int> types;
  std::vector<Span> spans; // of each value
  int moments = 0;
};

} // namespace tilewright::distribute

#endif // TILEWRIGHT_TRANSFORM_DISTRIBUTE_MEMORY_H
