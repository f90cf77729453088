// Price: how long one collective or one kernel takes on a cluster.
#ifndef TILEWRIGHT_PREDICT_PRICE_H
#define TILEWRIGHT_PREDICT_PRICE_H

#include "tilewright/numerics/Collective.h"
#include "tilewright/predict/Cluster.h"

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace tilewright::predict {

using numerics::CollectiveKind;

/// How the members of a group are spread over the network: `counts[0]` members in one domain of the
/// innermost level, `counts[1]` such domains in one domain of the next level, and so on.
struct GroupShape {
  std::vector<int64_t> counts;
  int64_t ranks() const {
    int64_t product = 1;
    for (int64_t count : counts)
      product *= count;
    return product;
  }
  bool operator==(const GroupShape &) const = default;
};

/// The shape of a group of ranks. If domains hold different numbers of members, the shape assumes
/// the largest number for all of them.
GroupShape shapeOf(const Cluster &cluster, std::span<const int64_t> members);
/// The shape of a group along some axes of a row-major mesh, each with its size and the distance
/// between neighbours.
struct StridedAxis {
  int64_t size, stride;
};
GroupShape shapeAlong(const Cluster &cluster, std::span<const StridedAxis> axes);
/// The shape of ranks 0, stride, 2 stride, …
GroupShape shapeAlong(const Cluster &cluster, int64_t ranks, int64_t stride);

/// The bytes of the whole tensor: the operand of all_reduce, reduce_scatter, all_to_all, permute
/// and broadcast, the result of all_gather. `operandBytes` are those that one rank contributes.
double wholeBytes(CollectiveKind kind, double operandBytes, int64_t ranks);

/// Seconds that a collective takes once all members have reached it. `bytes` are those of the whole
/// tensor. Inside a measured level the time is that of the tables; between domains it follows the
/// form of NCCL's rings and trees, with the latencies and bandwidths of the cluster.
double secondsOf(const Cluster &cluster, CollectiveKind kind, double bytes,
                 const GroupShape &shape);

/// The arithmetic and the memory traffic of one kernel.
struct Work {
  double flops = 0; // of matrix products
  double bytes = 0; // read and written
  /// The product's shape, if there is one: batch times (m x k) by (k x n).
  double batch = 1, m = 0, n = 0, k = 0;
  std::string_view type = "bf16"; // of the product's operands: bf16, f16, f8, f32
};
/// Seconds of one kernel, launch included: the slower of its arithmetic and its memory traffic.
double secondsOf(const Cluster &cluster, const Work &work);

} // namespace tilewright::predict

#endif // TILEWRIGHT_PREDICT_PRICE_H
