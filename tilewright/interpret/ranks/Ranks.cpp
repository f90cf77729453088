#include "tilewright/interpret/ranks/Ranks.h"

#include "tilewright/support/Concat.h"

#include <cassert>
#include <thread>

namespace tilewright::interpret {

World::World(RankGrid grid, Feeds feeds) : size(grid), feeds(std::move(feeds)) {}

Result<std::vector<RuntimeValues>>
World::run(const std::function<Result<RuntimeValues>(int64_t rank)> &body) {
  const int64_t count = size.count();
  if (count > maxRanks)
    return Status(Error::interpretGroups,
                  concat("the program has ", count, " ranks, but the evaluator simulates at most ",
                         maxRanks, "; use a smaller mesh"));
  std::vector<RuntimeValues> results(static_cast<size_t>(count));
  std::vector<Status> statuses(static_cast<size_t>(count));
  auto runRank = [&](int64_t rank) {
    Result<RuntimeValues> result = body(rank);
    const auto index = static_cast<size_t>(rank);
    if (result.isOk())
      results[index] = *std::move(result);
    else
      statuses[index] = std::move(result).takeStatus();
    end(rank, statuses[index]);
  };
  if (count == 1) {
    runRank(0);
  } else {
    std::vector<std::thread> threads;
    for (int64_t rank = 0; rank < count; ++rank)
      threads.emplace_back(runRank, rank);
    for (std::thread &thread : threads)
      thread.join();
  }
  if (failedRank) {
    Status &status = statuses[static_cast<size_t>(*failedRank)];
    if (count == 1 || stuck)
      return std::move(status);
    return std::move(status).during(concat("running rank ", *failedRank, " of ", count));
  }
  return results;
}

void World::end(int64_t rank, const Status &status) {
  std::lock_guard lock(mutex);
  ++ended;
  if (!status.isOk() && !failedRank) {
    failedRank = rank;
    if (!failure)
      failure = concat("rank ", rank, " failed: ", status.message());
  }
  failIfStuck();
  changed.notify_all();
}

void World::failIfStuck() {
  if (failure || waiting.empty() || static_cast<int64_t>(waiting.size()) + ended < size.count())
    return;
  std::string list;
  for (const auto &[rank, where] : waiting)
    list += concat(list.empty() ? "" : "; ", "rank ", rank, " waits in ", where);
  stuck = true;
  failure = concat("no rank can continue (", ended, " of ", size.count(), " have ended): ", list);
}

template <typename Ready>
Status World::wait(std::unique_lock<std::mutex> &lock, int64_t self, std::string where,
                   Ready ready) {
  while (!failure && !ready()) {
    waiting[self] = where;
    failIfStuck();
    if (failure) {
      changed.notify_all();
      break;
    }
    changed.wait(lock);
  }
  waiting.erase(self);
  if (!failure)
    return Status();
  return Status(stuck ? Error::interpretDeadlock : Error::interpretAborted, *failure);
}

Result<std::vector<RuntimeValues>> World::exchange(const void *site, std::span<const int64_t> group,
                                                   int64_t self, RuntimeValues mine,
                                                   const std::string &where) {
  std::unique_lock lock(mutex);
  const int64_t visit = visits[{site, self}]++;
  const RendezvousKey key(site, std::vector<int64_t>(group.begin(), group.end()), visit);
  Rendezvous &rendezvous = openRendezvous[key];
  rendezvous.arrived[self] = std::move(mine);
  if (rendezvous.arrived.size() == group.size()) {
    rendezvous.complete = true;
    // All members can now continue, so they no longer count as waiting, even if they have not woken
    // up.
    for (int64_t member : group)
      waiting.erase(member);
    changed.notify_all();
  }
  TILEWRIGHT_TRY(wait(lock, self, where, [&] { return rendezvous.complete; }));
  std::vector<RuntimeValues> values;
  for (int64_t member : group)
    values.push_back(rendezvous.arrived.at(member));
  if (++rendezvous.left == static_cast<int64_t>(group.size()))
    openRendezvous.erase(key);
  return values;
}

void World::send(const Channel &channel, RuntimeValues values) {
  std::lock_guard lock(mutex);
  channels[channel].push_back(std::move(values));
  waiting.erase(channel.to);
  changed.notify_all();
}

Result<RuntimeValues> World::receive(const Channel &channel, const std::string &where) {
  std::unique_lock lock(mutex);
  std::deque<RuntimeValues> &queue = channels[channel];
  TILEWRIGHT_TRY(wait(lock, channel.to, where, [&] { return !queue.empty(); }));
  RuntimeValues values = std::move(queue.front());
  queue.pop_front();
  return values;
}

Result<RuntimeValues> World::takeInfeed() {
  std::lock_guard lock(mutex);
  if (feeds.infeed.empty())
    return Status(Error::interpretFeed, "the infeed is empty; feed one entry per executed infeed");
  RuntimeValues values = std::move(feeds.infeed.front());
  feeds.infeed.pop_front();
  return values;
}

void World::putOutfeed(RuntimeValues values) {
  std::lock_guard lock(mutex);
  feeds.outfeed.push_back(std::move(values));
}

Feeds World::takeFeeds() {
  std::lock_guard lock(mutex);
  return std::move(feeds);
}

} // namespace tilewright::interpret
