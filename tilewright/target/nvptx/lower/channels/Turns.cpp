// Turns: the warpgroups of a role issue their products one after the other. A channel without
// buffers stands for the turn: its only slot passes from each warpgroup to the next. Each warpgroup
// waits at a named barrier of its own, at which the warpgroup before it arrives.
#include "tilewright/target/nvptx/lower/KernelLowering.h"

#include "tilewright/support/Concat.h"
#include "tilewright/target/gpu/thread/Shuffle.h"

using namespace llvm;

namespace tilewright::nvptx {

/// Lower numbers are the named barriers of the CTA and of roles (KernelState::barrier).
constexpr int64_t firstTurnBarrier = 8, namedBarriers = 16;

void ChannelsLowering::declareTurn(sm::ChannelOp op, ChannelState &state) {
  sm::RoleOp role;
  for (mlir::Operation *user : op->getUsers()) {
    auto inside = user->getParentOfType<sm::RoleOp>();
    if (!inside || (role && role != inside) || !isa<sm::TakeOp, sm::FreeOp>(user))
      return kernel.refuse(op, "has no buffers, so only one role may take and free its slot");
    role = inside;
  }
  const int64_t groups = role ? int64_t(role.getWarps()) / groupWarps : 0;
  if (groups < 2 || state.depth != 1 || op.getFilled() != 1)
    return kernel.refuse(op, "has no buffers, so it must have one full slot and be taken by a role "
                             "of several warpgroups");
  int64_t used = firstTurnBarrier;
  for (auto &[value, other] : channels)
    if (other.turn)
      used = *other.turn + int64_t(other.drainers.front().getWarps()) / groupWarps;
  if (used + groups > namedBarriers)
    return kernel.refuse(op, concat("needs ", groups, " named barriers, but only ",
                                    namedBarriers - used, " are free"));
  state.turn = used;
  state.drainers.push_back(role);
}

/// The number of the thread's warpgroup in its role, uniform over a warp.
Value ChannelsLowering::groupOfThread() {
  return kernel.once([&]() -> Value {
    Value all = b.make<NVVM::ThreadIdXOp>(b.i32Type);
    return b.sub(shuffleFrom(b, b.lshr(all, b.i32(7)), b.i32(0)),
                 b.i32(kernel.firstWarp / groupWarps));
  });
}

void ChannelsLowering::passTurn(const ChannelState &state, std::string_view instruction,
                                Value group) {
  // The barrier counts the threads of two warpgroups: the one that waits and the one that arrives.
  b.assembly({}, concat(instruction, " $0, ", 2 * groupWarps * Chip::warpSize, ";"), "r,~{memory}",
             {b.add(group, b.i32(*state.turn))});
}

void ChannelsLowering::beginTurns(sm::RoleOp role) {
  for (auto &[channel, state] : channels)
    if (state.turn && state.drainers.front() == role) {
      const int64_t last = kernel.warpCount() / groupWarps - 1;
      Value isLast = b.zext(b.equal(groupOfThread(), b.i32(last)), b.i32Type);
      b.assembly({},
                 concat("{\n.reg .pred on;\nsetp.ne.b32 on, $0, 0;\n@on "
                        "barrier.cta.arrive.aligned ",
                        *state.turn, ", ", 2 * groupWarps * Chip::warpSize, ";\n}"),
                 "r,~{memory}", {isLast});
    }
}

void ChannelsLowering::endTurns(sm::RoleOp role) {
  // All warpgroups have taken the same number of turns, so the last one has passed the turn to the
  // first one. The first one waits for it here, so that no barrier is left with a pending arrival.
  for (auto &[channel, state] : channels)
    if (state.turn && state.drainers.front() == role) {
      Value isFirst = b.zext(b.equal(groupOfThread(), b.i32(0)), b.i32Type);
      b.assembly({},
                 concat("{\n.reg .pred on;\nsetp.ne.b32 on, $0, 0;\n@on "
                        "barrier.cta.sync.aligned ",
                        *state.turn, ", ", 2 * groupWarps * Chip::warpSize, ";\n}"),
                 "r,~{memory}", {isFirst});
    }
}

} // namespace tilewright::nvptx
