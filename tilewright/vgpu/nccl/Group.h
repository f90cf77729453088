// Groups of calls: nothing begins before the outermost ncclGroupEnd.
#ifndef TILEWRIGHT_VGPU_NCCL_GROUP_H
#define TILEWRIGHT_VGPU_NCCL_GROUP_H

#include "tilewright/vgpu/nccl/Batch.h"

namespace tilewright::vgpu::nccl {

/// A call that the hosts of several ranks execute together.
struct Job {
  /// The communicators that the call uses or makes; their state is ncclInProgress in the meantime.
  /// Jobs with the same first communicator run one after the other, all others concurrently.
  std::vector<std::shared_ptr<Comm>> comms;
  std::function<ncclResult_t()> run;
  /// Undoes what the call has returned to the program. Called if run() fails or is never called.
  std::function<void()> undo = [] {};
};

/// Begins a group, or one within the group of this thread.
void beginGroup();
/// Ends the group. The outermost end starts the calls of the group. It waits for them, unless a
/// communicator of the group is non-blocking: then it returns ncclInProgress.
ncclResult_t endGroup();
/// Drops the calls of the outermost group, and adds up how long their data would take.
ncclResult_t dropGroup(double &seconds);
/// Whether the calling thread is in a group.
bool isInGroup();

/// Adds a call to the group of this thread, which must be in one.
void addJob(Job job);
void addOperation(const std::shared_ptr<Comm> &comm, const Operation &operation);
/// If this thread is in a group, makes the group fail at its end. Returns `result`.
ncclResult_t noteGroupError(ncclResult_t result);

} // namespace tilewright::vgpu::nccl

#endif // TILEWRIGHT_VGPU_NCCL_GROUP_H
