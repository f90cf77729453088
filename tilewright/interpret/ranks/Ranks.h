// Several ranks in one process, and their communication.
#ifndef TILEWRIGHT_INTERPRET_RANKS_RANKS_H
#define TILEWRIGHT_INTERPRET_RANKS_RANKS_H

#include "tilewright/interpret/RuntimeValue.h"

#include <compare>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace tilewright::interpret {

/// The processes of a program: `replicas` copies of `partitions` each. The rank number is `replica
/// * partitions + partition`.
struct RankGrid {
  int64_t replicas = 1;
  int64_t partitions = 1;
  int64_t count() const { return replicas * partitions; }
};

/// The inputs that the host feeds to infeed ops, and the outputs of outfeed ops; one entry per
/// executed op.
struct Feeds {
  std::deque<RuntimeValues> infeed;
  std::vector<RuntimeValues> outfeed;
};

/// Exchanges values between ranks. Detects deadlocks: as soon as every rank waits or has ended, all
/// waiting ranks fail, and the error lists where each rank waits.
///
/// Thread-safe; each rank calls from its own thread.
class World {
public:
  /// Each rank is a thread, so their number is limited.
  static constexpr int64_t maxRanks = 256;

  explicit World(RankGrid grid, Feeds feeds = {});

  const RankGrid &grid() const { return size; }

  /// Runs `body` once per rank, each on its own thread (a single rank runs on the calling thread),
  /// and returns their results by rank. The first rank to fail determines the error; the waiting
  /// ranks are woken up and fail too.
  ///  - interpretGroups: the grid has more than maxRanks.
  Result<std::vector<RuntimeValues>>
  run(const std::function<Result<RuntimeValues>(int64_t rank)> &body);

  /// Exchanges `mine` with all ranks of `group`: returns one entry per member, in the group's
  /// order. `site` identifies the op; the n-th call of a rank with this site matches the n-th call
  /// of each other member. `where` is for messages.
  ///  - interpretDeadlock: another member can no longer arrive.
  Result<std::vector<RuntimeValues>> exchange(const void *site, std::span<const int64_t> group,
                                              int64_t self, RuntimeValues mine,
                                              const std::string &where);

  /// A channel from one rank to another. `site` is the op if sender and receiver are the same op,
  /// or null if they share only a channel number.
  struct Channel {
    const void *site = nullptr;
    int64_t number = 0;
    int64_t from = 0, to = 0;
    auto operator<=>(const Channel &) const = default;
  };
  /// Sends without waiting. Values on the same channel arrive in the order in which they were sent.
  void send(const Channel &channel, RuntimeValues values);
  /// - interpretDeadlock: no rank can send any more, so the receive would wait forever.
  Result<RuntimeValues> receive(const Channel &channel, const std::string &where);

  /// - interpretFeed: the infeed is empty.
  Result<RuntimeValues> takeInfeed();
  void putOutfeed(RuntimeValues values);
  /// The remaining infeed, and the outfeed. Call it only after all ranks have ended.
  Feeds takeFeeds();

private:
  struct Rendezvous {
    std::map<int64_t, RuntimeValues> arrived; // by rank
    int64_t left = 0;
    bool complete = false;
  };
  using RendezvousKey = std::tuple<const void *, std::vector<int64_t>, int64_t>;

  /// Blocks rank `self` until `ready()`; `where` describes the wait in messages.
  template <typename Ready>
  Status wait(std::unique_lock<std::mutex> &lock, int64_t self, std::string where, Ready ready);
  /// Fails all ranks if none can continue.
  void failIfStuck();
  void end(int64_t rank, const Status &status);

  const RankGrid size;

  std::mutex mutex;
  std::condition_variable changed;
  // The members below are guarded by `mutex`.
  std::map<RendezvousKey, Rendezvous> openRendezvous;
  std::map<std::pair<const void *, int64_t>, int64_t> visits; // by site and rank
  std::map<Channel, std::deque<RuntimeValues>> channels;
  std::map<int64_t, std::string> waiting; // rank to what it waits for
  int64_t ended = 0;
  std::optional<std::string> failure;
  std::optional<int64_t> failedRank;
  bool stuck = false;
  Feeds feeds;
};

/// One rank of a world.
struct Rank {
  World *world;
  int64_t number = 0;

  int64_t replica() const { return number / world->grid().partitions; }
  int64_t partition() const { return number % world->grid().partitions; }
};

} // namespace tilewright::interpret

#endif // TILEWRIGHT_INTERPRET_RANKS_RANKS_H
