// Recorder: records the collectives of each rank of a process, in a file that survives the process.
#ifndef TILEWRIGHT_COLLECTIVE_RECORD_RECORDER_H
#define TILEWRIGHT_COLLECTIVE_RECORD_RECORDER_H

#include "tilewright/collective/Clique.h"
#include "tilewright/collective/record/Clock.h"
#include "tilewright/collective/record/Format.h"

#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

namespace tilewright::collective::record {

/// One rank's part of the file. Recording takes a few stores, without locks or system calls. Only
/// one thread at a time may call this.
class Track {
public:
  struct CliqueProgress {
    std::atomic<uint64_t> *position = nullptr; // in the file, or `spare` if that is full
    std::atomic<uint64_t> spare = 0;
  };

  /// Records the start of a collective; returns the number of its entry.
  uint64_t begin(uint32_t site, CliqueProgress &progress, uint32_t run, State state) {
    const uint64_t number = ring->next.load(std::memory_order_relaxed);
    if ((number & (refreshEvery - 1)) == refreshEvery - 1)
      refresh();
    // The count restarts with each run, and wraps around without carrying into the run number.
    const uint64_t before = progress.position->load(std::memory_order_relaxed);
    const uint32_t count = before >> 32 == run ? static_cast<uint32_t>(before) : 0;
    Entry &entry = entries[number & mask];
    // On x86 release stores are plain stores; they only keep the order.
    entry.stamp.store(0, std::memory_order_release);
    entry.site.store(site, std::memory_order_release);
    entry.sequence.store(count, std::memory_order_release);
    entry.run.store(run, std::memory_order_release);
    entry.end.store(0, std::memory_order_release);
    entry.begin.store(ticksNow(isCounter), std::memory_order_release);
    entry.stamp.store(stampOf(number, state), std::memory_order_release);
    progress.position->store(uint64_t(run) << 32 | (count + 1U), std::memory_order_release);
    ring->next.store(number + 1, std::memory_order_release);
    return number;
  }
  void wait(uint64_t number) { mark(number, State::waits); }
  void end(uint64_t number, bool isWell) {
    if (Entry *entry = find(number)) {
      entry->end.store(ticksNow(isCounter), std::memory_order_release);
      entry->stamp.store(stampOf(number, isWell ? State::done : State::failed),
                         std::memory_order_release);
    }
  }
  /// Records why the rank's last collective failed; overwrites an earlier reason.
  void explain(std::string_view failure);

  int64_t rank() const { return ring->rank; }

private:
  friend class Recorder;
  static constexpr uint64_t refreshEvery = 1024;
  /// Null if the entry was overwritten, because the rank has since begun more collectives than the
  /// ring holds.
  Entry *find(uint64_t number) {
    return ring->next.load(std::memory_order_relaxed) - number <= mask + 1 ? &entries[number & mask]
                                                                           : nullptr;
  }
  void mark(uint64_t number, State state) {
    if (Entry *entry = find(number))
      entry->stamp.store(stampOf(number, state), std::memory_order_release);
  }
  void refresh();

  class Recorder *owner = nullptr;
  RingHeader *ring = nullptr;
  Entry *entries = nullptr;
  uint64_t mask = 0;
  bool isCounter = false;
  std::map<uint32_t, CliqueProgress> progressOf; // by clique; guarded by the recorder's mutex
};

/// The recording of one process in one epoch of its job. The file has a fixed size and is fully
/// allocated at creation, so that a full disk is an error then and not a SIGBUS later. It is
/// memory-mapped, so that the entries survive however the process ends.
///
///   TILEWRIGHT_ASSIGN(auto recorder, Recorder::create({.folder = folder, .ranks = {0, 1}}));
///   RecordedEngine recorded(std::move(engine), recorder, "shm");
///
/// Thread-safe, except for Track.
class Recorder {
public:
  struct Options {
    std::string folder{}; // must exist
    std::string job = "job";
    uint64_t epoch = 0;
    int64_t process = 0, processes = 1;
    int64_t jobRanks = 1;
    std::vector<int64_t> ranks{0}; // hosted by this process
    int64_t entries = 16384;       // for each rank
    /// Whether the destructor removes the file if every collective succeeded.
    bool removesWhenWell = false;
  };
  ///  - recorderFile (E6051): the file cannot be created; the message contains the text of errno.
  static Result<std::shared_ptr<Recorder>> create(const Options &options);
  ~Recorder();
  Recorder(const Recorder &) = delete;
  Recorder &operator=(const Recorder &) = delete;

  const std::string &path() const { return name; }
  /// Null if this process does not host the rank.
  Track *trackOf(int64_t rank);

  struct CallSite {
    uint32_t site = 0; // zero: the table is full, so the collective has no description
    Track::CliqueProgress *progress = nullptr;
  };
  /// The site and progress counter to record for a call in a clique of these ranks. Costs
  /// microseconds, so callers cache it.
  CallSite callSiteOf(Track &track, const Call &call, const Clique &members,
                      std::string_view engine);

private:
  friend class Track;
  Recorder() = default;
  uint32_t add(std::unordered_map<std::string, uint32_t> &known, std::string record);
  void refresh();
  void conclude();
  struct Living; // all recorders of the process; Recorder.cpp

  std::string name;
  bool removesWhenWell = false, isCounter = false, isLiving = false;
  std::byte *bytes = nullptr;
  size_t size = 0;
  FileHeader *header = nullptr;
  std::deque<Track> tracks;
  std::atomic<bool> hasFailed = false;

  std::mutex mutex;
  // guarded by mutex:
  std::unordered_map<std::string, uint32_t> cliques, sites; // by their serialized record
};

} // namespace tilewright::collective::record

#endif // TILEWRIGHT_COLLECTIVE_RECORD_RECORDER_H
