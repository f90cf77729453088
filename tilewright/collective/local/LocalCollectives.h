// LocalCollectives: collectives between the devices of one process.
#ifndef TILEWRIGHT_COLLECTIVE_LOCAL_LOCALCOLLECTIVES_H
#define TILEWRIGHT_COLLECTIVE_LOCAL_LOCALCOLLECTIVES_H

#include "tilewright/collective/Communicator.h"

#include <chrono>

namespace tilewright::collective {

/// Where the ranks of one process meet. Each rank's thread moves its own bytes
/// out of the others' memory, so there are no threads of its own and nothing is
/// copied twice.
///
///   TILEWRIGHT_ASSIGN(auto communicator, meetings.join({runId, rank, ranks, {}}));
///   TILEWRIGHT_TRY(communicator->run(call));
///
/// A rank that fails says so with abandon(), or by destroying its communicator
/// with work unfinished: everybody who waits for it ends with a Status. Nobody
/// waits longer than the patience. Thread-safe.
class LocalCollectives final : public Engine {
public:
  explicit LocalCollectives(std::chrono::nanoseconds patience);
  ~LocalCollectives() override;

  Result<std::unique_ptr<Communicator>> join(const Seat &seat) override;

private:
  struct State;
  const std::chrono::nanoseconds patience;
  const std::shared_ptr<State> state;
};

} // namespace tilewright::collective

#endif // TILEWRIGHT_COLLECTIVE_LOCAL_LOCALCOLLECTIVES_H
