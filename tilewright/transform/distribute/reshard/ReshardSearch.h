// ReshardSearch: the shortest path between two placements of mesh factors on a tensor's dimensions.
#ifndef TILEWRIGHT_TRANSFORM_DISTRIBUTE_RESHARD_RESHARDSEARCH_H
#define TILEWRIGHT_TRANSFORM_DISTRIBUTE_RESHARD_RESHARDSEARCH_H

#include "tilewright/transform/distribute/reshard/Reshard.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringMap.h"

#include <cstdint>
#include <vector>

namespace tilewright::distribute {

/// Factors of a mesh by number. A search copies many of these, so short ones do not allocate.
using FactorIds = llvm::SmallVector<uint8_t, 8>;

/// Where the factors of a mesh are: a list of them divides each dimension, outermost
/// first; along some of them the tensor is unreduced; along the others it is replicated.
struct Placement {
  llvm::SmallVector<FactorIds, 4> dims;
  FactorIds unreduced; // sorted
  bool operator==(const Placement &) const = default;
};

struct ReshardProblem {
  struct Dimension {
    int64_t size;       // of the global tensor
    int64_t shards = 1; // by axes that both shardings share and that are in no placement
  };

  Placement from, to;
  std::vector<Dimension> dims;
  std::vector<int64_t> sizes; // of each factor
};

struct ReshardStep {
  ExchangeKind kind;
  Placement to;
  FactorIds group;         // the factors along which devices communicate
  double wireElements = 0; // sent by one device
};

/// The cheapest path, as planReshard() describes it. A search that grows too large ends with the
/// path through the replicated tensor.
std::vector<ReshardStep> findReshard(const ReshardProblem &problem);

/// The traffic of reshards, in elements. Tensors of one program differ in their sizes and in the
/// order of their dimensions more than in how they are resharded, so few of many problems need a
/// search.
class KnownReshards {
public:
  ReshardTraffic find(const ReshardProblem &problem);
  size_t searches() const { return known.size(); }

private:
  llvm::StringMap<ReshardTraffic> known;
};

} // namespace tilewright::distribute

#endif // TILEWRIGHT_TRANSFORM_DISTRIBUTE_RESHARD_RESHARDSEARCH_H
