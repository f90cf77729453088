// Memory: an estimate of what one device holds while it runs a sharded program.
#ifndef TILEWRIGHT_TRANSFORM_DISTRIBUTE_MEMORY_H
#define TILEWRIGHT_TRANSFORM_DISTRIBUTE_MEMORY_H

#include "tilewright/transform/distribute/ShardingGraph.h"
#include "tilewright/transform/distribute/reshard/Price.h"

#include <map>
#include <set>

namespace tilewright::distribute {

/// Whether a value, to hold less, is resharded before its first use in another sharding, instead of
/// where it is computed: if its other shards are larger than the one that is computed.
bool isReshardedLate(const Sharding &computed, llvm::ArrayRef<Sharding> others);

/// When the values of a program are in memory, if its ops run in program order.
///
/// An estimate: ops that fusion joins hold less, buffers that are combined or prefetched hold more.
/// The compiler checks the buffers of the finished program (E5050).
class Memory {
public:
  Memory(const ShardingGraph &graph, const Prices &prices, llvm::ArrayRef<int> types);

  /// How the value is sharded when it is computed, and for each of its uses.
  struct Placed {
    int computed;
    llvm::SmallVector<int, 4> wanted;
  };
  /// A shard of a value that a device holds.
  struct Copy {
    int value, sharding;
    int begin, end; // both included
    /// Made from the value as it is computed. Only these can be dropped and made again.
    bool isMade = false;
  };
  struct Peak {
    double bytes = 0;
    int moment = 0;
    std::vector<Copy> copies; // held there
  };
  /// By value and sharding: the moments, in order, at which a device drops a copy. It makes the
  /// copy again for later uses.
  using Drops = std::map<std::pair<int, int>, std::set<int>>;
  /// The most that a device holds at a time. Values are resharded as isReshardedLate() says.
  Peak peakOf(llvm::ArrayRef<Placed> values, const Drops &drops) const;

  /// While the peak exceeds the limit, drops the largest copy that is not used there and for which
  /// `isCheaper` (with its bytes) says that making it again costs less than holding it. `peak`
  /// becomes that of the values without them.
  void dropIdle(Peak &peak, double limit, llvm::ArrayRef<Placed> values, Drops &drops,
                llvm::function_ref<bool(const Copy &, double)> isCheaper) const;

  /// For each value that is dropped and made again, which copy each use reads.
  llvm::DenseMap<int, llvm::SmallVector<int>> copiesOf(llvm::ArrayRef<Placed> values,
                                                       const Drops &drops) const;

private:
  struct Span {
    int begin, end;                 // while it exists, in the sharding it is computed with
    llvm::SmallVector<int, 4> use;  // when each of its uses begins,
    llvm::SmallVector<int, 4> last; // and when it ends
    bool isStored;                  // not if a fusion makes it again for each use
  };

  /// Whether the copy has uses before and after the moment, and none at it.
  bool mayDrop(const Copy &copy, const Placed &placed, int moment) const;
  /// How often the copy that a use reads was dropped before.
  int dropsBefore(int value, size_t use, int sharding, const Drops &drops) const;

  const Prices &prices;
  llvm::ArrayRef<int> types;
  std::vector<Span> spans; // of each value
  int moments = 0;
};

} // namespace tilewright::distribute

#endif // TILEWRIGHT_TRANSFORM_DISTRIBUTE_MEMORY_H
