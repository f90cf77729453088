// Channels: the slots in LDS through which the operands of a pipelined product go.
#ifndef TILEWRIGHT_TARGET_AMDGCN_LOWER_CHANNELS_H
#define TILEWRIGHT_TARGET_AMDGCN_LOWER_CHANNELS_H

#include "tilewright/target/amdgcn/Chip.h"
#include "tilewright/target/gpu/OpGroup.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/MapVector.h"

namespace tilewright::amdgcn {

using gpu::ThreadBuilder;
using mlir::Type;
using mlir::Value;

/// The operands of an s_waitcnt; a counter that is not set is not waited for.
struct WaitCounts {
  int64_t vector = 63; // vmcnt: accesses of global memory, also those that write to LDS
  int64_t lds = 15;    // lgkmcnt
};

/// Decides what the `sm` dialect leaves implicit: slots, waits and barriers. The same waves fill
/// and drain a channel. Where loads write 16 bytes of each lane to LDS, a slot is filled so, and
/// taking the oldest of n slots waits until the loads of n - 1 slots are in flight. Elsewhere a
/// copy goes through registers: its loads are issued at once, and they are written to LDS when the
/// next slot is taken, so one of the channel's slots is in registers.
class ChannelsLowering : public gpu::OpGroup {
public:
  ChannelsLowering(gpu::KernelLowering &all, const Chip &chip) : OpGroup(all), chip(chip) {}

  void declare(sm::ChannelOp op);
  void acquire(sm::AcquireOp op);
  void publish(sm::PublishOp op);
  void take(sm::TakeOp op);
  void free(sm::FreeOp op);

  /// Notes what a copy has issued for the slot that is being filled: loads to LDS, at least
  /// `count` in each wave.
  void countLoads(int64_t count) { loads += count; }
  /// Notes a value that is to be written to LDS at `address` (i32), by the threads for which `isOn`
  /// holds (null: all).
  void writeLater(Value value, Value address, Value isOn) {
    pending.push_back({value, address, isOn});
  }

  /// Returns the state that the loop's body must restore, and drops assumptions that do not hold
  /// for later iterations.
  llvm::SmallVector<int64_t> beginLoop(mlir::scf::ForOp loop);
  void endLoop(mlir::scf::ForOp loop, llvm::ArrayRef<int64_t> before);

private:
  struct ChannelState {
    int64_t depth = 0, slotBytes = 0;
    int64_t slots = 0;                  // of LDS
    int64_t filled = 0;                 // published and not taken
    int64_t held = 0;                   // taken and not freed
    int64_t pending = 0;                // published and not written to LDS
    int64_t loads = -1;                 // of a slot, at least; -1: not known yet
    bool isFreed = false;               // since the last barrier
    llvm::SmallVector<int64_t> offsets; // of the buffers in a slot
    gpu::SharedMemory::Buffer memory;
    Value fill, drain; // variables: the addresses of the next slots
  };
  ChannelState &stateOf(Value channel) { return channels[channel]; }
  Value firstSlot(const ChannelState &state);
  void giveBuffers(mlir::ResultRange results, const ChannelState &state, Value cursor);
  void wait(WaitCounts counts);
  /// A barrier that waits for no access, and which no access crosses in LLVM.
  void plainBarrier();
  void writePending(ChannelState &state);

  const Chip &chip;
  llvm::MapVector<Value, ChannelState> channels;
  int64_t loads = 0;
  struct Write {
    Value value, address, isOn;
  };
  llvm::SmallVector<Write> pending;
};

} // namespace tilewright::amdgcn

#endif // TILEWRIGHT_TARGET_AMDGCN_LOWER_CHANNELS_H
