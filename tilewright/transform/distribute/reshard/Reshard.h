// Reshard: the cheapest sequence of exchanges that turns one sharding of a tensor into another.
#ifndef TILEWRIGHT_TRANSFORM_DISTRIBUTE_RESHARD_RESHARD_H
#define TILEWRIGHT_TRANSFORM_DISTRIBUTE_RESHARD_RESHARD_H

#include "tilewright/transform/distribute/Sharding.h"

#include "llvm/ADT/ArrayRef.h"

#include <string>
#include <vector>

namespace tilewright::distribute {

enum class ExchangeKind {
  slice,         // each device keeps a part of its shard; nothing is sent
  open,          // along new unreduced axes the value becomes a sum of terms; nothing is sent
  permute,       // each device gets the whole shard of another device
  allToAll,      // axes move from the end of some dimensions to the end of others
  allGather,     // axes leave the end of dimensions
  reduceScatter, // unreduced axes move to the end of dimensions
  allReduce,     // unreduced axes are reduced
};

llvm::StringRef toString(ExchangeKind kind);

/// One step of a reshard.
struct Exchange {
  ExchangeKind kind;
  Sharding from, to;
  /// The axes along which devices communicate, in the order of a group's members. A permute
  /// lists the axes that change their place.
  Axes axes;
  /// The bytes that one device sends, by the formulas of ring algorithms. With a shard of S bytes
  /// before the exchange and n devices in a group: all-reduce 2S(n-1)/n, reduce-scatter and
  /// all-to-all S(n-1)/n, all-gather S(n-1), permute S.
  double wireBytes = 0;
};

/// The exchanges that turn `from` into `to`, in order; none if the two are equal. Of all sequences
/// of exchanges it takes one that sends the fewest bytes, and of these one with the fewest
/// exchanges that send. Axes are divided into sub-axes where that helps. Axes along which both
/// shardings are replicated stay so.
///
/// A dimension whose size is not divisible by its number of shards is padded at its end to the
/// next multiple (Sharding::padded). Shards of different paddings have different borders, so such a
/// dimension is gathered between the two.
///
/// `shape` is the tensor's global shape. Both shardings must fit it.
std::vector<Exchange> planReshard(const Sharding &from, const Sharding &to,
                                  llvm::ArrayRef<int64_t> shape, double elementBytes);

/// The elements or bytes that one device sends in a reshard.
struct ReshardTraffic {
  double amount = 0;
  int exchanges = 0; // that send anything
};
class KnownReshards; // ReshardSearch.h

/// The traffic of planReshard(), in bytes.
ReshardTraffic trafficOf(const Sharding &from, const Sharding &to, llvm::ArrayRef<int64_t> shape,
                         double elementBytes, KnownReshards &known);

/// The bytes that one device sends in all of `exchanges`.
double wireBytes(llvm::ArrayRef<Exchange> exchanges);

/// "all-to-all {x} -> [{}, {x}]; all-gather {y} -> [{}, {}]".
std::string toString(llvm::ArrayRef<Exchange> exchanges);

} // namespace tilewright::distribute

#endif // TILEWRIGHT_TRANSFORM_DISTRIBUTE_RESHARD_RESHARD_H
