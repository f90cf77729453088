#include "tilewright/target/nvptx/lower/channels/Stealing.h"

#include "tilewright/support/Concat.h"
#include "tilewright/target/nvptx/lower/KernelLowering.h"

using namespace llvm;

namespace tilewright::nvptx {

/// The number of slots, a power of two. The role that copies may be two points ahead of the
/// epilogue: one is in tensor memory, and one in the slots of the operands.
constexpr int64_t slotCount = 4, slotBits = 2;
/// The size in bytes of an answer, and of an mbarrier.
constexpr int64_t answerBytes = 16, barrierBytes = 8;

bool StealingLowering::isUsed() {
  return kernel.op.getPersistent() == "stealing" &&
         all.multiprocessors >= int64_t(all.chip.multiprocessors);
}

/// The number of CTAs of the cluster in which the role's threads run.
static int64_t ctasOf(sm::RoleOp role, int64_t clusterSize) {
  return isOfOneThread(role) && multiplies(role) ? 1 : clusterSize;
}

void StealingLowering::declare() {
  if (!isUsed())
    return;
  for (sm::RoleOp role : kernel.op.getBody().getOps<sm::RoleOp>())
    if (!requester && !isIdle(role) && isOfOneThread(role) && !multiplies(role))
      requester = role;
  if (all.chip.matrix != MatrixUnit::tcgen05 || !requester)
    return kernel.refuse(kernel.op, concat("is persistent by stealing, which needs a role that "
                                           "only copies, on a chip with tensor memory, got ",
                                           all.chip.name));
  answers = kernel.shared.allocate(slotCount * answerBytes, answerBytes, kernel.op);
  barriers = kernel.shared.allocate(2 * slotCount * barrierBytes, barrierBytes, kernel.op);
}

void StealingLowering::initialize() {
  if (!isUsed())
    return;
  // The empty barriers of the first CTA count the readers in all CTAs: one thread of each warp.
  int64_t readers = 0;
  for (sm::RoleOp role : kernel.op.getBody().getOps<sm::RoleOp>())
    if (!isIdle(role))
      readers +=
          (isOfOneThread(role) ? 1 : int64_t(role.getWarps())) * ctasOf(role, kernel.clusterSize());
  for (int64_t slot = 0; slot < 2 * slotCount; ++slot)
    b.make<NVVM::MBarrierInitOp>(kernel.shared.address(barriers, slot * barrierBytes),
                                 b.i32(slot < slotCount ? 1 : readers), Value());
}

StealingLowering::Slot StealingLowering::slotOf(Value round) {
  Value slot = b.bitAnd(round, b.i32(slotCount - 1));
  Value full =
      b.add(sharedAddress(b, kernel.shared.address(barriers)), b.mul(slot, b.i32(barrierBytes)));
  return {b.add(sharedAddress(b, kernel.shared.address(answers)), b.mul(slot, b.i32(answerBytes))),
          full, b.add(full, b.i32(slotCount * barrierBytes)),
          b.bitAnd(b.lshr(round, b.i32(slotBits)), b.i32(1))};
}

void StealingLowering::request(Value round) {
  if (kernel.currentRole != requester)
    return;
  const bool isCluster = kernel.clusterSize() > 1;
  const Slot slot = slotOf(round);
  // The answer is written to each CTA. This thread has read the slot's previous answer, so that
  // phase of the barrier is complete.
  b.assembly({}, "mbarrier.arrive.expect_tx.shared::cta.b64 _, [$0], $1;", "r,r,~{memory}",
             {slot.full, b.i32(answerBytes)});
  Block *first = b.newBlock(), *after = b.newBlock();
  if (isCluster) {
    b.branchIf(b.equal(kernel.ctaRank(), b.i32(0)), first, after);
    b.moveTo(first);
  }
  // The first waits return at once, as all slots are empty.
  all.channels.waitBarrier(slot.empty, b.bitXor(slot.parity, b.i32(1)), isCluster);
  b.make<NVVM::ClusterLaunchControlTryCancelOp>(isCluster ? b.op.getUnitAttr() : mlir::UnitAttr(),
                                                b.sharedPointer(slot.answer),
                                                b.sharedPointer(slot.full));
  if (!isCluster) {
    first->erase();
    after->erase();
    return;
  }
  b.branch(after);
  b.moveTo(after);
}

StealingLowering::Next StealingLowering::next(Value round) {
  using Query = NVVM::ClusterLaunchControlQueryType;
  const bool isCluster = kernel.clusterSize() > 1, ofOneThread = isOfOneThread(kernel.currentRole);
  const Slot slot = slotOf(round);
  all.channels.waitBarrier(slot.full, slot.parity, isCluster);
  Value answer = b.load(b.intType(128), b.sharedPointer(slot.answer), answerBytes);
  Value exists =
      b.make<NVVM::ClusterLaunchControlQueryCancelOp>(b.i1Type, Query::IS_CANCELED, answer);
  Value block =
      b.make<NVVM::ClusterLaunchControlQueryCancelOp>(b.i32Type, Query::GET_FIRST_CTA_ID_X, answer);
  // The next answer is written through the async proxy, after all have read this one.
  fenceAsyncProxy(b);
  Value arrives = b.i32(1);
  if (!ofOneThread) {
    b.make<NVVM::SyncWarpOp>(b.i32(-1));
    arrives = b.zext(b.equal(kernel.axis(sm::Axis::lane), b.i32(0)), b.i32Type);
  }
  if (isCluster)
    b.assembly({},
               "{\n.reg .pred on;\n.reg .b32 there;\nsetp.ne.b32 on, $1, 0;\n@on "
               "mapa.shared::cluster.u32 there, $0, 0;\n"
               "@on mbarrier.arrive.shared::cluster.b64 _, [there];\n}",
               "r,r,~{memory}", {slot.empty, arrives});
  else
    b.assembly({},
               "{\n.reg .pred on;\nsetp.ne.b32 on, $1, 0;\n@on mbarrier.arrive.shared::cta.b64 _, "
               "[$0];\n}",
               "r,r,~{memory}", {slot.empty, arrives});
  return {exists, b.udiv(block, b.i32(kernel.clusterSize()))};
}

} // namespace tilewright::nvptx
