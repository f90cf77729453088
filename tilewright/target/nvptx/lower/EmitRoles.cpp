// Roles and channels: which warps run which code, and the mbarriers between them. Decides
// everything that the `sm` dialect leaves implicit: phases, transaction bytes, arrival counts.
#include "tilewright/target/nvptx/lower/KernelEmitter.h"

#include "tilewright/support/Concat.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace llvm;

namespace tilewright::nvptx {

/// The number of warps in a warpgroup, the unit of wgmma and setmaxnreg.
constexpr int64_t groupWarps = 4;

// --- Channels ---

void KernelEmitter::declareChannel(sm::ChannelOp op) {
  ChannelState state;
  state.depth = int64_t(op.getDepth());
  if (op.getFilled() != 0)
    return refuse(
        op, "has slots that are full at the start, which the GPU target does not support yet");
  for (sm::BufferType buffer : op.getType().getBuffers()) {
    if (buffer.getSpace() != sm::Space::shared)
      return refuse(op,
                    concat("has a buffer in tensor memory, which ", chip.name, " does not have"));
    state.offsets.push_back(state.slotBytes);
    // The swizzle pattern repeats every 1024 bytes.
    state.slotBytes += int64_t(alignTo(uint64_t(buffer.getBytes()), 1024));
  }
  for (mlir::Operation *user : op->getUsers()) {
    auto role = user->getParentOfType<sm::RoleOp>();
    if (isa<sm::TakeOp>(user) && !is_contained(state.drainers, role))
      state.drainers.push_back(role);
    for (Value buffer : user->getResults())
      for (mlir::Operation *reader : buffer.getUsers())
        if (auto copy = dyn_cast<sm::CopyOp>(reader); copy && isFromSlot(copy))
          state.isReadByThreads = true;
  }
  state.isResult = state.drainers.size() == 1 && state.drainers.front() &&
                   any_of(op->getUsers(), [&](mlir::Operation *user) {
                     return isa<sm::AcquireOp>(user) &&
                            user->getParentOfType<sm::RoleOp>() == state.drainers.front();
                   });
  state.slots = shared.allocate(state.depth * state.slotBytes, 1024, op);
  state.isOwn = kernel.getBody().getOps<sm::RoleOp>().empty();
  // Accumulators and fragments are planned to use all registers; without this attribute, ptxas
  // would prefer more CTAs per multiprocessor.
  if (state.isOwn)
    function->setAttr(mlir::NVVM::NVVMDialect::getMinctasmAttrName(), b.op.getI32IntegerAttr(1));
  else if (!state.isResult)
    state.barriers = shared.allocate(state.depth * 16, 8, op);
  channels[op.getResult()] = std::move(state);
}

void KernelEmitter::initializeChannels() {
  if (none_of(channels, [](const auto &entry) { return !entry.second.isOwn; }))
    return;
  Block *initialize = b.newBlock(), *after = b.newBlock();
  b.branchIf(b.equal(thread, i32(0)), initialize, after);
  b.moveTo(initialize);
  for (auto &[value, state] : channels) {
    if (state.isOwn || state.isResult)
      continue;
    // Each draining warpgroup (or each of its warps, if threads read the slots) arrives once in
    // every CTA of the cluster.
    int64_t arrivals = 0;
    for (sm::RoleOp role : state.drainers)
      arrivals += state.isReadByThreads ? int64_t(role.getWarps())
                                        : (int64_t(role.getWarps()) + groupWarps - 1) / groupWarps;
    for (int64_t slot = 0; slot < state.depth; ++slot)
      for (auto [kind, count] : {std::pair<int64_t, int64_t>(0, 1), {1, arrivals * clusterSize()}})
        b.intrinsic({}, "llvm.nvvm.mbarrier.init.shared",
                    {shared.address(state.barriers, (kind * state.depth + slot) * 8), i32(count)});
  }
  b.assembly({}, "fence.mbarrier_init.release.cluster;", "~{memory}", {});
  b.branch(after);
  b.moveTo(after);
  // No thread of any CTA may arrive at a barrier before it is initialized.
  waitForAll();
}

void KernelEmitter::waitForAll() {
  if (clusterSize() > 1)
    b.assembly({}, "barrier.cluster.arrive.release;\nbarrier.cluster.wait.acquire;", "~{memory}",
               {});
  else
    b.intrinsic({}, "llvm.nvvm.barrier.cta.sync.all", {i32(0)});
}

KernelEmitter::Cursor &KernelEmitter::cursorOf(Value channel, CursorKind kind) {
  auto [found, isNew] = cursors.try_emplace({channel, unsigned(kind)});
  if (!isNew)
    return found->second;
  mlir::OpBuilder::InsertionGuard guard(b.op);
  found->second = {b.variable(b.i32Type), b.variable(b.i32Type)};
  // All slots are initially free, so the filler starts with the parity of the phase before the
  // first, for which waits return at once.
  b.moveToEntry();
  b.store(i32(0), found->second.slot);
  b.store(i32(kind == CursorKind::fill ? 1 : 0), found->second.phase);
  return found->second;
}

void KernelEmitter::advance(Cursor &cursor, int64_t depth) {
  Value next = b.add(b.load(b.i32Type, cursor.slot), i32(1));
  Value wraps = b.equal(next, i32(depth));
  b.store(b.select(wraps, i32(0), next), cursor.slot);
  Value phase = b.load(b.i32Type, cursor.phase);
  b.store(b.bitXor(phase, b.zext(wraps, b.i32Type)), cursor.phase);
}

Value KernelEmitter::barrierOf(ChannelState &state, Value slot, bool isEmpty) {
  Value base = sharedAddress(b, shared.address(state.barriers, isEmpty ? state.depth * 8 : 0));
  return b.add(base, b.shl(slot, i32(3)));
}

void KernelEmitter::waitBarrier(Value barrier, Value phase, bool isRemote) {
  // A label in braces is local, so the code may be duplicated.
  b.assembly({},
             Twine("{\n.reg .pred done;\nagain:\nmbarrier.try_wait.parity") +
                 (isRemote ? ".acquire.cluster" : "") +
                 ".shared::cta.b64 done, [$0], $1;\n@!done bra again;\n}",
             "r,r,~{memory}", {barrier, phase});
}

void KernelEmitter::giveBuffers(mlir::ResultRange results, ChannelState &state, Value slot) {
  Value base =
      b.add(sharedAddress(b, shared.address(state.slots)), b.mul(slot, i32(state.slotBytes)));
  Value barrier = state.isOwn || state.isResult ? nullptr : barrierOf(state, slot, false);
  for (auto [index, result] : enumerate(results))
    buffers[result] = {b.add(base, i32(state.offsets[index])), barrier};
}

void KernelEmitter::emitAcquire(sm::AcquireOp op) {
  ChannelState &state = channels[op.getChannel()];
  if (state.isOwn)
    return acquireOwn(op, state);
  Cursor &cursor = cursorOf(op.getChannel(), CursorKind::fill);
  Value slot = b.load(b.i32Type, cursor.slot);
  if (state.isResult) {
    waitForStores(state.depth - 1);
    barrier();
    giveBuffers(op->getResults(), state, slot);
    return advance(cursor, state.depth);
  }
  waitBarrier(barrierOf(state, slot, true), b.load(b.i32Type, cursor.phase), clusterSize() > 1);
  // Expect the bytes that all CTAs copy into this CTA's slot.
  b.assembly({}, "mbarrier.arrive.expect_tx.shared::cta.b64 _, [$0], $1;", "r,r,~{memory}",
             {barrierOf(state, slot, false), i32(state.slotBytes)});
  giveBuffers(op->getResults(), state, slot);
  advance(cursor, state.depth);
}

void KernelEmitter::emitPublish(sm::PublishOp op) {
  if (ChannelState &state = channels[op.getChannel()]; state.isOwn)
    return publishOwn(state);
  else if (state.isResult)
    return publishResult();
  // The phase completes when all bytes of the copies have arrived, so publish emits nothing.
  if (!isa_and_nonnull<sm::RoleOp>(op->getParentOfType<sm::RoleOp>()))
    refuse(op, "must be in a role");
}

void KernelEmitter::emitTake(sm::TakeOp op) {
  ChannelState &state = channels[op.getChannel()];
  if (state.isOwn)
    return takeOwn(op, state);
  Cursor &cursor = cursorOf(op.getChannel(), CursorKind::drain);
  Value slot = b.load(b.i32Type, cursor.slot);
  if (!state.isResult)
    waitBarrier(barrierOf(state, slot, false), b.load(b.i32Type, cursor.phase), false);
  giveBuffers(op->getResults(), state, slot);
  advance(cursor, state.depth);
  if (!state.isResult)
    taken[op.getChannel()].push_back(0);
}

void KernelEmitter::emitFree(sm::FreeOp op) {
  if (ChannelState &state = channels[op.getChannel()]; state.isOwn)
    return freeOwn(op, state);
  else if (state.isResult)
    return byFirstThread("cp.async.bulk.commit_group", "", {});
  std::deque<int64_t> &held = taken[op.getChannel()];
  if (held.empty())
    return refuse(op, "frees a slot that was not taken");
  // Products that were issued after the slot's last reader may still be in flight.
  waitProducts(held.front());
  held.pop_front();
  Cursor &cursor = cursorOf(op.getChannel(), CursorKind::free);
  ChannelState &state = channels[op.getChannel()];
  Value barrier = barrierOf(state, b.load(b.i32Type, cursor.slot), true);
  advance(cursor, state.depth);
  // One thread of each warpgroup (or warp) arrives per CTA of the cluster; a warp barrier ensures
  // that all threads of the warp have read. The copy engine will write the slot through the async
  // proxy, so a proxy fence is needed.
  if (state.isReadByThreads)
    b.assembly({}, "fence.proxy.async.shared::cta;\nbar.warp.sync 0xffffffff;", "~{memory}", {});
  const int64_t together = state.isReadByThreads ? 1 : groupWarps;
  Value inGroup = b.bitAnd(thread, i32(together * Chip::warpSize - 1));
  Value isMine = b.unsignedLess(inGroup, i32(clusterSize()));
  Value on = b.zext(isMine, b.i32Type);
  if (clusterSize() == 1)
    b.assembly({},
               "{\n.reg .pred on;\nsetp.ne.b32 on, $1, 0;\n@on mbarrier.arrive.shared::cta.b64 _, "
               "[$0];\n}",
               "r,r,~{memory}", {barrier, on});
  else
    b.assembly({},
               "{\n.reg .pred on;\n.reg .b32 there;\nsetp.ne.b32 on, $1, 0;\n@on "
               "mapa.shared::cluster.u32 there, $0, $2;\n"
               "@on mbarrier.arrive.shared::cluster.b64 _, [there];\n}",
               "r,r,r,~{memory}", {barrier, on, inGroup});
}

// --- Roles ---

void KernelEmitter::emitRole(sm::RoleOp role) {
  const auto warps = int64_t(role.getWarps());
  if (warps % groupWarps != 0 || firstWarp % groupWarps != 0)
    return refuse(role, concat("must consist of whole warpgroups of ", groupWarps, " warps, got ",
                               warps, " warps from warp ", firstWarp, " on"));
  Block *inside = b.newBlock(), *after = b.newBlock();
  Value all = thread;
  const int64_t first = firstWarp * Chip::warpSize, threads = warps * Chip::warpSize;
  Value isHere = first == 0 ? b.unsignedLess(all, i32(threads))
                            : b.unsignedLess(b.sub(all, i32(first)), i32(threads));
  b.branchIf(isHere, inside, after);
  b.moveTo(inside);
  if (changesRegisters)
    b.assembly({},
               concat("setmaxnreg.", int64_t(role.getRegisters()) > launchRegisters ? "inc" : "dec",
                      ".sync.aligned.u32 ", int64_t(role.getRegisters()), ";"),
               "", {});
  // Thread and warp ids are relative to the role's first warp.
  thread = once([&]() -> Value { return first == 0 ? all : b.sub(all, i32(first)); });
  currentRole = role;
  threadLayouts.clear();
  threadOffsets.clear();
  cursors.clear();
  taken.clear();
  deferPrologues(role);
  // A single thread issues all copies, so in a role that only copies, all other threads skip the
  // body.
  bool onlyCopies = !role.getBody()
                         .walk([](mlir::Operation *op) {
                           return isa<sm::MmaOp, tile::LoadOp, tile::StoreOp>(op)
                                      ? mlir::WalkResult::interrupt()
                                      : mlir::WalkResult::advance();
                         })
                         .wasInterrupted();
  if (onlyCopies) {
    Block *one = b.newBlock();
    b.branchIf(b.equal(thread, i32(0)), one, after);
    b.moveTo(one);
  }
  emitRounds(role);
  // The CTA must not exit, which frees its shared memory, before the last store has read it.
  if (any_of(channels, [&](auto &entry) {
        return entry.second.isResult && entry.second.drainers.front() == role;
      }))
    waitForStores(0);
  b.branch(after);
  b.moveTo(after);
  currentRole = {};
  thread = all;
  threadLayouts.clear();
  threadOffsets.clear();
  firstWarp += warps;
}

void KernelEmitter::emitRounds(sm::RoleOp role) {
  auto emitBody = [&] {
    emitOps(role.getBody().front());
    for (auto &[channel, held] : taken)
      if (!held.empty())
        refuse(role, "must free all slots that it takes");
  };
  if (!kernel.getPersistent())
    return emitBody();
  // Cursors are per-thread variables, so slots and phases continue from point to point. The launch
  // has at most as many clusters as points, so each cluster has at least one point.
  Value block = b.intrinsic(b.i32Type, "llvm.nvvm.read.ptx.sreg.ctaid.x", {});
  Value first = b.udiv(block, i32(clusterSize()));
  Block *round = b.newBlock({b.i32Type}), *after = b.newBlock();
  b.branch(round, {first});
  b.moveTo(round);
  Value point = round->getArgument(0);
  emitCoordinatesOf(point);
  for (mlir::Operation &op : kernel.getBlock().without_terminator())
    if (!isa<sm::RoleOp, sm::ChannelOp>(op))
      emitOp(&op);
  // Threads may still be reading shared memory from the previous round.
  mayBeRead = true;
  emitBody();
  Value next = b.add(point, i32(clusters), neverWraps);
  b.branchIf(b.less(next, i32(kernel.getPointCount())), round, after, {next});
  b.moveTo(after);
}

void KernelEmitter::planRoles(KernelInfo &info) {
  SmallVector<sm::RoleOp> roles(kernel.getBody().getOps<sm::RoleOp>());
  if (kernel.getPersistent() && roles.empty())
    return refuse(kernel, "is persistent but has no roles, which the GPU target does not support");
  if (roles.empty())
    return;
  // The kernel starts with as many registers per thread as ptxas may assign at this thread count;
  // setmaxnreg redistributes them.
  launchRegisters = std::min<int64_t>(Chip::registersPerMultiprocessor / info.threads / 8 * 8,
                                      Chip::registersPerThread / 8 * 8);
  int64_t total = 0;
  changesRegisters = chip.matrix == MatrixUnit::wgmma || chip.matrix == MatrixUnit::tcgen05;
  for (sm::RoleOp role : roles)
    total += int64_t(role.getWarps()) * Chip::warpSize * int64_t(role.getRegisters());
  if (changesRegisters && total > launchRegisters * info.threads)
    b.fail(Status(Error::gpuBudget,
                  concat("has roles with ", total, " registers in total, but its ", info.threads,
                         " threads start with ", launchRegisters * info.threads, " on ", chip.name,
                         "; use fewer registers per role")));
  function->setAttr(mlir::NVVM::NVVMDialect::getMinctasmAttrName(), b.op.getI32IntegerAttr(1));
}

} // namespace tilewright::nvptx
