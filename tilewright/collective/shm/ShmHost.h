// ShmHost: what the ranks of one process know about the processes of their host.
#ifndef TILEWRIGHT_COLLECTIVE_SHM_SHMHOST_H
#define TILEWRIGHT_COLLECTIVE_SHM_SHMHOST_H

#include "tilewright/collective/shm/Board.h"
#include "tilewright/collective/shm/Neighbours.h"
#include "tilewright/collective/shm/ShmEngine.h"

namespace tilewright::collective::shm {

/// Where another rank is.
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

  /// Empty if the rank is not on this host.
  Peer peer(int64_t rank) const { return peers[static_cast<size_t>(rank)]; }
  /// Sets the failure, and tells all processes.
  void fail(std::string text);
  /// Looks after the others: sets the failure if one of them died or failed.
  void lookAround();
  /// Whether the process of a rank has ended in good order.
  bool hasLeft(int64_t rank) const;

  void ring(ProcessBoard &board);
  /// Counts a sleeper, so that others ring from here on. Look once more before sleeping.
  void announceSleep();

  const Membership membership;
  const ShmEngine::Options options;
  /// Whether every rank of the host has a core of its own.
  const bool canSpin;
  /// Whether who writes passes a barrier before it looks for sleepers, because sleepers cannot
  /// make the others pass one.
  const bool isFenced;
  FailureBox failure;
  std::unique_ptr<Arena> arena;
  ProcessBoard *board = nullptr; // of this process
  std::map<int64_t, std::unique_ptr<Driver>> drivers;
  std::unique_ptr<Helper> helper;

private:
  Host(const Membership &membership, const ShmEngine::Options &options);
  std::vector<Peer> peers; // by rank
  std::mutex looking;
  std::unique_ptr<Neighbours> neighbours; // guarded by looking
};

/// Sleeps until `doorbell` is no longer `seen`, or a moment has passed.
void sleepOn(std::atomic<uint32_t> &doorbell, uint32_t seen, std::chrono::nanoseconds longest);

std::unique_ptr<Driver> makeDriver(Host &host, int64_t rank);

/// The collective of `turn` in the memory of the host. Takes its number in the lane, all of whose
/// members are of this host.
std::unique_ptr<Operation> makeShmOperation(Host &host, Lane &lane, const Turn &turn);

} // namespace tilewright::collective::shm

#endif // TILEWRIGHT_COLLECTIVE_SHM_SHMHOST_H
