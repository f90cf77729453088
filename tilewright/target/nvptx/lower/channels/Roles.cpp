// Roles: which warps run which code, with how many registers, over which points.
#include "tilewright/target/nvptx/lower/KernelLowering.h"

#include "tilewright/support/Concat.h"
#include "tilewright/target/gpu/thread/Shuffle.h"

using namespace llvm;

namespace tilewright::nvptx {

bool isOfOneThread(sm::RoleOp role) {
  return !role.getBody()
              .walk([](mlir::Operation *op) {
                bool isOfAll = isa<tile::StoreOp>(op);
                if (auto load = dyn_cast<tile::LoadOp>(op))
                  isOfAll = load.getType().getNumElements() > 1;
                if (auto mma = dyn_cast<sm::MmaOp>(op))
                  isOfAll = mma.getAtom() != sm::Atom::tcgen05;
                if (auto take = dyn_cast<sm::TakeOp>(op))
                  isOfAll = !isReadByTensorProducts(take.getChannel()) &&
                            !isOfElements(take.getChannel().getType());
                return isOfAll ? mlir::WalkResult::interrupt() : mlir::WalkResult::advance();
              })
              .wasInterrupted();
}

bool multiplies(mlir::Operation *op) {
  return op->walk([](sm::MmaOp) { return mlir::WalkResult::interrupt(); }).wasInterrupted();
}

bool isIdle(sm::RoleOp role) { return role.getBody().front().without_terminator().empty(); }

void RolesLowering::changeRegisters(sm::RoleOp role) {
  b.make<NVVM::SetMaxRegisterOp>(uint32_t(role.getRegisters()),
                                 int64_t(role.getRegisters()) > launchRegisters
                                     ? NVVM::SetMaxRegisterAction::increase
                                     : NVVM::SetMaxRegisterAction::decrease);
}

void RolesLowering::beginGroup(sm::RoleOp role) {
  if (!changesRegisters || int64_t(role.getWarps()) % groupWarps == 0 ||
      kernel.firstWarp % groupWarps != 0)
    return;
  // All warps of a warpgroup execute the same instruction to change their registers, and then
  // branch to the roles that share the warpgroup.
  Block *inside = b.newBlock();
  afterGroup = b.newBlock();
  Value warp = shuffleFrom(b, b.lshr(kernel.thread, b.i32(5)), b.i32(0));
  b.branchIf(b.equal(b.lshr(warp, b.i32(2)), b.i32(kernel.firstWarp / groupWarps)), inside,
             afterGroup);
  b.moveTo(inside);
  changeRegisters(role);
}

void RolesLowering::endGroup() {
  if (!afterGroup || kernel.firstWarp % groupWarps != 0)
    return;
  b.branch(afterGroup);
  b.moveTo(afterGroup);
  afterGroup = nullptr;
}

void RolesLowering::role(sm::RoleOp role) {
  beginGroup(role);
  if (!isIdle(role))
    emit(role);
  kernel.firstWarp += int64_t(role.getWarps());
  endGroup();
}

void RolesLowering::emit(sm::RoleOp role) {
  const auto warps = int64_t(role.getWarps());
  Block *inside = b.newBlock(), *after = b.newBlock();
  Value whole = kernel.thread;
  const int64_t first = kernel.firstWarp * Chip::warpSize, threads = warps * Chip::warpSize;
  const bool ofOneThread = isOfOneThread(role);
  Value isHere = first == 0 ? b.unsignedLess(whole, b.i32(threads))
                            : b.unsignedLess(b.sub(whole, b.i32(first)), b.i32(threads));
  // ptxas keeps the operands of copies and products in uniform registers if it knows that a whole
  // warp takes the branch (a shuffle makes the warp's number uniform) and that one thread remains.
  if (ofOneThread && warps == 1) {
    Value warp =
        kernel.once([&]() -> Value { return shuffleFrom(b, b.lshr(whole, b.i32(5)), b.i32(0)); });
    isHere = b.equal(warp, b.i32(kernel.firstWarp));
    // The first CTA of a pair multiplies for both.
    if (kernel.clusterSize() > 1 && multiplies(role))
      isHere = b.bitAnd(isHere, b.equal(kernel.ctaRank(), b.i32(0)));
  }
  b.branchIf(isHere, inside, after);
  b.moveTo(inside);
  if (changesRegisters && !afterGroup)
    changeRegisters(role);
  // Thread and warp ids are relative to the role's first warp.
  kernel.thread =
      kernel.once([&]() -> Value { return first == 0 ? whole : b.sub(whole, b.i32(first)); });
  kernel.currentRole = role;
  kernel.forgetThread();
  all.memory.forgetThread();
  all.channels.beginRole();
  all.wgmma.beginRole();
  all.registerOperand.deferPrologues(role);
  if (ofOneThread) {
    Block *one = b.newBlock();
    Value isOne = warps == 1
                      ? b.make<NVVM::ElectSyncOp>(b.i1Type, /*membermask=*/Value()).getResult()
                      : b.equal(kernel.thread, b.i32(0));
    b.branchIf(isOne, one, after);
    b.moveTo(one);
  }
  all.tcgen05.beginRole(role);
  all.channels.beginTurns(role);
  rounds(role);
  all.channels.endTurns(role);
  all.tcgen05.endRole(role);
  // The CTA must not exit, which frees its shared memory, before the last store has read it.
  if (all.channels.stagesResult(role))
    all.stores.waitForStores(0);
  b.branch(after);
  b.moveTo(after);
  kernel.currentRole = {};
  kernel.thread = whole;
  kernel.forgetThread();
  all.memory.forgetThread();
}

void RolesLowering::rounds(sm::RoleOp role) {
  auto emitBody = [&] {
    all.lowerOps(role.getBody().front());
    if (all.channels.holdsSlots())
      kernel.refuse(role, "must free all slots that it takes");
  };
  if (!kernel.op.getPersistent())
    return emitBody();
  // Cursors are per-thread variables, so slots and phases continue from point to point. The launch
  // has at most as many clusters as points, so each cluster has at least one point.
  Value block = b.make<NVVM::BlockIdXOp>(b.i32Type);
  Value first = b.udiv(block, b.i32(kernel.clusterSize()));
  // A kernel that steals points also counts its rounds.
  const bool steals = all.stealing.isUsed();
  SmallVector<Value> begin{first};
  if (steals)
    begin.push_back(b.i32(0));
  Block *round = b.newBlock(SmallVector<Type>(begin.size(), b.i32Type)), *after = b.newBlock();
  b.branch(round, begin);
  b.moveTo(round);
  Value point = round->getArgument(0);
  if (steals)
    all.stealing.request(round->getArgument(1));
  all.lowerCoordinatesOf(point);
  for (mlir::Operation &op : kernel.op.getBlock().without_terminator())
    if (!isa<sm::RoleOp, sm::ChannelOp>(op))
      all.lowerOp(&op);
  // Threads may still be reading shared memory from the previous round.
  kernel.mayBeRead = true;
  emitBody();
  if (steals) {
    Value number = round->getArgument(1);
    const auto [exists, next] = all.stealing.next(number);
    b.branchIf(exists, round, after, {next, b.add(number, b.i32(1))});
  } else {
    Value next = b.add(point, b.i32(all.clusterCount()), neverWraps);
    b.branchIf(b.less(next, b.i32(kernel.op.getPointCount())), round, after, {next});
  }
  b.moveTo(after);
}

/// Whether the roles fill whole warpgroups: a role alone, or several roles with equal numbers of
/// registers.
static bool formGroups(ArrayRef<sm::RoleOp> roles) {
  int64_t filled = 0; // warps of the last group
  uint64_t registers = 0;
  for (sm::RoleOp role : roles) {
    const auto warps = int64_t(role.getWarps());
    if (filled != 0 && (role.getRegisters() != registers || filled + warps > groupWarps))
      return false;
    filled = (filled + warps) % groupWarps;
    registers = role.getRegisters();
  }
  return filled == 0;
}

void RolesLowering::plan(const KernelInfo &info) {
  SmallVector<sm::RoleOp> roles(kernel.op.getBody().getOps<sm::RoleOp>());
  if (kernel.op.getPersistent() && roles.empty())
    return kernel.refuse(kernel.op,
                         "is persistent but has no roles, which the GPU target does not support");
  if (roles.empty())
    return;
  // The kernel starts with as many registers per thread as ptxas may assign at this thread count;
  // setmaxnreg redistributes them.
  launchRegisters = std::min<int64_t>(Chip::registersPerMultiprocessor / info.threads / 8 * 8,
                                      Chip::registersPerThread / 8 * 8);
  int64_t total = 0;
  // Only whole warpgroups can change their registers. On chips with tensor memory, roles may be
  // smaller; unless they fill warpgroups together, they then keep the registers with which they
  // start.
  const bool areGroups = formGroups(roles);
  if (all.chip.matrix == MatrixUnit::wgmma && !areGroups)
    return kernel.refuse(kernel.op,
                         concat("must have roles that fill whole warpgroups of ", groupWarps,
                                " warps; roles that share one must have equally many registers"));
  changesRegisters =
      areGroups && (all.chip.matrix == MatrixUnit::wgmma || all.chip.matrix == MatrixUnit::tcgen05);
  for (sm::RoleOp role : roles)
    total += int64_t(role.getWarps()) * Chip::warpSize * int64_t(role.getRegisters());
  if (changesRegisters && total > launchRegisters * info.threads)
    b.fail(Status(Error::gpuBudget,
                  concat("has roles with ", total, " registers in total, but its ", info.threads,
                         " threads start with ", launchRegisters * info.threads, " on ",
                         all.chip.name, "; use fewer registers per role")));
  kernel.function->setAttr(NVVM::NVVMDialect::getMinctasmAttrName(), b.op.getI32IntegerAttr(1));
}

} // namespace tilewright::nvptx
