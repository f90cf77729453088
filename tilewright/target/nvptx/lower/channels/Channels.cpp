// Roles and channels: which warps run which code, and the mbarriers between them. Decides
// everything that the `sm` dialect leaves implicit: phases, transaction bytes, arrival counts.
#include "tilewright/target/nvptx/lower/KernelLowering.h"

#include "tilewright/support/Concat.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace llvm;

namespace tilewright::nvptx {

bool isOfElements(sm::ChannelType type) {
  return !type.getBuffers().empty() && all_of(type.getBuffers(), [](sm::BufferType buffer) {
    return mlir::ShapedType::getNumElements(buffer.getShape()) == 1;
  });
}

/// Notes the columns of the buffers of a channel in tensor memory. Returns whether it is one.
bool ChannelsLowering::declareTensor(sm::ChannelOp op, ChannelState &state) {
  const auto buffers = op.getType().getBuffers();
  auto isTensor = [](sm::BufferType buffer) { return buffer.getSpace() == sm::Space::tensor; };
  if (none_of(buffers, isTensor)) {
    if (state.parts != 1)
      kernel.refuse(op, "has parts, which the GPU target supports only in tensor memory");
    return false;
  }
  if (all.chip.matrix != MatrixUnit::tcgen05 || !all_of(buffers, isTensor) ||
      kernel.op.getBody().getOps<sm::RoleOp>().empty()) {
    kernel.refuse(op, concat("has a buffer in tensor memory, where all of its buffers must be, "
                             "between roles, on a chip with tensor memory, got ",
                             all.chip.name));
    return true;
  }
  for (sm::BufferType buffer : buffers) {
    state.offsets.push_back(state.tensorColumns);
    state.tensorColumns += tensorColumnsOf(buffer);
  }
  state.isReadByThreads = true;
  state.firstColumn = all.tcgen05.allocate(state.slotCount() * state.tensorColumns, op);
  return true;
}

void ChannelsLowering::declare(sm::ChannelOp op) {
  ChannelState state;
  state.depth = int64_t(op.getDepth());
  state.parts = int64_t(op.getParts());
  if (op.getType().getBuffers().empty()) {
    declareTurn(op, state);
    channels[op.getResult()] = std::move(state);
    return;
  }
  if (op.getFilled() != 0)
    return kernel.refuse(
        op, "has slots that are full at the start, which the GPU target does not support yet");
  state.isOfElements = isOfElements(op.getType());
  const bool isTensor = declareTensor(op, state);
  for (sm::BufferType buffer : op.getType().getBuffers()) {
    if (isTensor)
      break;
    state.copiers = std::max(state.copiers, buffer.getLayout().getValue().copyCount(sm::Axis::cta));
    state.offsets.push_back(state.slotBytes);
    // The swizzle pattern repeats every 1024 bytes.
    state.copyBytes += buffer.getBytes();
    state.slotBytes += int64_t(alignTo(uint64_t(buffer.getBytes()), 1024));
  }
  for (mlir::Operation *user : op->getUsers()) {
    auto role = user->getParentOfType<sm::RoleOp>();
    if (isa<sm::AcquireOp>(user) && isWrittenByThreads(cast<sm::AcquireOp>(user)))
      state.writers = int64_t(role.getWarps());
    if (isa<sm::TakeOp>(user) && !is_contained(state.drainers, role))
      state.drainers.push_back(role);
    for (Value buffer : user->getResults())
      for (mlir::Operation *reader : buffer.getUsers())
        if (auto copy = dyn_cast<sm::CopyOp>(reader); copy && isFromSlot(copy))
          state.isReadByThreads = !state.isOfElements;
  }
  if (state.isOfElements &&
      any_of(state.drainers, [](sm::RoleOp role) { return !role || !isOfOneThread(role); }))
    return kernel.refuse(op, "passes single elements, which only a role of one thread can take");
  state.isResult = state.drainers.size() == 1 && state.drainers.front() &&
                   any_of(op->getUsers(), [&](mlir::Operation *user) {
                     return isa<sm::AcquireOp>(user) &&
                            user->getParentOfType<sm::RoleOp>() == state.drainers.front();
                   });
  state.isReadByTensorProducts = isReadByTensorProducts(op.getResult());
  if (!isTensor)
    state.slots = kernel.shared.allocate(state.depth * state.slotBytes, 1024, op);
  state.isOwn = kernel.op.getBody().getOps<sm::RoleOp>().empty();
  // Accumulators and fragments are planned to use all registers; without this attribute, ptxas
  // would prefer more CTAs per multiprocessor.
  if (state.isOwn)
    kernel.function->setAttr(mlir::NVVM::NVVMDialect::getMinctasmAttrName(),
                             b.op.getI32IntegerAttr(1));
  else if (!state.isResult)
    state.barriers = kernel.shared.allocate(state.slotCount() * 16, 8, op);
  channels[op.getResult()] = std::move(state);
}

void ChannelsLowering::initialize() {
  if (none_of(channels, [](const auto &entry) { return !entry.second.isOwn; }))
    return;
  Block *initialize = b.newBlock(), *after = b.newBlock();
  b.branchIf(b.equal(kernel.thread, b.i32(0)), initialize, after);
  b.moveTo(initialize);
  for (auto &[value, state] : channels) {
    if (state.isOwn || state.isResult || state.turn)
      continue;
    // Each draining warpgroup (or each of its warps, if threads read the slots) arrives once in
    // every CTA that copies to its slots; for products in tensor memory, the matrix unit arrives
    // instead. In a pair, the first CTA multiplies, so the warps of both CTAs arrive there when
    // they have written.
    int64_t arrivals = 0;
    for (sm::RoleOp role : state.drainers)
      arrivals += state.isReadByTensorProducts ? 1
                  : state.isReadByThreads
                      ? int64_t(role.getWarps())
                      : (int64_t(role.getWarps()) + groupWarps - 1) / groupWarps;
    // Each warpgroup has a part of its own.
    const int64_t writers = state.writers / state.parts;
    arrivals /= state.isReadByTensorProducts ? 1 : state.parts;
    for (int64_t slot = 0; slot < state.slotCount(); ++slot)
      for (auto [kind, count] :
           {std::pair<int64_t, int64_t>(
                0, writers ? writers * (state.tensorColumns ? kernel.clusterSize() : 1) : 1),
            {1, state.isReadByTensorProducts ? 1 : arrivals * arrivalCtas(state)}})
        b.make<NVVM::MBarrierInitOp>(
            kernel.shared.address(state.barriers, (kind * state.slotCount() + slot) * 8),
            b.i32(count), Value());
  }
  all.stealing.initialize();
  b.make<NVVM::FenceMbarrierInitOp>();
  b.branch(after);
  b.moveTo(after);
  all.tcgen05.initialize();
  // No thread of any CTA may arrive at a barrier before it is initialized.
  waitForAll();
  all.tcgen05.useAllocation();
}

int64_t ChannelsLowering::arrivalCtas(const ChannelState &state) const {
  // Products of a pair fill slots in both CTAs.
  return state.copiers > 1 || state.tensorColumns ? kernel.clusterSize() : 1;
}

void ChannelsLowering::waitForAll() {
  if (kernel.clusterSize() > 1) {
    b.make<NVVM::ClusterArriveOp>(mlir::UnitAttr());
    b.make<NVVM::ClusterWaitOp>(mlir::UnitAttr());
    return;
  }
  // Use barrier.sync without .aligned, because the first thread arrives from another branch. The
  // nvvm dialect has no op for it.
  b.intrinsic({}, "llvm.nvvm.barrier.cta.sync.all", {b.i32(0)});
}

ChannelsLowering::Cursor &ChannelsLowering::cursorOf(Value channel, CursorKind kind, int64_t part) {
  auto [found, isNew] = cursors.try_emplace({channel.getAsOpaquePointer(), kind, part});
  if (!isNew)
    return found->second;
  mlir::OpBuilder::InsertionGuard guard(b.op);
  found->second = {b.variable(b.i32Type), b.variable(b.i32Type)};
  // All slots are initially free, so the filler starts with the parity of the phase before the
  // first, for which waits return at once.
  b.moveToEntry();
  b.store(b.i32(0), found->second.slot);
  b.store(b.i32(kind == CursorKind::fill ? 1 : 0), found->second.phase);
  return found->second;
}

Value ChannelsLowering::slotOf(const ChannelState &state, const Cursor &cursor, int64_t part) {
  if (state.parts == 1)
    return b.load(b.i32Type, cursor.slot);
  return part < 0 ? groupOfThread() : b.i32(part);
}

void ChannelsLowering::advance(const ChannelState &state, Cursor &cursor) {
  if (state.parts > 1)
    return b.store(b.bitXor(b.load(b.i32Type, cursor.phase), b.i32(1)), cursor.phase);
  Value next = b.add(b.load(b.i32Type, cursor.slot), b.i32(1));
  Value wraps = b.equal(next, b.i32(state.depth));
  b.store(b.select(wraps, b.i32(0), next), cursor.slot);
  Value phase = b.load(b.i32Type, cursor.phase);
  b.store(b.bitXor(phase, b.zext(wraps, b.i32Type)), cursor.phase);
}

Value ChannelsLowering::barrierOf(ChannelState &state, Value slot, bool isEmpty) {
  Value base =
      sharedAddress(b, kernel.shared.address(state.barriers, isEmpty ? state.slotCount() * 8 : 0));
  return b.add(base, b.shl(slot, b.i32(3)));
}

void ChannelsLowering::waitBarrier(Value barrier, Value phase, bool isRemote) {
  // A label in braces is local, so the code may be duplicated.
  b.assembly({},
             Twine("{\n.reg .pred done;\nagain:\nmbarrier.try_wait.parity") +
                 (isRemote ? ".acquire.cluster" : "") +
                 ".shared::cta.b64 done, [$0], $1;\n@!done bra again;\n}",
             "r,r,~{memory}", {barrier, phase});
}

void ChannelsLowering::giveBuffers(mlir::ResultRange results, ChannelState &state, Value slot) {
  Value barrier = state.isOwn || state.isResult ? nullptr : barrierOf(state, slot, false);
  if (state.tensorColumns) {
    Value first =
        b.add(all.tcgen05.address(state.firstColumn), b.mul(slot, b.i32(state.tensorColumns)));
    for (auto [index, result] : enumerate(results))
      kernel.buffers[result] = {
          state.offsets[index] ? b.add(first, b.i32(state.offsets[index])) : first, barrier};
    return;
  }
  Value base = b.add(sharedAddress(b, kernel.shared.address(state.slots)),
                     b.mul(slot, b.i32(state.slotBytes)));
  for (auto [index, result] : enumerate(results))
    kernel.buffers[result] = {b.add(base, b.i32(state.offsets[index])), barrier};
}

void ChannelsLowering::acquire(sm::AcquireOp op) {
  ChannelState &state = channels[op.getChannel()];
  if (state.isOwn)
    return acquireOwn(op, state);
  const auto part = int64_t(op.getPart());
  Cursor &cursor = cursorOf(op.getChannel(), CursorKind::fill, part);
  Value slot = slotOf(state, cursor, part);
  if (state.isResult) {
    all.stores.waitForStores(state.depth - 1);
    kernel.barrier();
    giveBuffers(op->getResults(), state, slot);
    return advance(state, cursor);
  }
  if (state.isOfElements) {
    waitAsFirst(barrierOf(state, slot, true), b.load(b.i32Type, cursor.phase));
    acquired[op.getChannel()].push_back({op->getBlock(), barrierOf(state, slot, false)});
    giveBuffers(op->getResults(), state, slot);
    return advance(state, cursor);
  }
  waitBarrier(barrierOf(state, slot, true), b.load(b.i32Type, cursor.phase),
              kernel.clusterSize() > 1);
  if (state.tensorColumns || state.writers) {
    if (state.tensorColumns)
      all.tcgen05.fenceAfterSync();
    acquired[op.getChannel()].push_back({op->getBlock(), barrierOf(state, slot, false)});
    giveBuffers(op->getResults(), state, slot);
    return advance(state, cursor);
  }
  // Expect the bytes that all CTAs copy into this CTA's slot. The first CTA of a pair multiplies
  // for both, so its barrier expects the bytes of both, and the other's is not used.
  const bool isPair = state.isReadByTensorProducts && kernel.clusterSize() > 1;
  const int64_t bytes = state.copyBytes * (isPair ? kernel.clusterSize() : 1);
  if (isPair) {
    Value expects = b.zext(b.equal(kernel.ctaRank(), b.i32(0)), b.i32Type);
    b.assembly({},
               "{\n.reg .pred on;\nsetp.ne.b32 on, $2, 0;\n@on "
               "mbarrier.arrive.expect_tx.shared::cta.b64 _, [$0], $1;\n}",
               "r,r,r,~{memory}", {barrierOf(state, slot, false), b.i32(bytes), expects});
  } else {
    b.assembly({}, "mbarrier.arrive.expect_tx.shared::cta.b64 _, [$0], $1;", "r,r,~{memory}",
               {barrierOf(state, slot, false), b.i32(bytes)});
  }
  giveBuffers(op->getResults(), state, slot);
  advance(state, cursor);
}

void ChannelsLowering::publish(sm::PublishOp op) {
  if (ChannelState &state = channels[op.getChannel()]; state.isOwn)
    return publishOwn(state);
  else if (state.isResult)
    return all.stores.publish();
  else if (state.tensorColumns || state.isOfElements || state.writers) {
    auto &barriers = acquired[op.getChannel()];
    if (barriers.empty())
      return kernel.refuse(op, "publishes a slot that was not acquired");
    const auto [block, barrier] = barriers.front();
    barriers.pop_front();
    if (block != op->getBlock())
      return kernel.refuse(op, "must be in the block of the acquire");
    if (state.isOfElements)
      arrive(barrier, kernel.warpCount() * Chip::warpSize, arrivalCtas(state));
    else if (state.writers)
      publishWritten(state, barrier);
    else
      all.tcgen05.commit(barrier);
    return;
  }
  // The phase completes when all bytes of the copies have arrived, so publish emits nothing.
  if (!isa_and_nonnull<sm::RoleOp>(op->getParentOfType<sm::RoleOp>()))
    kernel.refuse(op, "must be in a role");
}

void ChannelsLowering::publishWritten(const ChannelState &state, Value barrier) {
  if (state.tensorColumns) {
    all.tcgen05.waitForStores();
    all.tcgen05.fenceBeforeSync();
  } else {
    // Products read shared memory through the async proxy.
    fenceAsyncProxy(b);
  }
  b.make<NVVM::SyncWarpOp>(b.i32(-1));
  Value on = b.zext(b.equal(kernel.axis(sm::Axis::lane), b.i32(0)), b.i32Type);
  // The first CTA of a pair multiplies for both.
  if (kernel.clusterSize() > 1 && state.tensorColumns)
    b.assembly({},
               "{\n.reg .pred on;\n.reg .b32 there;\nsetp.ne.b32 on, $1, 0;\n@on "
               "mapa.shared::cluster.u32 there, $0, 0;\n"
               "@on mbarrier.arrive.shared::cluster.b64 _, [there];\n}",
               "r,r,~{memory}", {barrier, on});
  else
    b.assembly({},
               "{\n.reg .pred on;\nsetp.ne.b32 on, $1, 0;\n@on mbarrier.arrive.shared::cta.b64 _, "
               "[$0];\n}",
               "r,r,~{memory}", {barrier, on});
}

void ChannelsLowering::take(sm::TakeOp op) {
  ChannelState &state = channels[op.getChannel()];
  if (state.isOwn)
    return takeOwn(op, state);
  if (state.turn)
    return passTurn(state, "barrier.cta.sync.aligned", groupOfThread());
  const auto part = int64_t(op.getPart());
  Cursor &cursor = cursorOf(op.getChannel(), CursorKind::drain, part);
  Value slot = slotOf(state, cursor, part);
  if (!state.isResult)
    // Copies and products of a pair signal the barrier from both CTAs.
    waitBarrier(barrierOf(state, slot, false), b.load(b.i32Type, cursor.phase),
                kernel.clusterSize() > 1 &&
                    (state.tensorColumns != 0 || state.isReadByTensorProducts));
  if (state.tensorColumns)
    all.tcgen05.fenceAfterSync();
  giveBuffers(op->getResults(), state, slot);
  advance(state, cursor);
  if (!state.isResult)
    taken[op.getChannel()].push_back({op});
}

/// Waits until the products that read the slot are complete.
void ChannelsLowering::waitForReaders(sm::FreeOp op) {
  HeldSlot &slot = taken[op.getChannel()].front();
  // Usually the op that reads the product waits for it next. This is not so if another product adds
  // to it or a loop carries it.
  const bool isUsedNext = slot.reader && slot.reader.getResult() &&
                          slot.reader->getBlock() == op->getBlock() &&
                          none_of(slot.reader->getUsers(), [](mlir::Operation *user) {
                            return isa<sm::MmaOp, mlir::scf::YieldOp, mlir::scf::ForOp>(user);
                          });
  if (isUsedNext && all.wgmma.isInFlight(slot.reader.getResult()))
    all.wgmma.settle(slot.reader.getResult(), op);
  else
    all.wgmma.waitProducts(slot.later);
}

/// Whether the role takes and frees each slot of the channel in the same block, and holds no other
/// slot of it meanwhile.
static bool isFreedWhereTaken(mlir::Value channel, sm::RoleOp role) {
  return all_of(channel.getUsers(), [&](mlir::Operation *user) {
    if (!isa<sm::FreeOp>(user) || user->getParentOfType<sm::RoleOp>() != role)
      return true;
    bool isHeld = false;
    for (mlir::Operation &op : *user->getBlock()) {
      const bool passes = is_contained(op.getOperands(), channel);
      if (passes && isa<sm::TakeOp>(op) == isHeld)
        return false;
      if (passes)
        isHeld = !isHeld;
      else if (isHeld && op.getNumRegions() != 0 &&
               any_of(channel.getUsers(), [&](auto *inner) { return op.isProperAncestor(inner); }))
        return false;
    }
    return !isHeld;
  });
}

/// The barrier that the oldest slot's readers signal.
Value ChannelsLowering::emptyBarrier(sm::FreeOp op, ChannelState &state) {
  if (isFreedWhereTaken(op.getChannel(), kernel.currentRole)) {
    sm::TakeOp take = taken[op.getChannel()].front().take;
    return b.add(kernel.buffers[take->getResult(0)].barrier, b.i32(state.slotCount() * 8));
  }
  Cursor &cursor = cursorOf(op.getChannel(), CursorKind::free);
  Value barrier = barrierOf(state, b.load(b.i32Type, cursor.slot), true);
  advance(state, cursor);
  return barrier;
}

void ChannelsLowering::free(sm::FreeOp op) {
  ChannelState &state = channels[op.getChannel()];
  if (state.isOwn)
    return freeOwn(op, state);
  if (state.isResult)
    return all.stores.commit();
  if (state.turn) {
    const int64_t groups = kernel.warpCount() / groupWarps;
    Value next = b.add(groupOfThread(), b.i32(1));
    return passTurn(state, "barrier.cta.arrive.aligned",
                    b.select(b.equal(next, b.i32(groups)), b.i32(0), next));
  }
  std::deque<HeldSlot> &held = taken[op.getChannel()];
  if (held.empty())
    return kernel.refuse(op, "frees a slot that was not taken");
  if (all.chip.matrix == MatrixUnit::wgmma && !state.isOfElements && multiplies(kernel.currentRole))
    waitForReaders(op);
  if (state.isReadByTensorProducts) {
    held.pop_front();
    // The empty barrier of the slot that the role took in the same block: empty barriers follow the
    // full ones in memory.
    mlir::Operation *take = op->getPrevNode();
    auto isItsTake = [&](mlir::Operation *other) {
      auto taking = dyn_cast<sm::TakeOp>(other);
      return taking && taking.getChannel() == op.getChannel() && taking.getPart() == op.getPart();
    };
    while (take && !isItsTake(take))
      take = take->getPrevNode();
    if (!take)
      return kernel.refuse(op, "must follow the products that read the slot, in the same block");
    return all.tcgen05.commit(
        b.add(kernel.buffers[take->getResult(0)].barrier, b.i32(state.slotCount() * 8)));
  }
  Value barrier = emptyBarrier(op, state);
  held.pop_front();
  // One thread of each warpgroup (or warp) arrives per CTA of the cluster; a warp barrier ensures
  // that all threads of the warp have read. The copy engine will write the slot through the async
  // proxy, so a proxy fence is needed.
  if (state.isReadByThreads) {
    if (state.tensorColumns)
      all.tcgen05.fenceBeforeSync();
    else
      fenceAsyncProxy(b);
    b.make<NVVM::SyncWarpOp>(b.i32(-1));
  }
  arrive(barrier, (state.isReadByThreads ? 1 : groupWarps) * Chip::warpSize, arrivalCtas(state));
}

void ChannelsLowering::arrive(Value barrier, int64_t threads, int64_t ctas) {
  Value number = kernel.thread;
  if (threads < kernel.warpCount() * Chip::warpSize)
    number = b.bitAnd(number, b.i32(threads - 1));
  Value isMine = b.unsignedLess(number, b.i32(ctas));
  Value on = b.zext(isMine, b.i32Type);
  if (ctas == 1)
    b.assembly({},
               "{\n.reg .pred on;\nsetp.ne.b32 on, $1, 0;\n@on mbarrier.arrive.shared::cta.b64 _, "
               "[$0];\n}",
               "r,r,~{memory}", {barrier, on});
  else
    b.assembly({},
               "{\n.reg .pred on;\n.reg .b32 there;\nsetp.ne.b32 on, $1, 0;\n@on "
               "mapa.shared::cluster.u32 there, $0, $2;\n"
               "@on mbarrier.arrive.shared::cluster.b64 _, [there];\n}",
               "r,r,r,~{memory}", {barrier, on, number});
}

/// Whether a product reads a slot of a channel.
static bool reads(sm::MmaOp mma, Value channel) {
  for (Value operand : {mma.getLhs(), mma.getRhs()})
    if (auto take = operand.getDefiningOp<sm::TakeOp>(); take && take.getChannel() == channel)
      return true;
  return false;
}

void ChannelsLowering::countProducts(sm::MmaOp mma, int64_t count) {
  // Count this product for each slot whose last reader was issued before it.
  for (auto &[channel, held] : taken)
    for (HeldSlot &slot : held)
      if (&slot == &held.back() && reads(mma, channel)) {
        slot.reader = mma;
        slot.later = 0;
      } else {
        slot.later += count;
      }
}

void ChannelsLowering::beginRole() {
  cursors.clear();
  taken.clear();
  acquired.clear();
}

bool ChannelsLowering::holdsSlots() const {
  return any_of(taken, [](const auto &entry) { return !entry.second.empty(); });
}

bool ChannelsLowering::stagesResult(sm::RoleOp role) const {
  return any_of(channels, [&](const auto &entry) {
    return entry.second.isResult && entry.second.drainers.front() == role;
  });
}

} // namespace tilewright::nvptx
