// Channels of kernels without warp specialization, which the same threads fill and drain.
#include "tilewright/target/nvptx/lower/KernelLowering.h"

#include "tilewright/support/Concat.h"

using namespace llvm;

namespace tilewright::nvptx {

// Publishing a slot commits a cp.async group. Groups complete in order, so taking the oldest of `n`
// slots waits until at most n - 1 groups are pending. A barrier follows, because each thread waits
// only for its own copies. A slot that any thread frees can be refilled after the next barrier.

void ChannelsLowering::acquireOwn(sm::AcquireOp op, ChannelState &state) {
  if (state.filled + state.held >= state.depth)
    return kernel.refuse(op, concat("waits for a free slot, but its own threads hold all ",
                                    state.depth, " slots; free one first"));
  if (state.isFreed)
    kernel.barrier();
  state.isFreed = false;
  Cursor &cursor = cursorOf(op.getChannel(), CursorKind::fill);
  giveBuffers(op->getResults(), state, b.load(b.i32Type, cursor.slot));
  advance(state, cursor);
}

void ChannelsLowering::publishOwn(ChannelState &state) {
  b.make<NVVM::CpAsyncCommitGroupOp>();
  ++state.filled;
}

void ChannelsLowering::takeOwn(sm::TakeOp op, ChannelState &state) {
  if (state.filled == 0)
    return kernel.refuse(op, "takes a slot, but no slot has been published");
  --state.filled;
  ++state.held;
  b.make<NVVM::CpAsyncWaitGroupOp>(uint32_t(state.filled));
  kernel.barrier();
  state.isFreed = false;
  Cursor &cursor = cursorOf(op.getChannel(), CursorKind::drain);
  giveBuffers(op->getResults(), state, b.load(b.i32Type, cursor.slot));
  advance(state, cursor);
}

void ChannelsLowering::freeOwn(sm::FreeOp op, ChannelState &state) {
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
    kernel.shared.release(state.slots);
    kernel.mayBeRead = true;
  }
}

SmallVector<int64_t> ChannelsLowering::beginOwnLoop(mlir::scf::ForOp loop) {
  SmallVector<int64_t> before;
  for (auto &[channel, state] : channels) {
    before.append({state.filled, state.held});
    // The previous iteration may have freed a slot after its last barrier.
    for (mlir::Operation *user : channel.getUsers())
      state.isFreed |= isa<sm::FreeOp>(user) && loop->isProperAncestor(user);
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

void ChannelsLowering::endOwnLoop(mlir::scf::ForOp loop, ArrayRef<int64_t> before) {
  size_t at = 0;
  for (auto &[channel, state] : channels) {
    if (state.isOwn && (state.filled != before[at] || state.held != before[at + 1]))
      kernel.refuse(loop,
                    concat("must end with as many filled and taken slots as it begins with, got ",
                           state.filled, " and ", state.held, ", expected ", before[at], " and ",
                           before[at + 1]));
    at += 2;
  }
}

} // namespace tilewright::nvptx
