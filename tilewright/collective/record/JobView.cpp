#include "tilewright/collective/record/JobView.h"
#include "tilewright/collective/record/Clock.h"
#include "tilewright/collective/record/ThisProcess.h"

#include <algorithm>
#include <limits>
#include <tuple>

namespace tilewright::collective::record {

int64_t ahead(uint64_t position, uint64_t of) {
  const auto runs =
      static_cast<int32_t>(static_cast<uint32_t>(position >> 32) - static_cast<uint32_t>(of >> 32));
  if (runs != 0)
    return int64_t(runs) * (int64_t(1) << 32);
  return static_cast<int32_t>(static_cast<uint32_t>(position) - static_cast<uint32_t>(of));
}

JobView::JobView(std::vector<Recording> recordings) : files(std::move(recordings)) {
  for (const Recording &recording : files)
    for (const RecordedRank &rank : recording.ranks)
      seen[rank.rank] = {&recording, &rank};
  for (const Recording &recording : files)
    if (std::none_of(hosts.begin(), hosts.end(),
                     [&](const HostClock &clock) { return clock.boot == recording.boot; }))
      hosts.push_back({recording.host, recording.boot, recording.toReal, -1});
  findCliques();
  findVisits();
  if (hosts.size() > 1) {
    alignHosts();
    for (Visit &visit : all) {
      const Recording &recording = *seen.at(visit.rank).recording;
      visit.begin = commonOf(recording, visit.entry->begin);
      visit.end = visit.entry->end ? commonOf(recording, visit.entry->end) : 0;
    }
  } else if (!hosts.empty()) {
    hosts[0].bound = 0;
  }
}

const HostClock &JobView::clockOf(const Recording &recording) const {
  for (const HostClock &clock : hosts)
    if (clock.boot == recording.boot)
      return clock;
  return hosts.front();
}

int64_t JobView::nowFor(const Recording &recording) const {
  const Moment now = momentNow(/*isCounter=*/false);
  static const std::string here = thisProcess().boot;
  return recording.boot == here ? commonOf(recording, now.monotonic) : now.real;
}

void JobView::findCliques() {
  // Cliques of the in-process engine are per process, because their rank numbers are local.
  std::map<std::tuple<std::string, int64_t, std::vector<int64_t>>, uint32_t> numbers;
  for (const Recording &recording : files)
    for (const RecordedClique &clique : recording.cliques) {
      const int64_t process = clique.engine == "local" ? recording.process : -1;
      const auto [found, isNew] =
          numbers.try_emplace({clique.engine, process, clique.members}, allCliques.size());
      if (isNew)
        allCliques.push_back({clique.engine, clique.members});
      cliqueNumbers[&recording].push_back(found->second);
    }
}

void JobView::findVisits() {
  for (const auto &[number, view] : seen) {
    const std::vector<uint32_t> &numbers = cliqueNumbers[view.recording];
    for (const RecordedRank::CliqueProgress &progress : view.rank->progress)
      positions[{numbers[progress.clique], number}] = progress.position;
    const int64_t toCommon = clockOf(*view.recording).toCommon;
    for (const RecordedEntry &entry : view.rank->entries) {
      const RecordedSite &site = view.recording->sites[entry.site];
      Visit visit{
          numbers[site.clique],   uint64_t(entry.run) << 32 | entry.sequence, number, &entry, &site,
          entry.begin + toCommon, entry.end ? entry.end + toCommon : 0};
      // Take the position from the entries, too: a killed process may not have updated its progress
      // slot, and only `maxProgressSlots` cliques have one.
      const auto [found, isNew] = positions.try_emplace({visit.clique, number}, visit.position + 1);
      if (!isNew && ahead(visit.position + 1, found->second) > 0)
        found->second = visit.position + 1;
      all.push_back(visit);
    }
  }
  std::sort(all.begin(), all.end(), [](const Visit &a, const Visit &b) {
    return std::tie(a.clique, a.position, a.rank) < std::tie(b.clique, b.position, b.rank);
  });
}

std::optional<uint64_t> JobView::positionOf(uint32_t clique, int64_t rank) const {
  const auto found = positions.find({clique, rank});
  if (found != positions.end())
    return found->second;
  // The rank has a recording that does not contain the clique, so it has not joined any of the
  // clique's collectives.
  return seen.contains(rank) ? std::optional<uint64_t>(0) : std::nullopt;
}

/// Whether the collective synchronizes all members: none can end it before every member has begun
/// it.
static bool isForAll(Kind kind) {
  return kind == Kind::allReduce || kind == Kind::allGather || kind == Kind::reduceScatter ||
         kind == Kind::allToAll || kind == Kind::barrier;
}

void JobView::alignHosts() {
  // Bounds on the offset from host b's clock to host a's clock: b does not end before a begins, and
  // a does not end before b begins.
  struct Range {
    int64_t least = std::numeric_limits<int64_t>::min() / 2,
            most = std::numeric_limits<int64_t>::max() / 2;
  };
  const size_t count = hosts.size();
  std::vector<Range> ranges(count * count);
  std::map<int64_t, size_t> hostOfRank;
  for (const auto &[rank, view] : seen)
    hostOfRank[rank] = static_cast<size_t>(&clockOf(*view.recording) - hosts.data());
  std::vector<std::optional<std::pair<int64_t, int64_t>>> at(count); // last begin, first end
  forEachCollective([&](std::span<const Visit> visits) {
    if (!isForAll(visits[0].site->kind))
      return;
    std::fill(at.begin(), at.end(), std::nullopt);
    for (const Visit &visit : visits) {
      if (visit.entry->state != State::done || visit.site->hash != visits[0].site->hash)
        continue;
      auto &host = at[hostOfRank[visit.rank]];
      if (!host)
        host.emplace(visit.entry->begin, visit.entry->end);
      host->first = std::max(host->first, visit.entry->begin);
      host->second = std::min(host->second, visit.entry->end);
    }
    for (size_t a = 0; a < count; ++a)
      for (size_t b = 0; b < count; ++b)
        if (a != b && at[a] && at[b]) {
          Range &range = ranges[a * count + b];
          range.least = std::max(range.least, at[a]->first - at[b]->second);
          range.most = std::min(range.most, at[a]->second - at[b]->first);
        }
  });
  // Build a spanning tree from the host of the lowest rank; each step adds the host with the
  // smallest error.
  const size_t origin = seen.empty() ? 0 : hostOfRank.begin()->second;
  std::vector<bool> isKnown(count);
  isKnown[origin] = true;
  hosts[origin].bound = 0;
  for (size_t round = 1; round < count; ++round) {
    int64_t best = std::numeric_limits<int64_t>::max() / 4;
    std::optional<std::pair<size_t, size_t>> step;
    for (size_t a = 0; a < count; ++a)
      for (size_t b = 0; b < count; ++b) {
        const Range &range = ranges[a * count + b];
        if (!isKnown[a] || isKnown[b] || range.least == Range().least || range.most == Range().most)
          continue;
        const int64_t bound = hosts[a].bound + std::max<int64_t>(range.most - range.least, 0) / 2;
        if (bound < best) {
          best = bound;
          step.emplace(a, b);
        }
      }
    if (!step)
      break; // the remaining hosts keep the time of day; their bound stays -1
    const auto [a, b] = *step;
    const Range &range = ranges[a * count + b];
    isKnown[b] = true;
    hosts[b].bound = best;
    hosts[b].toCommon = hosts[a].toCommon + range.least + (range.most - range.least) / 2;
  }
}

} // namespace tilewright::collective::record
