// Several ranks in one process, and how they meet.
#ifndef TILEWRIGHT_INTERPRET_RANKS_H
#define TILEWRIGHT_INTERPRET_RANKS_H

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

/// The processes of a program: `replicas` copies of `partitions` each. A rank's
/// number is `replica * partitions + partition`.
struct RankGrid {
  int64_t replicas = 1;
  int64_t partitions = 1;
  int64_t count() const { return replicas * partitions; }
};

/// What the host feeds to a program and gets from it, one entry per op.
struct Feeds {
  std::deque<RuntimeValues> infeed;
  std::vector<RuntimeValues> outfeed;
};

/// Where ranks exchange values. A rank that waits for one that will never come
/// is noticed: as soon as every rank waits or has ended, all of them fail with
/// who waits where.
///
/// Thread-safe; each rank calls from its own thread.
class World {
public:
  /// Each rank is a thread, and a process has so many.
  static constexpr int64_t maxRanks = 256;

  explicit World(RankGrid grid, Feeds feeds = {});

  const RankGrid &grid() const { return size; }

  /// Runs `body` once per rank, each on a thread of its own (a single rank
  /// stays on this one), and gives their results by rank. The first rank to
  /// fail decides the failure; the others are woken up.
  ///  - interpretGroups: the grid has more than maxRanks.
  Result<std::vector<RuntimeValues>>
  run(const std::function<Result<RuntimeValues>(int64_t rank)> &body);

  /// Hands `mine` to all of `group` and waits for theirs: one entry per member,
  /// in the group's order. `site` identifies the op; the n-th visit of one rank
  /// meets the n-th of the others. `where` is for messages.
  ///  - interpretDeadlock: the others cannot come.
  Result<std::vector<RuntimeValues>> exchange(const void *site, std::span<const int64_t> group,
                                              int64_t self, RuntimeValues mine,
                                              const std::string &where);

  /// A way from one rank to another; `site` is the op that both ends share, or
  /// null where a number is all they have in common.
  struct Channel {
    const void *site = nullptr;
    int64_t number = 0;
    int64_t from = 0, to = 0;
    auto operator<=>(const Channel &) const = default;
  };
  /// Sends without waiting. Values of one channel arrive in the order of sending.
  void send(const Channel &channel, RuntimeValues values);
  /// - interpretDeadlock: nobody can send any more.
  Result<RuntimeValues> receive(const Channel &channel, const std::string &where);

  /// - interpretFeed: the host has fed nothing more.
  Result<RuntimeValues> takeInfeed();
  void putOutfeed(RuntimeValues values);
  /// What is left of the infeed, and the outfeed. Only once all ranks have ended.
  Feeds takeFeeds();

private:
  struct Meeting {
    std::map<int64_t, RuntimeValues> arrived; // by rank
    int64_t left = 0;
    bool complete = false;
  };
  using MeetingKey = std::tuple<const void *, std::vector<int64_t>, int64_t>;

  /// Waits until `ready`, as `self`, which is then waiting `where`.
  template <typename Ready>
  Status wait(std::unique_lock<std::mutex> &lock, int64_t self, std::string where, Ready ready);
  /// Fails the world if nobody can go on.
  void failIfStuck();
  void end(int64_t rank, const Status &status);

  const RankGrid size;

  std::mutex mutex;
  std::condition_variable changed;
  // All below guarded by mutex.
  std::map<MeetingKey, Meeting> meetings;
  std::map<std::pair<const void *, int64_t>, int64_t> visits; // by site and rank
  std::map<Channel, std::deque<RuntimeValues>> channels;
  std::map<int64_t, std::string> waiting; // rank to place
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

#endif // TILEWRIGHT_INTERPRET_RANKS_H
