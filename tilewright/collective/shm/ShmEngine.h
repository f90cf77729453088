// ShmEngine: collectives between the processes of one host.
#ifndef TILEWRIGHT_COLLECTIVE_SHM_SHMENGINE_H
#define TILEWRIGHT_COLLECTIVE_SHM_SHMENGINE_H

#include "tilewright/collective/ProgressEngine.h"
#include "tilewright/collective/shm/Arena.h"

namespace tilewright::collective::shm {

class Host; // state that an engine's ranks share; ShmHost.h

/// An engine in which ranks read each other's operands from arenas that all processes have mapped,
/// and write their own results, without messages. Operands and results in the arena are used in
/// place; others are copied to the arena first. Small operands are always copied into slots, and
/// each rank then computes the whole reduction.
///
///   TILEWRIGHT_ASSIGN(auto engine, ShmEngine::connect(membership, store, {}));
///   std::byte *weights = engine->arena().allocate(bytes);
///   TILEWRIGHT_ASSIGN(auto communicator, engine->join({run, rank, ranks, {}}));
///
/// Waiting ranks notice the death of a process within 50 ms. The failure is final for the engine;
/// the survivors must connect again, with a new epoch. Thread-safe.
class ShmEngine final : public Engine {
public:
  struct Options {
    size_t arenaBytes = size_t(16) << 30; // address space, not memory
    std::chrono::nanoseconds timeout = std::chrono::seconds(120);
    std::chrono::nanoseconds connectTimeout = std::chrono::seconds(60);
    /// Whether to run a progress thread that advances started collectives while the rank computes.
    bool hasProgressThread = true;
  };
  ///  - ranksNotConnected (E6032), rankFenced (E6033), sharedMemoryExhausted (E6031)
  static Result<std::unique_ptr<ShmEngine>> connect(const Membership &membership,
                                                    KeyValueStore &store, const Options &options);
  ~ShmEngine() override;

  Result<std::unique_ptr<Communicator>> join(const RunMembership &own) override;
  void revoke(const std::string &why) override;
  /// The arena of this process.
  Arena &arena();
  std::shared_ptr<OperandMemory> operandMemory() override;
  /// The progress engine of a rank, for engines that combine several transports.
  ProgressEngine &progressEngine(int64_t rank);

private:
  explicit ShmEngine(std::shared_ptr<Host> host);
  const std::shared_ptr<Host> host;
};

} // namespace tilewright::collective::shm

#endif // TILEWRIGHT_COLLECTIVE_SHM_SHMENGINE_H
