// SimulatedEngine: collectives between processes that exist in memory only.
#ifndef TILEWRIGHT_COLLECTIVE_SIMULATE_SIMULATEDENGINE_H
#define TILEWRIGHT_COLLECTIVE_SIMULATE_SIMULATEDENGINE_H

#include "tilewright/collective/messages/MessageEngine.h"
#include "tilewright/collective/simulate/Cluster.h"

namespace tilewright::collective::simulate {

/// The bytes are real and so are the sums; the network and its time are the cluster's. All
/// processes of the job live in this one, each with an engine.
class SimulatedEngine final : public messages::MessageEngine {
public:
  static Result<std::unique_ptr<SimulatedEngine>>
  connect(const Membership &membership, std::shared_ptr<Cluster> cluster, const Options &options);

private:
  using MessageEngine::MessageEngine;
};

} // namespace tilewright::collective::simulate

#endif // TILEWRIGHT_COLLECTIVE_SIMULATE_SIMULATEDENGINE_H
