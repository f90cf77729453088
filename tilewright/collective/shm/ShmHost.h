// ShmHost: the state that the ranks of a process share, with pointers to the memory of the other
// processes of their host.
#ifndef TILEWRIGHT_COLLECTIVE_SHM_SHMHOST_H
#define TILEWRIGHT_COLLECTIVE_SHM_SHMHOST_H

#include "tilewright/collective/shm/Board.h"
#include "tilewright/collective/shm/Neighbours.h"
#include "tilewright/collective/shm/ShmEngine.h"

namespace tilewright::collective::shm {

/// Pointers to another rank's shared state.
struct Peer {
  ProcessBoard *process = nullptr;
  RankBoard *rank = nullptr;
  std::byte *base = nullptr; // of its arena, as mapped here
};

class Host {
public:
  static Result<std::shared_ptr<Host>> create(const Membership &membership, KeyValueStore &store,
                                              const ShmEngine::Options &options);
  ~Host();

  /// All pointers are null if the rank is not on this host.
  Peer peer(int64_t rank) const { return peers[static_cast<size_t>(rank)]; }
  /// Sets the engine's failure, and notifies all processes.
  void fail(std::string text);
  /// Checks peers for failure: sets the engine's failure if a peer has died or failed.
  void pollPeers();
  /// Whether the process of a rank has announced that it is exiting.
  bool hasLeft(int64_t rank) const;

  void ring(ProcessBoard &board);
  /// Registers a sleeper, so that peers ring from now on. The caller must poll once more before it
  /// sleeps.
  void announceSleep();

  const Membership membership;
  const ShmEngine::Options options;
  /// Whether every rank of the host can have its own core.
  const bool canSpin;
  /// Whether writers need a full barrier before they check for sleepers, because the kernel does
  /// not support a barrier issued by the sleeper (membarrier).
  const bool isFenced;
  FailureBox failure;
  std::shared_ptr<Arena> arena;
  ProcessBoard *board = nullptr; // of this process
  std::map<int64_t, std::unique_ptr<ProgressEngine>> progressEngines;
  std::unique_ptr<ProgressThread> progressThread;

private:
  Host(const Membership &membership, const ShmEngine::Options &options);
  std::vector<Peer> peers; // by rank
  std::mutex looking;
  std::unique_ptr<Neighbours> neighbours; // guarded by looking
};

/// Sleeps until `doorbell` differs from `seen`, for at most `longest`.
void sleepOn(std::atomic<uint32_t> &doorbell, uint32_t seen, std::chrono::nanoseconds longest);

std::unique_ptr<ProgressEngine> makeProgressEngine(Host &host, int64_t rank);

/// The operation that executes the collective of `request` in shared memory. Takes the channel's
/// next sequence number. All members of the channel must be on this host.
std::unique_ptr<Operation> makeShmOperation(Host &host, OrderedChannel &channel,
                                            const CollectiveRequest &request);

} // namespace tilewright::collective::shm

#endif // TILEWRIGHT_COLLECTIVE_SHM_SHMHOST_H
