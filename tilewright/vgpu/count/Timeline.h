// A timeline of warps, asynchronous copies and barriers.
#ifndef TILEWRIGHT_VGPU_COUNT_TIMELINE_H
#define TILEWRIGHT_VGPU_COUNT_TIMELINE_H

#include "tilewright/support/text/Json.h"
#include "tilewright/vgpu/count/InFlightOps.h"
#include "tilewright/vgpu/machine/Observer.h"

#include <atomic>
#include <map>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

namespace tilewright::vgpu::count {

/// The number of events that all threads together may still record.
struct TimelineBudget {
  explicit TimelineBudget(size_t most) : left(static_cast<int64_t>(most)) {}
  std::atomic<int64_t> left;
  bool take() { return left.fetch_sub(1, std::memory_order_relaxed) > 0; }
};

/// Records the groups of blocks that one host thread runs.
///
/// The virtual GPU has no time, so the clock counts work: a warp's time advances by one with each
/// instruction it executes. After a wait, its time is at least that of the last arrival it waited
/// for. All groups begin at 0. A copy is in flight from the time of its issue to the time when a
/// warp waited for it.
class Timeline {
public:
  explicit Timeline(TimelineBudget &budget) : budget(budget) {}

  void groupBegin(const machine::Group &group);
  void groupEnd(const machine::Group &group);
  void access(const machine::MemoryEvent &event);
  void synchronise(const machine::SyncEvent &event);

  /// The events of all timelines as a Chrome trace; `title` names the launch.
  static std::string toJson(const std::vector<const Timeline *> &timelines,
                            const std::string &title, bool isComplete);

private:
  struct WarpTrack {
    int64_t skew = 0;  // time that passed without instructions
    int64_t since = 0; // when the warp last continued after a wait
  };
  /// One phase of a barrier.
  struct Rendezvous {
    int64_t first = -1, last = 0;
    void arrive(int64_t time) {
      // Warps run one after the other, so the earliest arrival is not always reported first.
      first = first < 0 || time < first ? time : first;
      last = time > last ? time : last;
    }
  };
  struct InFlightOp {
    std::string name;
    const char *category = "copy";
    uint64_t block = 0;
    int64_t begin = 0;
    uint64_t bytes = 0;
  };
  struct ByteChange { // a change of a block's bytes in flight
    int64_t time, change;
  };

  WarpTrack &trackOf(const machine::Warp &warp);
  int64_t timeOf(const machine::Warp &warp);
  /// Records that the warp waited until `end`.
  void waited(const machine::Warp &warp, const machine::Op *op, const std::string &what,
              int64_t end);
  void complete(machine::AsyncId id, int64_t time);
  void add(const std::string &event);
  static uint64_t processOf(const machine::Warp &warp);
  static uint64_t threadOf(const machine::Warp &warp) { return warpNumber(warp) + 1; }
  static uint64_t warpNumber(const machine::Warp &warp);
  uint64_t barrierTrack(const machine::Warp &warp, const std::string &name);

  TimelineBudget &budget;
  JsonWriter events; // the elements of a list
  std::vector<WarpTrack> tracks;
  std::map<std::tuple<uint64_t, uint64_t, uint64_t>, Rendezvous>
      rendezvousByPhase; // by kind and block or cluster, object, phase
  std::map<std::pair<uint64_t, uint64_t>, int64_t> phaseEnds; // of mbarrier phases
  InFlightOps waits;
  std::unordered_map<machine::AsyncId, InFlightOp> inFlightOps;
  std::map<uint64_t, std::vector<ByteChange>> byteChanges; // by block
  std::map<std::pair<uint64_t, std::string>, uint64_t> barrierTracks;
};

} // namespace tilewright::vgpu::count

#endif // TILEWRIGHT_VGPU_COUNT_TIMELINE_H
