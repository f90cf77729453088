// How the threads of a block wait for each other, and how they call: what
// handlers of every instruction set share.
#ifndef TILEWRIGHT_VGPU_MACHINE_BARRIERS_H
#define TILEWRIGHT_VGPU_MACHINE_BARRIERS_H

#include "tilewright/vgpu/machine/Warp.h"

namespace tilewright::vgpu::machine {

/// What a thread can have on every chip here.
inline constexpr uint32_t maxLocalBytes = 512 * 1024;
inline constexpr uint32_t maxCallDepth = 1000;

/// The lanes in `mask` arrive at barrier `number` of their block; `threads` is
/// the number it waits for, 0 for all. Wakes whoever waits if they were the
/// last. False after a fault.
bool arriveAtBarrier(Warp &warp, const Op *op, uint32_t number, uint32_t threads, uint32_t mask,
                     uint32_t votes);
/// Lets fragments go whose bar.warp.sync is complete, and tells of those that met.
void releaseWarpBarriers(Warp &warp);
void observeWarpBarrier(Warp &warp, const Op *op, uint32_t mask);
void observeFence(Warp &warp, const Op *op, const std::byte *registers, uint32_t mask);

/// The function whose address a register holds, if it fits the call. Null after a fault.
const DecodedFunction *functionAt(Warp &warp, const Op *op, const CallSite &site, uint64_t address);
/// Where the value of a call lies for one lane; predicates have no such place.
std::byte *placeOfValue(Warp &warp, const Frame *frame, const CallValue &value, int lane);
/// Copies values from one frame to another for the lanes in `mask`.
void passValues(Warp &warp, const Frame *from, const std::vector<CallValue> &sources, Frame *to,
                const std::vector<CallValue> &destinations, uint32_t mask);

} // namespace tilewright::vgpu::machine

#endif // TILEWRIGHT_VGPU_MACHINE_BARRIERS_H
