// JobView: the recordings of all processes of a job, put together.
#ifndef TILEWRIGHT_COLLECTIVE_RECORD_JOBVIEW_H
#define TILEWRIGHT_COLLECTIVE_RECORD_JOBVIEW_H

#include "tilewright/collective/record/Recording.h"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace tilewright::collective::record {

/// A clock of a host, next to the common one.
struct HostClock {
  std::string host, boot;
  int64_t toCommon = 0; // to be added to its monotonic nanoseconds
  int64_t bound = 0;    // how wrong that may be, either way; -1 if nothing is known
};

/// One generation of a job as its recordings show it. Clocks of hosts are brought together by what
/// must be so: nobody ends a collective of everybody before the last one has begun it.
class JobView {
public:
  /// All of one job and epoch.
  explicit JobView(std::vector<Recording> recordings);
  JobView(const JobView &) = delete;
  JobView &operator=(const JobView &) = delete;

  struct Clique {
    std::string engine;
    std::vector<int64_t> members;
  };
  /// What one rank did in one collective of a clique.
  struct Visit {
    uint32_t clique = 0;
    uint64_t position = 0; // the run, and the number in it
    int64_t rank = 0;
    const RecordedEntry *entry = nullptr;
    const RecordedSite *site = nullptr;
    int64_t begin = 0, end = 0; // on the common clock
  };
  /// Those of one collective are one behind the other, by rank.
  const std::vector<Visit> &visits() const { return all; }
  /// Calls `each` with the visits of each collective, clique by clique, in their order.
  template <typename Each> void forEachMeeting(Each &&each) const {
    for (size_t from = 0; from < all.size();) {
      size_t end = from + 1;
      while (end < all.size() && all[end].clique == all[from].clique &&
             all[end].position == all[from].position)
        ++end;
      each(std::span(all).subspan(from, end - from));
      from = end;
    }
  }

  const std::vector<Clique> &cliques() const { return allCliques; }
  const std::vector<Recording> &recordings() const { return files; }
  struct Seen {
    const Recording *recording = nullptr;
    const RecordedRank *rank = nullptr;
  };
  /// By rank; of those that have a recording.
  const std::map<int64_t, Seen> &ranks() const { return seen; }
  /// How far a rank is in a clique: begun in a run. Nothing if its file does not say.
  std::optional<uint64_t> positionOf(uint32_t clique, int64_t rank) const;

  const std::vector<HostClock> &clocks() const { return hosts; }
  const HostClock &clockOf(const Recording &recording) const;
  int64_t commonOf(const Recording &recording, int64_t monotonic) const {
    return monotonic + clockOf(recording).toCommon;
  }
  /// Now, on the common clock; for processes of this host without its uncertainty.
  int64_t nowFor(const Recording &recording) const;

private:
  void findCliques();
  void findVisits();
  void alignHosts();

  std::vector<Recording> files;
  std::map<int64_t, Seen> seen;
  std::vector<Clique> allCliques;
  std::map<const Recording *, std::vector<uint32_t>> cliqueNumbers;
  std::map<std::pair<uint32_t, int64_t>, uint64_t> positions;
  std::vector<Visit> all;
  std::vector<HostClock> hosts;
};

/// How far one position is ahead of another: a difference of runs counts more than any of numbers.
int64_t ahead(uint64_t position, uint64_t of);

} // namespace tilewright::collective::record

#endif // TILEWRIGHT_COLLECTIVE_RECORD_JOBVIEW_H
