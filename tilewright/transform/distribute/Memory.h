// Memory: an estimate of what one device holds while it runs a sharded program.
#ifndef TILEWRIGHT_TRANSFORM_DISTRIBUTE_MEMORY_H
#define TILEWRIGHT_TRANSFORM_DISTRIBUTE_MEMORY_H

#include "tilewright/transform/distribute/ShardingGraph.h"
#include "tilewright/transform/distribute/reshard/Price.h"

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
  };
  struct Peak {
    double bytes = 0;
    std::vector<Copy> copies; // held there
  };
  /// The most that a device holds at a time. Values are resharded as isReshardedLate() says.
  Peak peakOf(llvm::ArrayRef<Placed> values) const;

private:
  struct Span {
    int begin, end;                 // while it exists, in the sharding it is computed with
    llvm::SmallVector<int, 4> use;  // when each of its uses begins,
    llvm::SmallVector<int, 4> last; // and when it ends
    bool isStored;                  // not if a fusion makes it again for each use
  };

  const Prices &prices;
  llvm::ArrayRef<int> types;
  std::vector<Span> spans; // of each value
  int moments = 0;
};

} // namespace tilewright::distribute

#endif // TILEWRIGHT_TRANSFORM_DISTRIBUTE_MEMORY_H
