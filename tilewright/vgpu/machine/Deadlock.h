// What to say when threads do not go on.
#ifndef TILEWRIGHT_VGPU_MACHINE_DEADLOCK_H
#define TILEWRIGHT_VGPU_MACHINE_DEADLOCK_H

#include "tilewright/vgpu/machine/Warp.h"

namespace tilewright::vgpu::machine {

/// No warp can run and no operation is in flight: everybody who waits, what for, who
/// has come and who has not.
Status describeDeadlock(const Group &group);
/// Warps run, but nothing changes: where their lanes are.
Status describeLivelock(const Group &group, uint64_t steps);

} // namespace tilewright::vgpu::machine

#endif // TILEWRIGHT_VGPU_MACHINE_DEADLOCK_H
