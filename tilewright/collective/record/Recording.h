// Recording: reads the file of a flight recorder.
#ifndef TILEWRIGHT_COLLECTIVE_RECORD_RECORDING_H
#define TILEWRIGHT_COLLECTIVE_RECORD_RECORDING_H

#include "tilewright/collective/Communicator.h"
#include "tilewright/collective/record/Format.h"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace tilewright::collective::record {

struct RecordedClique {
  std::string engine;
  std::vector<int64_t> members;
};

struct RecordedSite {
  Kind kind = Kind::allReduce;
  uint32_t clique = 0; // index into Recording::cliques
  uint32_t order = 0;
  uint64_t bytes = 0;
  uint64_t hash = 0; // siteHash(): differs for calls that do not match
  std::string name, place, tensor;
};
/// "'all_reduce.3' (all_reduce of f32[4], 16 bytes) at train.py:41"
std::string describe(const RecordedSite &site);

struct RecordedEntry {
  uint64_t number = 0; // among all entries of the rank
  State state = State::none;
  uint32_t site = 0; // index into Recording::sites
  uint32_t run = 0, sequence = 0;
  int64_t begin = 0, end = 0; // monotonic nanoseconds of the host; `end` is 0 until it is done
};

struct RecordedRank {
  int64_t rank = 0;
  uint64_t begun = 0; // including entries that were overwritten
  /// Progress by clique (see ProgressSlot), for cliques that have a slot in the file.
  struct CliqueProgress {
    uint32_t clique = 0;
    uint64_t position = 0;
  };
  std::vector<CliqueProgress> progress;
  std::vector<RecordedEntry> entries; // oldest first
  size_t unreadable = 0;              // entries that were being written, or have no description
  std::string failure;
};

/// The recording of one process in one epoch of a job.
struct Recording {
  std::string path;
  std::string job, host, boot, command;
  uint64_t epoch = 0;
  int64_t process = 0, processes = 1, jobRanks = 1;
  uint64_t pid = 0, pidStart = 0, pidNamespace = 0;
  Ending ending = Ending::none;
  int64_t started = 0; // time of day
  int64_t toReal = 0;  // offset from monotonic nanoseconds to time of day
  std::vector<RecordedClique> cliques;
  std::vector<RecordedSite> sites;
  std::vector<RecordedRank> ranks;
};

/// Parses the untrusted and possibly incomplete bytes of a file. Keeps at most the newest
/// `newestEntries` entries of each rank.
///  - recordingDamaged (E6050)
Result<Recording> parseRecording(std::span<const std::byte> bytes, const std::string &path,
                                 uint64_t newestEntries = maxEntries);

/// Reads and parses a file, to which a process may still be writing.
///  - recordingsMissing (E6052): the file cannot be opened.
///  - recordingDamaged (E6050)
Result<Recording> readRecording(const std::string &path, uint64_t newestEntries = maxEntries);

} // namespace tilewright::collective::record

#endif // TILEWRIGHT_COLLECTIVE_RECORD_RECORDING_H
