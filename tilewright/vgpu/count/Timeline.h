// Warps, asynchronous copies and barriers on a timeline.
#ifndef TILEWRIGHT_VGPU_COUNT_TIMELINE_H
#define TILEWRIGHT_VGPU_COUNT_TIMELINE_H

#include "tilewright/vgpu/count/Flights.h"
#include "tilewright/vgpu/machine/Observer.h"

#include <atomic>
#include <map>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

namespace tilewright::vgpu::count {

/// How many events all threads together may still record.
struct TimelineBudget {
  explicit TimelineBudget(size_t most) : left(static_cast<int64_t>(most)) {}
  std::atomic<int64_t> left;
  bool take() { return left.fetch_sub(1, std::memory_order_relaxed) > 0; }
};

/// Records the groups of blocks that one thread of the host runs.
///
/// There is no time on the virtual GPU, so the clock is of work: a warp's time grows by
/// one with each instruction it executes, and when it has waited it is at least that of
/// the last one it waited for. All groups begin at 0. A copy is in flight from where it
/// was issued to where somebody waited for it.
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
    int64_t skew = 0;  // time that went by without instructions
    int64_t since = 0; // when the present stretch of work began
  };
  /// A barrier in one of its phases.
  struct Meeting {
    int64_t first = -1, last = 0;
    void arrive(int64_t time) {
      // Warps run one after the other, so the first to come is not the first told.
      first = first < 0 || time < first ? time : first;
      last = time > last ? time : last;
    }
  };
  struct Flight {
    std::string name;
    const char *category = "copy";
    uint64_t block = 0;
    int64_t begin = 0;
    uint64_t bytes = 0;
  };
  struct Step { // of the bytes in flight of a block
    int64_t time, change;
  };

  WarpTrack &trackOf(const machine::Warp &warp);
  int64_t timeOf(const machine::Warp &warp);
  /// The warp went on at `end` after it had waited.
  void waited(const machine::Warp &warp, const machine::Op *op, const std::string &what,
              int64_t end);
  void land(machine::AsyncId id, int64_t time);
  void add(const std::string &event);
  static uint64_t processOf(const machine::Warp &warp);
  static uint64_t threadOf(const machine::Warp &warp) { return warpNumber(warp) + 1; }
  static uint64_t warpNumber(const machine::Warp &warp);
  uint64_t barrierTrack(const machine::Warp &warp, const std::string &name);

  TimelineBudget &budget;
  std::string events; // JSON, each with a comma before it
  std::vector<WarpTrack> tracks;
  std::map<std::tuple<uint64_t, uint64_t, uint64_t>, Meeting>
      meetings;                                               // kind and place, object, phase
  std::map<std::pair<uint64_t, uint64_t>, int64_t> phaseEnds; // of mbarriers
  Flights waits;
  std::unordered_map<machine::AsyncId, Flight> flights;
  std::map<uint64_t, std::vector<Step>> steps; // by block
  std::map<std::pair<uint64_t, std::string>, uint64_t> barrierTracks;
};

} // namespace tilewright::vgpu::count

#endif // TILEWRIGHT_VGPU_COUNT_TIMELINE_H
