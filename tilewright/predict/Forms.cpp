#include "tilewright/predict/Forms.h"

#include "tilewright/support/Concat.h"

#include <algorithm>

namespace tilewright::predict {

std::string_view nameOf(const FormPrice &price) {
  return price.form ? nameOf(*price.form) : "nccl";
}

namespace {

/// Seconds of one barrier of all blocks among devices: a store to each peer and the last load that
/// sees it. We have not measured it: it is chosen such that one-shot and two-shot all-reduces on 8
/// H100s take the same time at 256 KiB, where XLA switches between them.
constexpr double barrierSeconds = 3.4e-6;
/// The size at which NCCL's transfers run at the rate of the links.
constexpr double largeBytes = 1 << 30;

/// Bytes that each rank sends over its links, relative to the whole tensor.
double sent(CollectiveKind kind, CollectiveForm form, double ranks) {
  const double others = (ranks - 1) / ranks;
  switch (kind) {
  case CollectiveKind::allReduce:
    // With multicast, the switch reads each part once and writes each result once.
    return form == CollectiveForm::oneShot     ? ranks - 1
           : form == CollectiveForm::multicast ? 1 + 1 / ranks
                                               : 2 * others;
  case CollectiveKind::allGather:
    return form == CollectiveForm::multicast ? 1 / ranks : others;
  case CollectiveKind::broadcast:
    return form == CollectiveForm::multicast ? 1 : ranks - 1;
  case CollectiveKind::permute:
    return 1;
  default:
    return others;
  }
}

/// Bytes that each rank receives, relative to the whole tensor. They limit multicast, where a rank
/// receives more than it sends.
double received(CollectiveKind kind, CollectiveForm form, double ranks) {
  if (form != CollectiveForm::multicast)
    return sent(kind, form, ranks);
  switch (kind) {
  case CollectiveKind::allReduce:
    return 1 + 1 / ranks;
  case CollectiveKind::reduceScatter:
    return 1 / ranks;
  default:
    return 1;
  }
}

bool exists(CollectiveKind kind, CollectiveForm form) {
  switch (form) {
  case CollectiveForm::oneShot:
    return kind == CollectiveKind::allReduce;
  case CollectiveForm::multicast:
    return kind == CollectiveKind::allReduce || kind == CollectiveKind::allGather ||
           kind == CollectiveKind::reduceScatter || kind == CollectiveKind::broadcast;
  default:
    return kind != CollectiveKind::barrier;
  }
}

} // namespace

std::vector<FormPrice> pricesOf(const Cluster &cluster, CollectiveKind kind, double bytes,
                                const GroupShape &shape, bool hasMulticast) {
  const auto ranks = static_cast<double>(shape.ranks());
  std::vector<FormPrice> prices = {{std::nullopt, secondsOf(cluster, kind, bytes, shape)}};
  const bool isInside = !shape.counts.empty() && shape.counts[0] == shape.ranks();
  if (isInside && ranks > 1) {
    // The rate of the links, from the time that NCCL takes for a large all-gather.
    const double rate = largeBytes * (ranks - 1) / ranks /
                        secondsOf(cluster, CollectiveKind::allGather, largeBytes, shape);
    for (CollectiveForm form :
         {CollectiveForm::oneShot, CollectiveForm::direct, CollectiveForm::multicast}) {
      if (!exists(kind, form) || (form == CollectiveForm::multicast && !hasMulticast))
        continue;
      const double barriers = form == CollectiveForm::oneShot ? 1 : 2;
      const double wire =
          bytes * std::max(sent(kind, form, ranks), received(kind, form, ranks)) / rate;
      prices.push_back({form, cluster.launch + barriers * barrierSeconds + wire});
    }
  }
  std::stable_sort(prices.begin(), prices.end(),
                   [](const FormPrice &a, const FormPrice &b) { return a.seconds < b.seconds; });
  return prices;
}

/// The built-in cluster whose chips have this compute capability.
static std::string clusterOf(std::string_view chip) {
  if (chip.starts_with("sm_80"))
    return "a100";
  if (chip.starts_with("sm_90"))
    return "h100";
  return chip.starts_with("sm_100") ? "b200" : chip.starts_with("sm_103") ? "gb300" : "";
}

FormChoice::FormChoice(std::string_view chip) : name(clusterOf(chip)) {}

bool FormChoice::prefersOwn(CollectiveKind kind, double operandBytes, int64_t ranks) {
  if (name.empty() || ranks < 2)
    return false;
  std::lock_guard lock(mutex);
  auto [known, isNew] = clusters.try_emplace(ranks);
  if (isNew)
    if (Result<Cluster> found = findCluster(concat(name, "x", ranks)); found.isOk())
      known->second = *std::move(found);
  if (!known->second)
    return false;
  const Cluster &cluster = *known->second;
  return pricesOf(cluster, kind, wholeBytes(kind, operandBytes, ranks),
                  shapeAlong(cluster, ranks, 1), /*hasMulticast=*/false)
      .front()
      .form.has_value();
}

} // namespace tilewright::predict
