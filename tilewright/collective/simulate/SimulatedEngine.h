// SimulatedEngine: collectives between simulated processes.
#ifndef TILEWRIGHT_COLLECTIVE_SIMULATE_SIMULATEDENGINE_H
#define TILEWRIGHT_COLLECTIVE_SIMULATE_SIMULATEDENGINE_H

#include "tilewright/collective/messages/MessageEngine.h"
#include "tilewright/collective/simulate/Cluster.h"

namespace tilewright::collective::simulate {

/// An engine that exchanges and reduces real data over a simulated network with simulated time. All
/// processes of the job are in this process, with one engine each.
class SimulatedEngine final : public messages::MessageEngine {
public:
  static Result<std::unique_ptr<SimulatedEngine>>
  connect(const Membership &membership, std::shared_ptr<Cluster> cluster, const Options &options);

private:
  using MessageEngine::MessageEngine;
};

} // namespace tilewright::collective::simulate

#endif // TILEWRIGHT_COLLECTIVE_SIMULATE_SIMULATEDENGINE_H
