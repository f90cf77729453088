// ShmEngine: collectives between the processes of one host.
#ifndef TILEWRIGHT_COLLECTIVE_SHM_SHMENGINE_H
#define TILEWRIGHT_COLLECTIVE_SHM_SHMENGINE_H

#include "tilewright/collective/Driver.h"
#include "tilewright/collective/shm/Arena.h"

namespace tilewright::collective::shm {

class Host; // what an engine's ranks share; ShmHost.h

/// Ranks read each other's operands out of arenas that all of them have mapped, and write their own
/// results: nothing is sent. Operands and results that lie in the arena are used where they are,
/// others are copied there first. Small ones always are: each rank then does the whole sum itself.
///
///   TILEWRIGHT_ASSIGN(auto engine, ShmEngine::connect(membership, store, {}));
///   std::byte *weights = engine->arena().allocate(bytes);
///   TILEWRIGHT_ASSIGN(auto communicator, engine->join({run, rank, ranks, {}}));
///
/// A process that dies is noticed by those who wait, within 50 ms. Then the engine has failed for
/// good: the survivors connect again, with a new epoch. Thread-safe.
class ShmEngine final : public Engine {
public:
  struct Options {
    size_t arenaBytes = size_t(16) << 30; // addresses, not memory
    std::chrono::nanoseconds patience = std::chrono::seconds(120);
    std::chrono::nanoseconds connectPatience = std::chrono::seconds(60);
    /// Push started collectives on by a thread while the rank computes.
    bool hasHelper = true;
  };
  ///  - ranksNotConnected (E6032), rankFenced (E6033), sharedMemoryExhausted (E6031)
  static Result<std::unique_ptr<ShmEngine>> connect(const Membership &membership,
                                                    KeyValueStore &store, const Options &options);
  ~ShmEngine() override;

  Result<std::unique_ptr<Communicator>> join(const Seat &seat) override;
  void revoke(const std::string &why) override;
  /// Of this process.
  Arena &arena();
  /// For engines that are made of several.
  Driver &driver(int64_t rank);

private:
  explicit ShmEngine(std::shared_ptr<Host> host);
  const std::shared_ptr<Host> host;
};

} // namespace tilewright::collective::shm

#endif // TILEWRIGHT_COLLECTIVE_SHM_SHMENGINE_H
