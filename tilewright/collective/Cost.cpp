#include "tilewright/collective/Cost.h"

#include <algorithm>

namespace tilewright::collective {

namespace {

struct Rate {
  double latency; // nanoseconds for each other rank
  double speed;   // bytes a nanosecond
};

/// Of large tensors, which do not fit into caches: so small ones are faster than predicted.
Rate rateOf(EngineKind engine) {
  switch (engine) {
  case EngineKind::local:
  case EngineKind::shm:
    return {450, 3.5};
  case EngineKind::tcp:
  case EngineKind::hosts:
    return {4500, 2.0};
  }
  return {4500, 2.0};
}

/// How often the bytes of a rank's operand pass through it.
double passesOf(Kind kind, double ranks) {
  const double others = ranks - 1;
  switch (kind) {
  case Kind::allReduce:
    return 2 * others / ranks;
  case Kind::reduceScatter:
  case Kind::allToAll:
  case Kind::raggedAllToAll:
    return others / ranks;
  case Kind::allGather:
    return others;
  case Kind::permute:
    return 1;
  case Kind::broadcast:
    return others; // the first sends to each
  case Kind::barrier:
    return 0;
  }
  return others;
}

class MeasuredCost final : public Cost {
public:
  std::chrono::nanoseconds estimate(const Step &step) const override {
    if (step.ranks <= 1)
      return std::chrono::nanoseconds(0);
    const auto ranks = static_cast<double>(step.ranks);
    const Rate rate = rateOf(step.engine);
    const double bytes = static_cast<double>(step.bytes) * passesOf(step.kind, ranks);
    return std::chrono::nanoseconds(
        static_cast<int64_t>(rate.latency * (ranks - 1) + bytes / rate.speed));
  }
};

} // namespace

const Cost &measuredCost() {
  static const MeasuredCost cost;
  return cost;
}

std::chrono::nanoseconds patienceFor(const Cost &cost, const Step &step,
                                     std::chrono::nanoseconds longest) {
  constexpr std::chrono::nanoseconds shortest = std::chrono::milliseconds(500);
  return std::min(std::max(3 * cost.estimate(step), shortest), longest);
}

} // namespace tilewright::collective
