// Recording: what a flight recorder's file says, read from outside.
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
  uint32_t clique = 0; // in Recording::cliques
  uint32_t order = 0;
  uint64_t bytes = 0;
  uint64_t hash = 0; // differs for calls that do not fit together
  std::string name, place, tensor;
};
/// "'all_reduce.3' (all_reduce of f32[4], 16 bytes) at train.py:41"
std::string describe(const RecordedSite &site);

struct RecordedEntry {
  uint64_t number = 0; // among all of the rank
  State state = State::none;
  uint32_t site = 0; // in Recording::sites
  uint32_t run = 0, sequence = 0;
  int64_t begin = 0, end = 0; // monotonic nanoseconds of the host; no end before it is done
};

struct RecordedRank {
  int64_t rank = 0;
  uint64_t begun = 0; // also those that are not kept
  /// By clique: how far it is (LaneSlot), if the file says.
  struct Lane {
    uint32_t clique = 0;
    uint64_t position = 0;
  };
  std::vector<Lane> lanes;
  std::vector<RecordedEntry> entries; // oldest first
  size_t unreadable = 0;              // entries that were being written, or have no name
  std::string failure;
};

/// One process in one generation of a job.
struct Recording {
  std::string path;
  std::string job, host, boot, command;
  uint64_t epoch = 0;
  int64_t process = 0, processes = 1, jobRanks = 1;
  uint64_t pid = 0, pidStart = 0, pidNamespace = 0;
  Ending ending = Ending::none;
  int64_t started = 0; // when, by the time of day
  int64_t toReal = 0;  // from monotonic nanoseconds to the time of day
  std::vector<RecordedClique> cliques;
  std::vector<RecordedSite> sites;
  std::vector<RecordedRank> ranks;
};

/// Understands the bytes of a file, whoever wrote them and however far they got. At most
/// `newestEntries` of each rank, the last ones.
///  - recordingDamaged (E6050)
Result<Recording> parseRecording(std::span<const std::byte> bytes, const std::string &path,
                                 uint64_t newestEntries = mostEntries);

/// The same from a file, also while it is written.
///  - recordingsMissing (E6052): it cannot be opened.
Result<Recording> readRecording(const std::string &path, uint64_t newestEntries = mostEntries);

} // namespace tilewright::collective::record

#endif // TILEWRIGHT_COLLECTIVE_RECORD_RECORDING_H
