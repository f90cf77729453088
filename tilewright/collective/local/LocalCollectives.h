// LocalCollectives: collectives between the devices of one process.
#ifndef TILEWRIGHT_COLLECTIVE_LOCAL_LOCALCOLLECTIVES_H
#define TILEWRIGHT_COLLECTIVE_LOCAL_LOCALCOLLECTIVES_H

#include "tilewright/collective/Communicator.h"

#include <chrono>

namespace tilewright::collective {

/// An engine for ranks within one process. Each rank's thread copies its own data from the memory
/// of the other ranks, so the engine has no threads of its own and copies nothing twice.
///
///   TILEWRIGHT_ASSIGN(auto communicator, collectives.join({runId, rank, ranks, {}}));
///   TILEWRIGHT_TRY(communicator->run(call));
///
/// If a rank calls abandon(), or destroys its communicator while collectives are in progress, all
/// ranks that wait for it return an error. No rank waits longer than the timeout. Thread-safe.
class LocalCollectives final : public Engine {
public:
  explicit LocalCollectives(std::chrono::nanoseconds timeout);
  ~LocalCollectives() override;

  Result<std::unique_ptr<Communicator>> join(const RunMembership &own) override;

private:
  struct State;
  const std::chrono::nanoseconds timeout;
  const std::shared_ptr<State> state;
};

} // namespace tilewright::collective

#endif // TILEWRIGHT_COLLECTIVE_LOCAL_LOCALCOLLECTIVES_H
