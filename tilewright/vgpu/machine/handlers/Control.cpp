#include "tilewright/vgpu/machine/Barriers.h"
#include "tilewright/vgpu/machine/External.h"
#include "tilewright/vgpu/machine/handlers/Lanes.h"

namespace tilewright::vgpu::machine::VGPU_ISA {

VGPU_INLINE void park(Warp &warp, const Op *pc, uint32_t mask) {
  parkFragment(warp, {pc, warp.frame, mask, Wait::none, 0, 0});
}

/// The value of a register in the lowest of `lanes`.
VGPU_INLINE uint32_t wordOf(const std::byte *registers, uint32_t slot, uint32_t lanes) {
  return word(registers, slot, static_cast<unsigned>(std::countr_zero(lanes)));
}

/// Jumps to `target`. Backward jumps consume budget, so that the time slice of every loop ends.
#define VGPU_JUMP(target)                                                                          \
  do {                                                                                             \
    const Op *const to = (target);                                                                 \
    if (warp.diverged) [[unlikely]] {                                                              \
      park(warp, to, mask);                                                                        \
      VGPU_RESUME;                                                                                 \
    }                                                                                              \
    if (to <= op && --warp.budget < 0) [[unlikely]] {                                              \
      park(warp, to, mask);                                                                        \
      warp.stop = Stop::quantum;                                                                   \
      return;                                                                                      \
    }                                                                                              \
    [[clang::musttail]] return to->run(warp, to, registers, mask);                                 \
  } while (false)

static void branch(VGPU_ARGS) { VGPU_JUMP(op + static_cast<int64_t>(op->imm)); }

static void branchIf(VGPU_ARGS) {
  const uint32_t taken = active(op, registers, mask);
  if (taken == 0) {
    // Lanes that left the loop earlier may be waiting after it.
    if (warp.diverged) [[unlikely]] {
      park(warp, op + 1, mask);
      VGPU_RESUME;
    }
    VGPU_NEXT;
  }
  const Op *target = op + static_cast<int64_t>(op->imm);
  if (taken == mask)
    VGPU_JUMP(target);
  park(warp, target, taken);
  park(warp, op + 1, mask & ~taken);
  VGPU_RESUME;
}

/// brx.idx. `a` is the index; `extra` is a list of `imm` distances to the targets.
static void branchIndexed(VGPU_ARGS) {
  const uint32_t m = active(op, registers, mask);
  if (m == 0)
    VGPU_NEXT;
  const auto *distances = static_cast<const int32_t *>(op->extra);
  const Lanes<uint32_t> index = get<uint32_t>(registers, op->a);
  const uint32_t wrong = maskOf(index >= static_cast<uint32_t>(op->imm)) & m;
  if (wrong != 0) {
    fault(warp, op, Error::vgpuFault, "the index of brx.idx is beyond its list of labels");
    return;
  }
  if (mask != m)
    park(warp, op + 1, mask & ~m);
  for (uint32_t rest = m; rest != 0;) {
    const uint32_t value = index[std::countr_zero(rest)];
    const uint32_t same = maskOf(index == value) & rest;
    park(warp, op + distances[value], same);
    rest &= ~same;
  }
  VGPU_RESUME;
}

/// Emitted where diverged lanes may reconverge.
static void join(VGPU_ARGS) {
  if (warp.diverged) [[unlikely]] {
    park(warp, op + 1, mask);
    VGPU_RESUME;
  }
  VGPU_NEXT;
}

static void callFunction(VGPU_ARGS) {
  uint32_t m = active(op, registers, mask);
  if (m == 0)
    VGPU_NEXT;
  const auto &site = *static_cast<const CallSite *>(op->extra);
  const DecodedFunction *target = site.target;
  if (!target) {
    // Run the lanes that call the same function together; the other lanes execute the call again
    // later.
    const Lanes<uint64_t> address = get<uint64_t>(registers, op->a);
    const uint64_t first = address[std::countr_zero(m)];
    const uint32_t same = maskOf(address == first) & m;
    target = functionAt(warp, op, site, first);
    if (!target)
      return;
    if (same != m)
      park(warp, op, mask & ~same);
    else if (mask != m)
      park(warp, op + 1, mask & ~m);
    m = same;
  } else if (mask != m) {
    park(warp, op + 1, mask & ~m);
  }
  Frame *frame = enterFunction(warp, *target, m);
  if (!frame) {
    fault(warp, op, Error::vgpuFault, "calls are nested too deeply");
    return;
  }
  passValues(warp, warp.frame, site.arguments, frame, target->parameters, m);
  frame->caller = warp.frame;
  frame->call = op;
  warp.frame = frame;
  const Op *begin = target->code.data();
  if (warp.diverged) {
    park(warp, begin, m);
    VGPU_RESUME;
  }
  [[clang::musttail]] return begin->run(warp, begin, frame->registers, m);
}

static void exitThreads(VGPU_ARGS) {
  const uint32_t m = active(op, registers, mask);
  if (m == 0)
    VGPU_NEXT;
  exitLanes(warp, m);
  mask &= ~m;
  if (mask != 0)
    VGPU_NEXT;
  VGPU_RESUME;
}

static void returnFromFunction(VGPU_ARGS) {
  const uint32_t m = active(op, registers, mask);
  if (m == 0)
    VGPU_NEXT;
  Frame *frame = warp.frame;
  if (!frame->caller) [[clang::musttail]]
    return exitThreads(warp, op, registers, mask);
  if (mask != m)
    park(warp, op + 1, mask & ~m);
  const Op *call = frame->call;
  Frame *caller = frame->caller;
  const auto &site = *static_cast<const CallSite *>(call->extra);
  passValues(warp, frame, frame->function->returns, caller, site.results, m);
  leaveFrame(warp, frame, m);
  warp.frame = caller;
  if (warp.diverged) {
    park(warp, call + 1, m);
    VGPU_RESUME;
  }
  [[clang::musttail]] return call[1].run(warp, call + 1, caller->registers, m);
}

static void trapThreads(VGPU_ARGS) {
  const uint32_t m = active(op, registers, mask);
  if (m == 0)
    VGPU_NEXT;
  fault(warp, op, Error::vgpuFault, "trap was executed");
}

static void nothing(VGPU_ARGS) { VGPU_NEXT; }

/// Precedes every instruction in launches that count instructions; imm is its number.
static void countInstruction(VGPU_ARGS) {
  const uint32_t m = active(op, registers, mask);
  InstructionCount &count = warp.counts[op->imm];
  ++count.warps;
  count.threads += static_cast<uint64_t>(std::popcount(m));
  ++warp.executed;
  VGPU_NEXT;
}

/// A point at which a time slice may end, in launches that run warps in random order.
static void preempt(VGPU_ARGS) {
  if (--warp.budget < 0) [[unlikely]] {
    park(warp, op + 1, mask);
    warp.stop = Stop::quantum;
    return;
  }
  VGPU_NEXT;
}

static void yieldWarp(VGPU_ARGS) {
  park(warp, op + 1, mask);
  warp.budget = 0;
  warp.stop = Stop::quantum;
}

static void fenceMemory(VGPU_ARGS) {
  const uint32_t m = active(op, registers, mask);
  if (m != 0) {
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    if (warp.block->group->grid->observer) [[unlikely]]
      observeFence(warp, op, registers, m);
  }
  VGPU_NEXT;
}

/// a is the barrier, b the number of threads (if imm bit 0 is set). imm bit 1: c is the predicate
/// of a reduction; bit 2: c is negated.
static void barrierSync(VGPU_ARGS) {
  const uint32_t m = active(op, registers, mask);
  if (m == 0)
    VGPU_NEXT;
  if (mask != m)
    park(warp, op + 1, mask & ~m);
  const uint32_t votes = op->imm & 2 ? predicate(registers, op->c) ^ (op->imm & 4 ? ~0u : 0) : 0;
  const uint32_t number = wordOf(registers, op->a, m);
  const uint32_t threads = op->imm & 1 ? wordOf(registers, op->b, m) : 0;
  parkFragment(warp, {op + 1, warp.frame, m, Wait::barrier, 0, number});
  if (!arriveAtBarrier(warp, op, number, threads, m, votes))
    return;
  VGPU_RESUME;
}
static void barrierArrive(VGPU_ARGS) {
  const uint32_t m = active(op, registers, mask);
  if (m != 0) {
    const uint32_t number = wordOf(registers, op->a, m);
    const uint32_t threads = wordOf(registers, op->b, m);
    if (!arriveAtBarrier(warp, op, number, threads, m, 0))
      return;
  }
  VGPU_NEXT;
}
/// The result of a reduction, after its barrierSync. imm: 0 popc, 1 and, 2 or; a is the barrier.
static void barrierResult(VGPU_ARGS) {
  const uint32_t m = active(op, registers, mask);
  if (m != 0) {
    const uint32_t number = wordOf(registers, op->a, m);
    const auto [votes, voters] = warp.block->barriers[number].result;
    if (op->imm == 0)
      put<uint32_t>(registers, op->d, m, Lanes<uint32_t>(votes));
    else
      putPredicate(registers, op->d, m, (op->imm == 1 ? votes == voters : votes != 0) ? ~0u : 0);
  }
  VGPU_NEXT;
}
static void warpBarrier(VGPU_ARGS) {
  const uint32_t m = active(op, registers, mask);
  if (m == 0)
    VGPU_NEXT;
  if (!warp.diverged && m == mask) {
    observeWarpBarrier(warp, op, m);
    VGPU_NEXT;
  }
  const uint32_t members = wordOf(registers, op->a, m);
  if (mask != m)
    park(warp, op + 1, mask & ~m);
  parkFragment(warp, {op + 1, warp.frame, m, Wait::warpBarrier, members, 0});
  releaseWarpBarriers(warp);
  VGPU_RESUME;
}

/// Calls operations that are implemented as functions.
static void callExternal(VGPU_ARGS) {
  const uint32_t m = active(op, registers, mask);
  if (m == 0)
    VGPU_NEXT;
  const auto &form = *static_cast<const ExternalForm *>(op->extra);
  if (form.converges && warp.diverged && (warp.alive & ~mask) != 0) [[unlikely]] {
    parkFragment(warp, {op, warp.frame, mask, Wait::lanes, warp.alive & ~mask, 0});
    VGPU_RESUME;
  }
  switch (form.function(warp, op, registers, mask, m)) {
  case After::next:
    VGPU_NEXT;
  case After::resume:
    VGPU_RESUME;
  case After::stop:
    return;
  }
}

/// b is the width of a and d in bytes; imm is the alignment.
static void allocateLocal(VGPU_ARGS) {
  const uint32_t m = active(op, registers, mask);
  uint32_t most = 0;
  for (uint32_t rest = m; rest != 0; rest &= rest - 1) {
    const int lane = std::countr_zero(rest);
    uint64_t size = 0;
    std::memcpy(&size, registers + op->a + static_cast<size_t>(lane) * op->b, op->b);
    if (size > maxLocalBytes) {
      fault(warp, op, Error::vgpuFault, "alloca exceeds the maximum local memory of a thread");
      return;
    }
    const auto alignment = static_cast<uint32_t>(op->imm);
    const uint32_t begin = (warp.frame->localTop[lane] + alignment - 1) & ~(alignment - 1);
    warp.frame->localTop[lane] = begin + static_cast<uint32_t>(size);
    most = std::max(most, warp.frame->localTop[lane]);
    const uint64_t result = begin;
    std::memcpy(registers + op->d + static_cast<size_t>(lane) * op->b, &result, op->b);
  }
  if (most > maxLocalBytes) {
    fault(warp, op, Error::vgpuFault, "alloca exceeds the maximum local memory of a thread");
    return;
  }
  growLocal(warp, most);
  VGPU_NEXT;
}
static void stackSave(VGPU_ARGS) {
  const uint32_t m = active(op, registers, mask);
  for (uint32_t rest = m; rest != 0; rest &= rest - 1) {
    const int lane = std::countr_zero(rest);
    const uint64_t top = warp.frame->localTop[lane];
    std::memcpy(registers + op->d + static_cast<size_t>(lane) * op->b, &top, op->b);
  }
  VGPU_NEXT;
}
static void stackRestore(VGPU_ARGS) {
  const uint32_t m = active(op, registers, mask);
  for (uint32_t rest = m; rest != 0; rest &= rest - 1) {
    const int lane = std::countr_zero(rest);
    uint64_t top = 0;
    std::memcpy(&top, registers + op->a + static_cast<size_t>(lane) * op->b, op->b);
    warp.frame->localTop[lane] = static_cast<uint32_t>(std::min<uint64_t>(top, maxLocalBytes));
  }
  VGPU_NEXT;
}

extern const Run controlHandlers[] = {
#define VGPU_OP(name, ...) __VA_ARGS__,
#include "tilewright/vgpu/machine/handlers/Control.def"
#undef VGPU_OP
};

} // namespace tilewright::vgpu::machine::VGPU_ISA
