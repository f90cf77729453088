#include "tilewright/collective/record/Diagnosis.h"
#include "tilewright/collective/record/Folder.h"
#include "tilewright/support/Concat.h"

#include <algorithm>
#include <set>
#include <tuple>

namespace tilewright::collective::record {

namespace {

using Visit = JobView::Visit;

bool isOpen(State state) { return state == State::started || state == State::waits; }

class Examination {
public:
  Examination(const JobView &view, std::chrono::nanoseconds timeout) : view(view) {
    diagnosis.timeout = timeout;
  }

  Diagnosis run() {
    reportRanks();
    view.forEachCollective([&](std::span<const Visit> visits) { compare(visits); });
    for (uint32_t clique = 0; clique < view.cliques().size(); ++clique)
      look(clique);
    blame();
    addStragglers();
    decide();
    return std::move(diagnosis);
  }

private:
  void reportRanks() {
    std::set<int64_t> named;
    for (const JobView::Clique &clique : view.cliques())
      if (clique.engine != "local")
        named.insert(clique.members.begin(), clique.members.end());
    for (const auto &[rank, seen] : view.ranks())
      named.insert(rank);
    std::map<const Recording *, ProcessState> states;
    for (const Recording &recording : view.recordings())
      states[&recording] =
          stateOf(recording.pid, recording.pidStart, recording.pidNamespace, recording.boot);
    for (int64_t rank : named) {
      RankReport report;
      report.rank = rank;
      if (const auto found = view.ranks().find(rank); found != view.ranks().end()) {
        const auto &[recording, recorded] = found->second;
        report.isRecorded = true;
        report.process = recording->process;
        report.pid = recording->pid;
        report.host = recording->host;
        report.state = states[recording];
        report.ending = recording->ending;
        report.failure = recorded->failure;
        if (!recorded->entries.empty()) {
          // Prefer a collective in which the rank waits to those that it started later.
          const RecordedEntry *last = &recorded->entries.back();
          for (const RecordedEntry &entry : recorded->entries)
            if (entry.state == State::waits)
              last = &entry;
          report.last = recording->sites[last->site];
          report.lastState = last->state;
          report.lastSequence = last->sequence;
          report.ago = view.nowFor(*recording) -
                       view.commonOf(*recording, last->end ? last->end : last->begin);
        }
      }
      places[rank] = diagnosis.ranks.size();
      diagnosis.ranks.push_back(std::move(report));
    }
  }

  /// Records the first collective of each clique in which members made different calls.
  void compare(std::span<const Visit> visits) {
    if (mismatches.contains(visits[0].clique))
      return;
    for (const Visit &visit : visits)
      if (visit.site->hash != visits[0].site->hash) {
        mismatches[visit.clique] = {visits[0].rank, visit.rank, *visits[0].site, *visit.site};
        mismatchAt[visit.clique] = visit.position;
        return;
      }
  }

  std::span<const Visit> visitsAt(uint32_t clique, uint64_t position) const {
    const std::vector<Visit> &all = view.visits();
    const auto order = [](const Visit &visit, std::pair<uint32_t, uint64_t> key) {
      return std::pair(visit.clique, visit.position) < key;
    };
    const auto from = std::lower_bound(all.begin(), all.end(), std::pair(clique, position), order);
    const auto end = std::lower_bound(from, all.end(), std::pair(clique, position + 1), order);
    return {from, end};
  }

  void look(uint32_t clique) {
    const std::vector<int64_t> &members = view.cliques()[clique].members;
    std::optional<uint64_t> most, least;
    for (int64_t rank : members)
      if (const auto position = view.positionOf(clique, rank)) {
        if (!most || ahead(*position, *most) > 0)
          most = position;
        if (!least || ahead(*position, *least) < 0)
          least = position;
      }
    if (!most || static_cast<uint32_t>(*most) == 0)
      return;
    CliqueReport report;
    report.clique = clique;
    const bool isUneven = ahead(*most, *least) > 0;
    const bool hasUnknown = std::any_of(members.begin(), members.end(), [&](int64_t rank) {
      return !view.positionOf(clique, rank);
    });
    // The first collective that not all members have begun, or the last one if all have begun it.
    uint64_t position = *most - 1;
    if (isUneven)
      position = *least >> 32 == *most >> 32 ? *least : *most >> 32 << 32;
    if (const auto found = mismatchAt.find(clique);
        found != mismatchAt.end() && ahead(found->second, position) <= 0) {
      position = found->second;
      report.mismatch = mismatches[clique];
    }
    report.run = static_cast<uint32_t>(position >> 32);
    report.sequence = static_cast<uint32_t>(position);
    for (int64_t rank : members) {
      const auto at = view.positionOf(clique, rank);
      // A rank without a recording may be the one that is missing.
      if ((at && ahead(*at, position) <= 0) || (!at && !isUneven && hasUnknown))
        report.missing.push_back(rank);
    }
    addWaiting(report, position);
    if (report.waiting.empty() && !report.mismatch)
      return;
    diagnosis.stuck.push_back(std::move(report));
  }

