#include "tilewright/collective/conformance/Connect.h"
#include "tilewright/collective/simulate/SimulatedEngine.h"

#include <atomic>

namespace tilewright::collective::conformance {

namespace {

class SimulatedJob final : public ConnectedJob<SimulatedJob, simulate::SimulatedEngine> {};

/// Each job has its own cluster and its own seed.
SimulatedJob::Connect connectWith(std::chrono::nanoseconds timeout) {
  static std::atomic<uint64_t> seed = 1;
  auto cluster = std::make_shared<simulate::Cluster>(16, seed++);
  return [=](const Membership &members, KeyValueStore &) {
    simulate::SimulatedEngine::Options options;
    options.canSpin = false;
    options.timeout = timeout;
    return simulate::SimulatedEngine::connect(members, cluster, options);
  };
}

} // namespace

const std::vector<Kit> &kits() {
  static const std::vector<Kit> all = {connectedKit<SimulatedJob>("ProcessForEach", 1, connectWith),
                                       connectedKit<SimulatedJob>("ProcessForTwo", 2, connectWith)};
  return all;
}

} // namespace tilewright::collective::conformance
