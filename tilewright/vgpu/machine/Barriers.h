// Barriers between the threads of a block, and calls. The handlers for all host instruction sets
// share these functions.
#ifndef TILEWRIGHT_VGPU_MACHINE_BARRIERS_H
#define TILEWRIGHT_VGPU_MACHINE_BARRIERS_H

#include "tilewright/vgpu/machine/Warp.h"

namespace tilewright::vgpu::machine {

/// The maximum local memory of a thread; the same on all chips.
inline constexpr uint32_t maxLocalBytes = 512 * 1024;
inline constexpr uint32_t maxCallDepth = 1000;

/// The lanes in `mask` arrive at barrier `number` of their block. `threads` is the number of
/// threads that the barrier expects; 0 means all. The last arrival wakes the waiting lanes. Returns
/// false after a fault.
bool arriveAtBarrier(Warp &warp, const Op *op, uint32_t number, uint32_t threads, uint32_t mask,
                     uint32_t votes);
/// Releases fragments whose bar.warp.sync is complete, and reports the synchronised lanes to the
/// observer.
void releaseWarpBarriers(Warp &warp);
void observeWarpBarrier(Warp &warp, const Op *op, uint32_t mask);
void observeFence(Warp &warp, const Op *op, const std::byte *registers, uint32_t mask);

/// The function at the address in a register, if its signature matches the call; null after a
/// fault.
const DecodedFunction *functionAt(Warp &warp, const Op *op, const CallSite &site, uint64_t address);
/// The address of one lane's copy of an argument or result of a call. Predicates are not supported.
std::byte *addressOfValue(Warp &warp, const Frame *frame, const CallValue &value, int lane);
/// Copies the values of a call from one frame to another for the lanes in `mask`.
void passValues(Warp &warp, const Frame *from, const std::vector<CallValue> &sources, Frame *to,
                const std::vector<CallValue> &destinations, uint32_t mask);

} // namespace tilewright::vgpu::machine

#endif // TILEWRIGHT_VGPU_MACHINE_BARRIERS_H
