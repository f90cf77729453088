#include "tilewright/target/amdgcn/lower/Channels.h"

#include "tilewright/support/Concat.h"
#include "tilewright/target/gpu/KernelLowering.h"

using namespace llvm;

namespace tilewright::amdgcn {

namespace LLVM = mlir::LLVM;
using mlir::Block;

void ChannelsLowering::declare(sm::ChannelOp op) {
  ChannelState state;
  state.depth = int64_t(op.getDepth());
  if (op.getFilled() != 0 || op.getType().getBuffers().empty())
    return kernel.refuse(op, "must have buffers, and no slots that are full at the start");
  for (sm::BufferType buffer : op.getType().getBuffers()) {
    if (buffer.getSpace() != sm::Space::shared || buffer.getShape().size() != 2)
      return kernel.refuse(op, "has a buffer that is not a matrix in shared memory");
    state.offsets.push_back(state.slotBytes);
    state.slotBytes += int64_t(alignTo(uint64_t(buffer.getBytes()), 1024));
  }
  state.slots = chip.loadsWideToLds ? state.depth : std::max<int64_t>(1, state.depth - 1);
  state.memory = kernel.shared.allocate(state.slots * state.slotBytes, 1024, op);
  {
    mlir::OpBuilder::InsertionGuard guard(b.op);
    state.fill = b.variable(b.i32Type);
    state.drain = b.variable(b.i32Type);
    b.moveToEntry();
    b.store(firstSlot(state), state.fill);
    b.store(firstSlot(state), state.drain);
  }
  channels[op.getResult()] = std::move(state);
}

Value ChannelsLowering::firstSlot(const ChannelState &state) {
  return b.ptrToInt(kernel.shared.address(state.memory), b.i32Type);
}

/// Gives the buffers of the slot at the cursor, and moves the cursor to the next slot.
void ChannelsLowering::giveBuffers(mlir::ResultRange results, const ChannelState &state,
                                   Value cursor) {
  Value slot = b.load(b.i32Type, cursor);
  for (auto [index, result] : enumerate(results))
    kernel.buffers[result] = {b.add(slot, b.i32(state.offsets[index])), nullptr};
  if (state.slots == 1)
    return;
  Value first = firstSlot(state), next;
  if (state.slots == 2) {
    next = b.sub(b.add(b.shl(first, b.i32(1)), b.i32(state.slotBytes)), slot);
  } else {
    next = b.add(slot, b.i32(state.slotBytes));
    Value wraps = b.equal(slot, b.add(first, b.i32((state.slots - 1) * state.slotBytes)));
    next = b.select(wraps, first, next);
  }
  b.store(next, cursor);
}

void ChannelsLowering::wait(WaitCounts counts) {
  // vmcnt has bits 0 to 3 and 14 to 15, expcnt 4 to 6, lgkmcnt 8 to 11.
  const int64_t vector = std::min<int64_t>(counts.vector, 63);
  b.intrinsic({}, "llvm.amdgcn.s.waitcnt",
              {b.i32((vector & 15) | 7 << 4 | counts.lds << 8 | vector >> 4 << 14)});
}

void ChannelsLowering::plainBarrier() {
  // A fence of one thread has no instruction; it only keeps LLVM from moving accesses.
  constexpr const char *scope = "singlethread";
  b.make<LLVM::FenceOp>(LLVM::AtomicOrdering::acq_rel, scope);
  b.intrinsic({}, "llvm.amdgcn.s.barrier", {});
  b.make<LLVM::FenceOp>(LLVM::AtomicOrdering::acq_rel, scope);
}

void ChannelsLowering::acquire(sm::AcquireOp op) {
  ChannelState &state = stateOf(op.getChannel());
  if (state.filled + state.held >= state.depth)
    return kernel.refuse(op, concat("waits for a free slot, but its own threads hold all ",
                                    state.depth, " slots; free one first"));
  // Copies through registers are written behind a later barrier.
  if (chip.loadsWideToLds && state.isFreed) {
    wait({.lds = 0});
    plainBarrier();
    state.isFreed = false;
  }
  loads = 0;
  giveBuffers(op->getResults(), state, state.fill);
}

void ChannelsLowering::publish(sm::PublishOp op) {
  ChannelState &state = stateOf(op.getChannel());
  state.loads = state.loads < 0 ? loads : std::min(loads, state.loads);
  ++state.filled;
  if (!chip.loadsWideToLds)
    ++state.pending;
}

void ChannelsLowering::writePending(ChannelState &state) {
  for (const Write &write : pending) {
    Block *after = nullptr;
    if (write.isOn) {
      Block *inside = b.newBlock();
      after = b.newBlock();
      b.branchIf(write.isOn, inside, after);
      b.moveTo(inside);
    }
    b.store(write.value, b.sharedPointer(write.address), gpu::bitsOf(write.value.getType()) / 8);
    if (after) {
      b.branch(after);
      b.moveTo(after);
    }
  }
  pending.clear();
  state.pending = 0;
}

void ChannelsLowering::take(sm::TakeOp op) {
  ChannelState &state = stateOf(op.getChannel());
  if (state.filled == 0)
    return kernel.refuse(op, "takes a slot, but no slot has been published");
  if (chip.loadsWideToLds) {
    // Behind this barrier, a freed slot is filled again, so its reads must be complete.
    wait({.vector = (state.filled - 1) * state.loads, .lds = state.isFreed ? 0 : 15});
    plainBarrier();
  } else if (state.pending == state.filled) {
    // The slot itself is still in registers.
    if (state.isFreed) {
      wait({.lds = 0});
      plainBarrier();
    }
    writePending(state);
    wait({.lds = 0});
    plainBarrier();
  } else {
    wait({.lds = 0});
    plainBarrier();
    writePending(state);
  }
  --state.filled;
  ++state.held;
  state.isFreed = false;
  giveBuffers(op->getResults(), state, state.drain);
}

void ChannelsLowering::free(sm::FreeOp op) {
  ChannelState &state = stateOf(op.getChannel());
  if (state.held == 0)
    return kernel.refuse(op, "frees a slot that was not taken");
  --state.held;
  state.isFreed = true;
  // After the last use of the channel, later buffers may reuse its memory, protected by a barrier.
  const bool isLast = op->getBlock() == &kernel.op.getBlock() &&
                      all_of(op.getChannel().getUsers(), [&](mlir::Operation *user) {
                        mlir::Operation *top = kernel.op.getBlock().findAncestorOpInBlock(*user);
                        return top == op || top->isBeforeInBlock(op);
                      });
  if (isLast && state.filled == 0 && state.held == 0) {
    kernel.shared.release(state.memory);
    kernel.mayBeRead = true;
  }
}

SmallVector<int64_t> ChannelsLowering::beginLoop(mlir::scf::ForOp loop) {
  SmallVector<int64_t> before;
  for (auto &[channel, state] : channels) {
    before.append({state.filled, state.held, state.pending});
    // The previous iteration may have freed a slot after its last barrier.
    for (mlir::Operation *user : channel.getUsers())
      state.isFreed |= isa<sm::FreeOp>(user) && loop->isProperAncestor(user);
    // Unless it took a slot after that, which has a barrier.
    for (mlir::Operation *user : channel.getUsers())
      if (isa<sm::TakeOp>(user) && user->getBlock() == loop.getBody() &&
          all_of(channel.getUsers(), [&](mlir::Operation *other) {
            return !isa<sm::FreeOp>(other) || other->getBlock() != loop.getBody() ||
                   other->isBeforeInBlock(user);
          }))
        state.isFreed = false;
  }
  return before;
}

void ChannelsLowering::endLoop(mlir::scf::ForOp loop, ArrayRef<int64_t> before) {
  size_t at = 0;
  for (auto &[channel, state] : channels) {
    if (state.filled != before[at] || state.held != before[at + 1] ||
        state.pending != before[at + 2])
      kernel.refuse(loop,
                    concat("must end with as many filled, taken and unwritten slots as it "
                           "begins with, got ",
                           state.filled, ", ", state.held, " and ", state.pending, ", expected ",
                           before[at], ", ", before[at + 1], " and ", before[at + 2]));
    at += 3;
  }
}

} // namespace tilewright::amdgcn
