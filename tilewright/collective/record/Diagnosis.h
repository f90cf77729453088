// Diagnosis: finds which rank of a job is missing in which collective.
#ifndef TILEWRIGHT_COLLECTIVE_RECORD_DIAGNOSIS_H
#define TILEWRIGHT_COLLECTIVE_RECORD_DIAGNOSIS_H

#include "tilewright/collective/record/JobView.h"
#include "tilewright/collective/record/ThisProcess.h"

#include <chrono>

namespace tilewright::collective::record {

/// A rank's state, from its recording and from the system.
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
  int64_t ago = 0; // nanoseconds since its last collective began, or since that ended if it has
};

/// A clique in which ranks wait.
struct CliqueReport {
  uint32_t clique = 0; // index into JobView::cliques
  uint32_t run = 0, sequence = 0;
  std::optional<RecordedSite> site; // of the ranks that have joined
  struct Waiting {
    int64_t rank = 0;
    int64_t nanoseconds = 0;
    bool gaveUp = false;
  };
  std::vector<Waiting> waiting;
  /// Members that have not joined; empty if all have joined and the collective does not complete.
  std::vector<int64_t> missing;
  /// The missing or stuck ranks that wait for no other rank, so they are the root cause.
  std::vector<int64_t> blamed;
  /// Two ranks that called different collectives.
  struct Mismatch {
    int64_t rank = 0, other = 0;
    RecordedSite site, otherSite;
  };
  std::optional<Mismatch> mismatch;
};

/// A rank's average lateness; only for ranks with enough recorded collectives.
struct Straggler {
  int64_t rank = 0;
  uint64_t collectives = 0, last = 0; // collectives, and how often it joined last
  double lateness = 0;                // nanoseconds behind the first, on average
};

struct Diagnosis {
  std::vector<RankReport> ranks;   // all that a clique names or that have a recording
  std::vector<CliqueReport> stuck; // root causes first
  std::vector<Straggler> stragglers;
  /// Ranks that wait for each other in a cycle; only if no rank is blamed.
  std::vector<int64_t> cycle;
  /// Whether a rank has waited longer than the timeout, waits for a process that has ended or is
  /// stopped, has given up, or called a different collective than its peers.
  bool isHung = false;
  std::chrono::nanoseconds timeout{};
};

/// Diagnoses one snapshot of a job, which may be healthy.
Diagnosis diagnose(const JobView &view, std::chrono::nanoseconds timeout);

/// Reads the recordings of one job at these paths, in the job's newest epoch. Selects the job whose
/// name begins with `job`, or the newest job if `job` is empty. `notes` receives lines about
/// recordings that are damaged, missing or left out.
///  - recordingsMissing (E6052), recordingDamaged (E6050): no usable file is left.
Result<std::unique_ptr<JobView>> viewOf(const std::vector<std::string> &paths,
                                        const std::string &job, uint64_t newestEntries,
                                        std::vector<std::string> &notes);

/// Formats the diagnosis for humans. `notes` are the notes that viewOf() returned.
std::string toText(const JobView &view, const Diagnosis &diagnosis,
                   const std::vector<std::string> &notes);
/// Formats the same content as one JSON object.
std::string toJson(const JobView &view, const Diagnosis &diagnosis,
                   const std::vector<std::string> &notes);
/// E6053 with a one-line summary if the job hangs.
Status verdictOf(const JobView &view, const Diagnosis &diagnosis);

} // namespace tilewright::collective::record

#endif // TILEWRIGHT_COLLECTIVE_RECORD_DIAGNOSIS_H
