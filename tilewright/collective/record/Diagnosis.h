// Diagnosis: which rank of a job is missing in which collective.
#ifndef TILEWRIGHT_COLLECTIVE_RECORD_DIAGNOSIS_H
#define TILEWRIGHT_COLLECTIVE_RECORD_DIAGNOSIS_H

#include "tilewright/collective/record/JobView.h"
#include "tilewright/collective/record/ThisProcess.h"

#include <chrono>

namespace tilewright::collective::record {

/// A rank as its recording and the system show it.
struct RankReport {
  int64_t rank = 0;
  bool isRecorded = false;
  int64_t process = -1;
  uint64_t pid = 0;
  std::string host;
  ProcessState state;
  Ending ending = Ending::none;
  std::string failure;
  /// Its last collective.
  std::optional<RecordedSite> last;
  State lastState = State::none;
  uint32_t lastSequence = 0;
  int64_t ago = 0; // nanoseconds since it began, or since it ended if it has
};

/// A clique in which somebody waits.
struct CliqueReport {
  uint32_t clique = 0; // in JobView::cliques
  uint32_t run = 0, sequence = 0;
  std::optional<RecordedSite> site; // of those who have come
  struct Waiting {
    int64_t rank = 0;
    int64_t nanoseconds = 0;
    bool gaveUp = false;
  };
  std::vector<Waiting> waiting;
  std::vector<int64_t> missing; // have not come; empty if all have, and it does not end
  /// Of those that are missing or do not go on, the ones that wait for nobody: where it began.
  std::vector<int64_t> blamed;
  /// Two ranks that came with different collectives.
  struct Mismatch {
    int64_t rank = 0, other = 0;
    RecordedSite site, otherSite;
  };
  std::optional<Mismatch> mismatch;
};

/// Who is late on average, among those that took part in enough collectives.
struct Straggler {
  int64_t rank = 0;
  uint64_t meetings = 0, last = 0; // how many, and in how many it came last
  double lateness = 0;             // nanoseconds behind the first, on average
};

struct Diagnosis {
  std::vector<RankReport> ranks;   // all of the job that cliques name or that are recorded
  std::vector<CliqueReport> stuck; // where it began first
  std::vector<Straggler> stragglers;
  /// Ranks that wait for each other, if nobody else is to blame.
  std::vector<int64_t> circle;
  /// Somebody waits longer than the patience, for one that has ended or is stopped, or in vain.
  bool standsStill = false;
  std::chrono::nanoseconds patience{};
};

/// Looks at one moment; of a job that runs well, too.
Diagnosis diagnose(const JobView &view, std::chrono::nanoseconds patience);

/// Takes the recordings of the newest job at these paths, or of the one whose name begins with
/// `job`, in its newest epoch. What was left out, and files that cannot be understood, are told in
/// `notes`.
///  - recordingsMissing (E6052), recordingDamaged (E6050): there is no other file.
Result<std::unique_ptr<JobView>> viewOf(const std::vector<std::string> &paths,
                                        const std::string &job, uint64_t newestEntries,
                                        std::vector<std::string> &notes);

/// For people. `notes` as from viewOf().
std::string toText(const JobView &view, const Diagnosis &diagnosis,
                   const std::vector<std::string> &notes);
/// For programs: the same as one JSON object.
std::string toJson(const JobView &view, const Diagnosis &diagnosis,
                   const std::vector<std::string> &notes);
/// In one line: E6053 if the job stands still.
Status verdictOf(const JobView &view, const Diagnosis &diagnosis);

} // namespace tilewright::collective::record

#endif // TILEWRIGHT_COLLECTIVE_RECORD_DIAGNOSIS_H
