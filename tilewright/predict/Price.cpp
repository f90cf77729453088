#include "tilewright/predict/Price.h"

#include "tilewright/predict/Measured.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace tilewright::predict {

namespace {

/// Kinds without measurements use those of the most similar kind.
CollectiveKind measuredAs(CollectiveKind kind) {
  switch (kind) {
  case CollectiveKind::raggedAllToAll:
    return CollectiveKind::allToAll;
  case CollectiveKind::barrier:
    return CollectiveKind::allReduce;
  case CollectiveKind::broadcast:
    return CollectiveKind::allGather;
  default:
    return kind;
  }
}

/// Bytes that leave each domain, relative to the tensor, if `members` of `ranks` are in the domain.
/// Rings pass every domain's boundary once; an all-to-all sends only what another domain needs.
double share(CollectiveKind kind, double ranks, double members) {
  const double ring = (ranks - 1) / ranks;
  switch (kind) {
  case CollectiveKind::allReduce:
  case CollectiveKind::barrier:
    return 2 * ring;
  case CollectiveKind::allToAll:
  case CollectiveKind::raggedAllToAll:
    return members * (ranks - members) / ranks;
  case CollectiveKind::permute:
    return members;
  default:
    return ring;
  }
}

/// Hops in sequence between `domains` domains.
double hops(CollectiveKind kind, double domains) {
  switch (kind) {
  case CollectiveKind::allReduce:
  case CollectiveKind::barrier:
    return std::min(2 * (domains - 1), 2 * std::ceil(std::log2(domains))); // ring or tree
  case CollectiveKind::broadcast:
    return std::ceil(std::log2(domains));
  case CollectiveKind::permute:
    return 1;
  case CollectiveKind::allToAll:
  case CollectiveKind::raggedAllToAll:
    // The messages to all peers are in flight at the same time; each costs a fraction of a hop.
    return 1 + (domains - 1) / 8;
  default:
    return domains - 1; // ring
  }
}

} // namespace

GroupShape shapeOf(const Cluster &cluster, std::span<const int64_t> members) {
  GroupShape shape;
  // The domains that have members, and how many domains of the level below each has.
  std::vector<int64_t> below(members.begin(), members.end());
  for (const FabricLevel &level : cluster.levels) {
    std::map<int64_t, std::vector<int64_t>> domains; // by number
    for (int64_t first : below)
      domains[first / level.ranks].push_back(first);
    size_t fullest = 1;
    below.clear();
    for (const auto &[number, inside] : domains) {
      fullest = std::max(fullest, inside.size());
      below.push_back(number * level.ranks);
    }
    shape.counts.push_back(static_cast<int64_t>(fullest));
  }
  return shape;
}

GroupShape shapeAlong(const Cluster &cluster, std::span<const StridedAxis> axes) {
  GroupShape shape;
  int64_t covered = 1; // members in one domain of the level below
  for (const FabricLevel &level : cluster.levels) {
    int64_t fit = 1;
    for (const StridedAxis &axis : axes)
      fit *= std::clamp<int64_t>(level.ranks / axis.stride, 1, axis.size);
    const int64_t count = std::max<int64_t>((fit + covered - 1) / covered, 1);
    shape.counts.push_back(count);
    covered *= count;
  }
  return shape;
}

GroupShape shapeAlong(const Cluster &cluster, int64_t ranks, int64_t stride) {
  const StridedAxis axis{ranks, stride};
  return shapeAlong(cluster, {&axis, 1});
}

double wholeBytes(CollectiveKind kind, double operandBytes, int64_t ranks) {
  return kind == CollectiveKind::allGather ? operandBytes * static_cast<double>(ranks)
                                           : operandBytes;
}

double secondsOf(const Cluster &cluster, CollectiveKind kind, double bytes,
                 const GroupShape &shape) {
  const auto ranks = static_cast<double>(shape.ranks());
  if (ranks < 2)
    return 0;
  double transfer = 0, latency = 0, members = 1;
  for (size_t i = 0; i < shape.counts.size(); ++i) {
    const FabricLevel &level = cluster.levels[i];
    const auto domains = static_cast<double>(shape.counts[i]);
    if (domains > 1 && level.isMeasured) {
      // A permute is not in the tables: half of an all-to-all between two ranks is one message.
      const bool isPermute = kind == CollectiveKind::permute;
      const auto seconds = CollectiveTimes::measured().seconds(
          cluster.collectives, isPermute ? CollectiveKind::allToAll : measuredAs(kind),
          isPermute ? 2 : shape.counts[i], isPermute ? 2 * bytes : bytes);
      transfer = std::max(transfer, seconds.value_or(0));
    } else if (domains > 1) {
      // The members of a domain share the traffic that leaves it.
      transfer =
          std::max(transfer, bytes * share(kind, ranks, members) / members / level.bandwidth);
      latency += hops(kind, domains) * level.latency;
    }
    members *= domains;
  }
  return transfer + latency;
}

double secondsOf(const Cluster &cluster, const Work &work) {
  double arithmetic = 0;
  if (work.flops > 0) {
    const auto rate = ProductRates::measured().flopsPerSecond(
        cluster.products, work.type, work.batch, std::max(work.m, 1.0), std::max(work.n, 1.0),
        std::max(work.k, 1.0));
    auto peak = cluster.peak.find(std::string(work.type));
    auto scale = cluster.productScale.find(std::string(work.type));
    const double attained = rate ? *rate * (scale == cluster.productScale.end() ? 1 : scale->second)
                            : peak != cluster.peak.end() ? peak->second
                                                         : cluster.peak.begin()->second;
    arithmetic = work.flops / attained;
  }
  return cluster.launch + std::max(arithmetic, work.bytes / cluster.memoryBandwidth);
}

} // namespace tilewright::predict
