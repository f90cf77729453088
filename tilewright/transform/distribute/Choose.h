// Choose: the cheapest shardings of a program.
#ifndef TILEWRIGHT_TRANSFORM_DISTRIBUTE_CHOOSE_H
#define TILEWRIGHT_TRANSFORM_DISTRIBUTE_CHOOSE_H

#include "tilewright/transform/distribute/ShardingGraph.h"
#include "tilewright/transform/distribute/reshard/Price.h"

namespace tilewright::distribute {

struct Choices {
  std::vector<Choice> nodes;
  double price = 0;
  double peakBytes = 0; // that a device holds at a time, if there is a limit (Memory.h)
  /// For each value that is listed: the number of the copy that each use reads, in the order in
  /// which copies are made. Other values have one copy in each sharding.
  llvm::DenseMap<int, llvm::SmallVector<int>> copyOf;
};

/// Chooses a sharding for every node. Shardings of the program are followed; everything else is
/// chosen by price: bytes on the wire, work that is not divided, bytes that ops read and write.
///
/// The axes of the mesh are placed one after the other. For each axis, a pass in program order
/// computes for every placement of every value what it costs at least to have it, and a pass
/// backwards takes the cheapest, so that a sharding reaches the operands and the uses for which it
/// pays, through any number of ops (dynamic programming: exact where values have one use). Then
/// single nodes are changed as long as the price of the whole program falls.
///
/// With a `memoryLimit`, a plan that holds more than so many bytes of a device at a time is chosen
/// only if no other is found. Copies in another sharding, such as gathered weights, are dropped
/// where they are not used and made again later, if that is cheaper.
Choices choose(const ShardingGraph &graph, Prices &prices, int64_t memoryLimit = 0);

} // namespace tilewright::distribute

#endif // TILEWRIGHT_TRANSFORM_DISTRIBUTE_CHOOSE_H
