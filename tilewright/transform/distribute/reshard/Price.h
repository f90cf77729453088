// Price: the cost of shardings, in bytes on the wire and equivalent work.
#ifndef TILEWRIGHT_TRANSFORM_DISTRIBUTE_RESHARD_PRICE_H
#define TILEWRIGHT_TRANSFORM_DISTRIBUTE_RESHARD_PRICE_H

#include "tilewright/transform/distribute/reshard/ReshardSearch.h"

#include "mlir/IR/Types.h"
#include "llvm/ADT/DenseMap.h"

#include <unordered_map>

namespace tilewright::distribute {

/// Prices are in bytes that a device sends. Other quantities are converted by ratios that are
/// chosen to separate what differs by much, not to predict a machine. A product is divided wherever
/// a sharding of the program allows it, because that is what the program's author wants, even if a
/// fast device could compute all of it sooner. Elementwise ops, which are fused, only decide
/// between plans that send the same number of bytes.
struct PriceRatios {
  double message = 1 << 16;     // the latency of a collective; less in programs of small tensors
  double flop = 1.0 / 8;        // of a product
  double touched = 1.0 / 16384; // a byte that an op reads or writes
  double carried = 1.0 / 4;     // a byte that a loop carries, and so holds as long as it runs
  /// The price of a byte of another sharding of a value that a loop only reads. It is more than 1,
  /// so that weights are gathered inside the loops over layers, although two loops then gather them
  /// twice: a program that shards its weights does not have the memory for all of them.
  double held = 2;
  double openOp = 1; // prefers sums that are closed early, if all else is equal
};

/// The shardings and tensor types of a program, numbered, and the prices of converting between
/// them, each computed once.
class Prices {
public:
  int intern(const Sharding &sharding);
  const Sharding &operator[](int sharding) const { return table[static_cast<size_t>(sharding)]; }
  /// The number that stands for a type's shape and element size; -1 if it is not a static tensor.
  int typeOf(mlir::Type type);
  double bytesOf(int type) const { return type < 0 ? 0 : types[static_cast<size_t>(type)].bytes; }
  /// The bytes of one device's shard.
  double shardBytes(int type, int sharding) const;

  /// The price of converting a value of `type` from one sharding into another.
  double reshard(int type, int from, int to);

  /// How a value reaches its uses: each `wanted` sharding is made from the one with which it is
  /// computed, or from `home`, which is made first. So a sum of which several uses want different
  /// shards is reduced only once.
  struct Route {
    double price;
    int home;
  };
  Route route(int type, int computed, llvm::ArrayRef<int> wanted);

  /// Limits the price of a message, so that a program of small tensors is sharded like one of large
  /// tensors. The unit is the largest tensor.
  void fitTo(double largestBytes);

  PriceRatios ratios;

private:
  double computeReshard(int type, int from, int to);

  struct TensorType {
    std::vector<int64_t> shape;
    double bytes, elementBytes;
  };
  std::vector<Sharding> table;
  std::unordered_multimap<size_t, int> numbers;
  std::vector<TensorType> types;
  llvm::DenseMap<mlir::Type, int> typeNumbers;
  std::vector<llvm::DenseMap<uint64_t, double>> reshards; // of each type, by both shardings
  /// The last price that was found in each place of a small table, which is looked at first.
  struct Recent {
    uint64_t pair = 0; // of shardings
    int type = -1;
    double price = 0;
  };
  static constexpr unsigned recentBits = 11;
  std::vector<Recent> recent = std::vector<Recent>(size_t(1) << recentBits);
  KnownReshards known;
  /// What is sent for each element, by both shardings, where all devices divide every dimension.
  llvm::DenseMap<uint64_t, ReshardTraffic> evenReshards;
};

} // namespace tilewright::distribute

#endif // TILEWRIGHT_TRANSFORM_DISTRIBUTE_RESHARD_PRICE_H