  void addWaiting(CliqueReport &report, uint64_t position) {
    const std::span<const Visit> here = visitsAt(report.clique, position);
    if (!here.empty())
      report.site = *here[0].site;
    for (const Visit &visit : here) {
      const State state = visit.entry->state;
      if (!isOpen(state) && state != State::failed)
        continue;
      const Recording &recording = *view.ranks().at(visit.rank).recording;
      const int64_t until = state == State::failed ? visit.end : view.nowFor(recording);
      report.waiting.push_back({visit.rank, until - visit.begin, state == State::failed});
    }
    // If all members joined and none still waits, the collective failed, and the ranks' own errors
    // explain why.
    if (report.missing.empty() &&
        std::all_of(report.waiting.begin(), report.waiting.end(),
                    [](const CliqueReport::Waiting &one) { return one.gaveUp; }) &&
        !report.mismatch)
      report.waiting.clear();
  }

  bool isHalted(int64_t rank) const {
    const RankReport &report = diagnosis.ranks[places.at(rank)];
    return report.isRecorded && (report.state.kind == ProcessState::Kind::gone ||
                                 report.state.kind == ProcessState::Kind::stopped);
  }

  /// Blames missing ranks that do not themselves wait for another rank.
  void blame() {
    std::map<int64_t, std::set<int64_t>> waitsFor;
    for (const CliqueReport &report : diagnosis.stuck)
      for (const CliqueReport::Waiting &one : report.waiting)
        if (!one.gaveUp && !isHalted(one.rank))
          waitsFor[one.rank].insert(report.missing.begin(), report.missing.end());
    std::set<int64_t> roots;
    for (CliqueReport &report : diagnosis.stuck) {
      for (int64_t rank : report.missing)
        if (isHalted(rank) || !waitsFor.contains(rank) || waitsFor[rank].empty())
          report.blamed.push_back(rank);
      // If all members have joined, blame those that died or were stopped during the collective.
      if (report.missing.empty())
        for (int64_t rank : view.cliques()[report.clique].members)
          if (isHalted(rank))
            report.blamed.push_back(rank);
      roots.insert(report.blamed.begin(), report.blamed.end());
    }
    if (roots.empty())
      findCycle(waitsFor);
    const auto rank = [](const CliqueReport &report) {
      return std::tuple(!report.mismatch.has_value(), report.blamed.empty(), report.clique);
    };
    std::sort(diagnosis.stuck.begin(), diagnosis.stuck.end(),
              [&](const CliqueReport &a, const CliqueReport &b) { return rank(a) < rank(b); });
  }

  void findCycle(const std::map<int64_t, std::set<int64_t>> &waitsFor) {
    if (waitsFor.empty())
      return;
    std::vector<int64_t> way;
    for (int64_t rank = waitsFor.begin()->first;;) {
      const auto again = std::find(way.begin(), way.end(), rank);
      if (again != way.end()) {
        diagnosis.cycle.assign(again, way.end());
        return;
      }
      way.push_back(rank);
      const auto found = waitsFor.find(rank);
      if (found == waitsFor.end() || found->second.empty())
        return;
      rank = *found->second.begin();
    }
  }

