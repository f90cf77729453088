// Error messages for launches that make no progress.
#ifndef TILEWRIGHT_VGPU_MACHINE_DEADLOCK_H
#define TILEWRIGHT_VGPU_MACHINE_DEADLOCK_H

#include "tilewright/vgpu/machine/Warp.h"

#include <chrono>
#include <map>
#include <string>

namespace tilewright::vgpu::machine {

/// The error if no warp can run and no operation is in flight. Lists all waiting lanes, what they
/// wait for, and which threads have arrived and which have not.
Status describeDeadlock(const Group &group);
/// The error if warps run without progress. Lists the locations of their lanes.
Status describeLivelock(const Group &group, uint64_t steps);

/// The locations of a launch's warps when the launch was stopped.
class StoppedWarps {
public:
  void add(const Group &group);
  /// One line for each source location, sorted by the number of warps.
  std::string text() const;

private:
  struct StoppedLanes {
    size_t count = 0;  // groups of lanes
    std::string first; // one of the groups, as an example
  };
  std::map<std::string, StoppedLanes> byLocation;
};
/// The error if a launch exceeded its time limit.
Status describeTimeout(const std::string &kernel, std::chrono::steady_clock::duration limit,
                       const StoppedWarps &stopped);
/// The error if the user pressed Ctrl-C after `time` had passed.
Status describeInterrupt(const std::string &kernel, std::chrono::steady_clock::duration time,
                         const StoppedWarps &stopped);

} // namespace tilewright::vgpu::machine

#endif // TILEWRIGHT_VGPU_MACHINE_DEADLOCK_H
