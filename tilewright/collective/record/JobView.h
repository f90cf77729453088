// JobView: the merged recordings of all processes of a job.
#ifndef TILEWRIGHT_COLLECTIVE_RECORD_JOBVIEW_H
#define TILEWRIGHT_COLLECTIVE_RECORD_JOBVIEW_H

#include "tilewright/collective/record/Recording.h"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace tilewright::collective::record {

/// The offset of a host's clock from the common clock.
struct HostClock {
  std::string host, boot;
  int64_t toCommon = 0; // to add to its monotonic nanoseconds
  int64_t bound = 0;    // maximum error of toCommon in either direction; -1 if unknown
};

/// One epoch of a job, from its recordings. Host clocks are aligned by causality: no rank can
/// complete a synchronizing collective (such as an all_reduce) before the last member has begun it.
class JobView {
public:
  /// All recordings must be of the same job and epoch.
  explicit JobView(std::vector<Recording> recordings);
  JobView(const JobView &) = delete;
  JobView &operator=(const JobView &) = delete;

  struct Clique {
    std::string engine;
    std::vector<int64_t> members;
  };
  /// One rank's part in one collective of a clique.
  struct Visit {
    uint32_t clique = 0;
    uint64_t position = 0; // the run, and the sequence number in it
    int64_t rank = 0;
    const RecordedEntry *entry = nullptr;
    const RecordedSite *site = nullptr;
    int64_t begin = 0, end = 0; // on the common clock
  };
  /// Sorted so that the visits of one collective are adjacent, in the order of their ranks.
  const std::vector<Visit> &visits() const { return all; }
  /// Calls `each` with the visits of each collective, by clique and position.
  template <typename Each> void forEachCollective(Each &&each) const {
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
  /// The recordings by rank; contains only ranks that have one.
  const std::map<int64_t, Seen> &ranks() const { return seen; }
  /// A rank's progress in a clique, as in ProgressSlot: the run, and the number of collectives
  /// begun in it. Empty if the rank has no recording.
  std::optional<uint64_t> positionOf(uint32_t clique, int64_t rank) const;

  const std::vector<HostClock> &clocks() const { return hosts; }
  const HostClock &clockOf(const Recording &recording) const;
  int64_t commonOf(const Recording &recording, int64_t monotonic) const {
    return monotonic + clockOf(recording).toCommon;
  }
  /// The current time on the common clock; exact for processes on this host.
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

/// How far one position is ahead of another; a difference in runs outweighs any difference in
/// sequence numbers.
int64_t ahead(uint64_t position, uint64_t of);

} // namespace tilewright::collective::record

#endif // TILEWRIGHT_COLLECTIVE_RECORD_JOBVIEW_H