  void addStragglers() {
    struct Sum {
      uint64_t collectives = 0, last = 0;
      double lateness = 0;
    };
    std::map<int64_t, Sum> sums;
    view.forEachCollective([&](std::span<const Visit> visits) {
      if (visits.size() < 2 || visits.size() != view.cliques()[visits[0].clique].members.size())
        return;
      int64_t first = visits[0].begin;
      const Visit *last = &visits[0];
      for (const Visit &visit : visits) {
        first = std::min(first, visit.begin);
        if (visit.begin > last->begin)
          last = &visit;
      }
      for (const Visit &visit : visits) {
        Sum &sum = sums[visit.rank];
        ++sum.collectives;
        sum.last += visit.rank == last->rank;
        sum.lateness += static_cast<double>(visit.begin - first);
      }
    });
    constexpr uint64_t enough = 8;
    for (const auto &[rank, sum] : sums)
      if (sum.collectives >= enough)
        diagnosis.stragglers.push_back(
            {rank, sum.collectives, sum.last, sum.lateness / static_cast<double>(sum.collectives)});
    std::sort(diagnosis.stragglers.begin(), diagnosis.stragglers.end(),
              [](const Straggler &a, const Straggler &b) { return a.lateness > b.lateness; });
  }

  void decide() {
    for (const CliqueReport &report : diagnosis.stuck) {
      if (report.mismatch)
        diagnosis.isHung = true;
      for (int64_t rank : report.blamed)
        diagnosis.isHung |= isHalted(rank);
      for (const CliqueReport::Waiting &one : report.waiting)
        diagnosis.isHung |= one.gaveUp || one.nanoseconds >= diagnosis.timeout.count();
    }
  }

  const JobView &view;
  Diagnosis diagnosis;
  std::map<int64_t, size_t> places;                      // index of a rank's report
  std::map<uint32_t, CliqueReport::Mismatch> mismatches; // by clique
  std::map<uint32_t, uint64_t> mismatchAt;
};

} // namespace

Diagnosis diagnose(const JobView &view, std::chrono::nanoseconds timeout) {
  return Examination(view, timeout).run();
}

Result<std::unique_ptr<JobView>> viewOf(const std::vector<std::string> &paths,
                                        const std::string &job, uint64_t newestEntries,
                                        std::vector<std::string> &notes) {
  TILEWRIGHT_ASSIGN(std::vector<std::string> files, recordingsAt(paths));
  std::vector<Recording> all;
  std::optional<Status> first;
  for (const std::string &file : files) {
    Result<Recording> recording = readRecording(file, newestEntries);
    if (recording.isOk()) {
      all.push_back(*std::move(recording));
      continue;
    }
    Status status = std::move(recording).takeStatus();
    notes.push_back(concat("left out: ", status.message()));
    if (!first)
      first = std::move(status);
  }
  if (all.empty())
    return std::move(*first);
  std::map<std::string, int64_t> started; // by job: the latest start of a process
  for (const Recording &recording : all)
    started[recording.job] = std::max(started[recording.job], recording.started);
  std::optional<std::string> chosen;
  for (const auto &[name, when] : started)
    if (name.starts_with(job) && (!chosen || when > started[*chosen]))
      chosen = name;
  if (!chosen) {
    std::vector<std::string> names;
    for (const auto &[name, when] : started)
      names.push_back(name);
    return Status(Error::recordingsMissing,
                  concat("found no recordings of job '", job, "', only of ", listed(names)));
  }
  if (started.size() > 1 && job.empty()) {
    std::string others;
    for (const auto &[name, when] : started)
      if (name != *chosen)
        others += concat(others.empty() ? "" : ", ", name);
    notes.push_back(
        concat("showing the job that started last; use --job= to select one of ", others));
  }
  uint64_t epoch = 0;
  for (const Recording &recording : all)
    if (recording.job == *chosen)
      epoch = std::max(epoch, recording.epoch);
  std::vector<Recording> taken;
  size_t older = 0;
  for (Recording &recording : all) {
    if (recording.job != *chosen)
      continue;
    if (recording.epoch == epoch)
      taken.push_back(std::move(recording));
    else
      ++older;
  }
  if (older)
    notes.push_back(concat(older, " recordings of earlier epochs of the job were left out"));
  if (const auto missing = taken.front().processes - static_cast<int64_t>(taken.size());
      missing > 0)
    notes.push_back(concat("recordings of ", missing, " of ", taken.front().processes,
                           " processes are missing; copy them from their hosts"));
  return std::make_unique<JobView>(std::move(taken));
}

} // namespace tilewright::collective::record
