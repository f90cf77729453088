// For tests: one process of a job on virtual GPUs that trains, meets a fault, and goes on.
#ifndef TILEWRIGHT_VGPU_NCCL_TESTING_SURVIVOR_H
#define TILEWRIGHT_VGPU_NCCL_TESTING_SURVIVOR_H

#include "tilewright/collective/DeviceCommunicator.h"
#include "tilewright/collective/membership/Group.h"
#include "tilewright/vgpu/nccl/testing/Nccl.h"

namespace tilewright::vgpu::nccl {

/// The kinds of faults of a campaign.
enum class Blow : uint8_t {
  kill,         // SIGKILL at any time while collectives run
  stop,         // SIGSTOP
  failingCall,  // ncclAllReduce returns an error
  late,         // a rank is late, on the host or on the device, and nothing fails
  abortInGroup, // a rank gives up between ncclGroupStart and ncclGroupEnd
  killInInit,
  killInSplit,
  killOnDevice, // while its stream executes a collective
  killInGroup,  // in ncclGroupEnd
  failInInit,
  failInSplit,
  count
};
std::string_view nameOf(Blow blow);

/// Everything that a seed determines.
struct Trial {
  uint64_t seed = 0;
  Blow blow = Blow::kill;
  int ranks = 3, victim = 0;
  int round = 0; // of the fault
  std::chrono::microseconds later{0};
  int delay = 0; // of a late rank, in milliseconds
  size_t count = 1;

  static Trial of(uint64_t seed);
  std::string text() const;
  bool isFatal() const { return blow != Blow::late; }
  bool isKill() const;
  /// TILEWRIGHT_VGPU_NCCL_FAULT of the victim; empty if it strikes itself.
  std::string fault() const;
};

/// Nanoseconds of the clock that all processes of a machine share; 0: has not happened.
using Moment = std::atomic<int64_t>;
inline int64_t now() { return std::chrono::steady_clock::now().time_since_epoch().count(); }

/// The notes of a rank for the judge; in memory that all processes share.
struct Witness {
  Moment struck;  // the victim: when the fault began, if it knows
  Moment failed;  // a survivor: when it got an error
  Moment named;   // when the reason named the victim
  Moment resumed; // when its first collective without the victim was right
  Moment rounds;  // done
  std::atomic<int> process;
  char text[600];
};

/// Lives through a trial. Ok if the rank worked to the end, with right results and without leaks.
Status survive(const Trial &trial, int rank, Witness *witnesses, KeyValueStore &store);

} // namespace tilewright::vgpu::nccl

#endif // TILEWRIGHT_VGPU_NCCL_TESTING_SURVIVOR_H
