#include "tilewright/target/nvptx/lower/KernelLowering.h"

#include "tilewright/support/Concat.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/SaveAndRestore.h"

using namespace llvm;

namespace tilewright::nvptx {

OpGroup::OpGroup(KernelLowering &all) : all(all), kernel(all.kernel), b(all.kernel.b) {}

namespace LLVM = mlir::LLVM;

// --- The function ---

void KernelLowering::lower(KernelInfo &info) {
  SaveAndRestore here(b.location, kernel.op.getLoc());
  beginInfo(info);
  if (!b.failure.isOk())
    return;
  for (mlir::BlockArgument argument :
       kernel.op.getBlock().getArguments().drop_front(kernel.op.getGrid().size()))
    info.windowRanks.push_back(WindowsLowering::isByValue(argument.getType())
                                   ? cast<mlir::MemRefType>(argument.getType()).getDimSize(0)
                                   : 0);
  tma.plan();
  info.tensorMaps = tma.maps();
  makeFunction(info);
  roles.plan(info);
  kernel.thread = kernel.once([&] { return b.machine.threadId(b); });
  beginPoint(info);
  for (sm::ChannelOp channel : kernel.op.getBody().getOps<sm::ChannelOp>())
    channels.declare(channel);
  stealing.declare();
  tcgen05.allocateScales();
  channels.initialize();
  if (kernel.op.getPersistent())
    // Ops before the roles depend on the point, so each role emits its own copies of them.
    for (sm::RoleOp role : kernel.op.getBody().getOps<sm::RoleOp>())
      roles.role(role);
  else
    lowerOps(kernel.op.getBlock());
  // Wait, because other CTAs of the cluster may still arrive at this CTA's barriers.
  if (!channels.empty() && kernel.clusterSize() > 1)
    channels.waitForAll();
  b.ret();
  info.sharedBytes = kernel.shared.bytes();
  b.fail(kernel.shared.check());
  b.fail(tcgen05.check());
}

void KernelLowering::makeFunction(const KernelInfo &info) {
  SmallVector<Type> parameters;
  for (mlir::BlockArgument argument :
       kernel.op.getBlock().getArguments().drop_front(kernel.op.getGrid().size()))
    parameters.push_back(b.pointerIn(WindowsLowering::isByValue(argument.getType()) ? 0 : 1));
  const size_t pointers = parameters.size();
  parameters.append(info.tensorMaps.size(), b.pointerIn(0));
  LLVM::LLVMFuncOp function = kernel.function = b.beginKernel(info.symbol, parameters);
  function->setAttr(NVVM::NVVMDialect::getKernelFuncAttrName(), b.op.getUnitAttr());
  function->setAttr(NVVM::NVVMDialect::getReqntidAttrName(),
                    b.op.getDenseI32ArrayAttr({int32_t(info.threads)}));
  function.setNoUnwind(true);
  for (auto [i, argument] :
       enumerate(kernel.op.getBlock().getArguments().drop_front(kernel.op.getGrid().size()))) {
    kernel.memory[argument] = function.getArgument(unsigned(i));
    if (WindowsLowering::isByValue(argument.getType())) {
      function.setArgAttr(
          unsigned(i), LLVM::LLVMDialect::getByValAttrName(),
          mlir::TypeAttr::get(windows.parameterType(cast<mlir::MemRefType>(argument.getType()))));
      function.setArgAttr(unsigned(i), LLVM::LLVMDialect::getAlignAttrName(),
                          b.op.getI64IntegerAttr(8));
      function.setArgAttr(unsigned(i), NVVM::NVVMDialect::getGridConstantAttrName(),
                          b.op.getUnitAttr());
      continue;
    }
    // Allocations of the runtime are aligned to at least this.
    function.setArgAttr(unsigned(i), LLVM::LLVMDialect::getAlignAttrName(),
                        b.op.getI64IntegerAttr(16));
  }
  for (size_t i = 0; i < info.tensorMaps.size(); ++i) {
    const auto argument = unsigned(pointers + i);
    function.setArgAttr(argument, LLVM::LLVMDialect::getByValAttrName(),
                        mlir::TypeAttr::get(LLVM::LLVMArrayType::get(b.i8Type, 128)));
    function.setArgAttr(argument, LLVM::LLVMDialect::getAlignAttrName(),
                        b.op.getI64IntegerAttr(64));
    // The copy engine reads the parameter in place, and no thread modifies it.
    function.setArgAttr(argument, NVVM::NVVMDialect::getGridConstantAttrName(), b.op.getUnitAttr());
  }
}

void KernelLowering::beginPoint(KernelInfo &info) {
  // Each point is run by one cluster, whose CTAs are along x.
  const std::array<int64_t, 3> cluster = kernel.op.getClusterSizes();
  const int64_t maxCluster = std::max<int64_t>(chip.clusterBlocks, 1);
  if (cluster[1] != 1 || cluster[2] != 1 || cluster[0] > maxCluster)
    return kernel.refuse(kernel.op, concat("has a cluster of ", cluster[0], "x", cluster[1], "x",
                                           cluster[2], " CTAs, but the GPU target supports up to ",
                                           maxCluster, " in one dimension on ", chip.name));
  info.cluster = cluster;
  if (cluster[0] > 1)
    kernel.function->setAttr(NVVM::NVVMDialect::getClusterDimAttrName(),
                             b.op.getDenseI32ArrayAttr({int32_t(cluster[0]), 1, 1}));
  lowerCoordinates(info, cluster[0]);
}

/// Each role computes its own coordinates.
void KernelLowering::lowerPersistent(gpu::KernelInfo &info, int64_t count) {
  const int64_t blocks = kernel.clusterSize();
  clusters =
      stealing.isUsed() ? count : std::max<int64_t>(1, std::min(count, multiprocessors / blocks));
  info.grid[0] = clusters * blocks;
}

// --- Ops ---

void KernelLowering::complete(Value tile, mlir::Operation *user) {
  wgmma.settle(tile, user);
  fragments.unpackWords(tile);
}

void KernelLowering::copyForm(Value from, Value to) {
  if (fragments.isInWords(from))
    fragments.markInWords(to);
}

void KernelLowering::copyFlight(Value from, Value to) {
  if (wgmma.isInFlight(from))
    wgmma.markInFlight(to);
}

SmallVector<int64_t> KernelLowering::beginLoop(mlir::scf::ForOp loop) {
  if (multiplies(loop))
    wgmma.forgetOrder();
  return channels.beginOwnLoop(loop);
}

void KernelLowering::endLoop(mlir::scf::ForOp loop, ArrayRef<int64_t> before) {
  channels.endOwnLoop(loop, before);
  if (multiplies(loop))
    wgmma.forgetOrder();
}

void KernelLowering::passBorder(mlir::scf::IfOp branch) {
  if (multiplies(branch))
    wgmma.forgetOrder();
}

void KernelLowering::beforeMap(tile::MapOp map) {
  if (any_of(map.getResults(), [&](Value tile) { return registerOperand.isPacked(tile); }))
    registerOperand.waitForReaders(map.getInputs());
}

void KernelLowering::afterMap(tile::MapOp map) {
  for (Value tile : map.getResults())
    if (registerOperand.isPacked(tile))
      registerOperand.pack(tile);
}

Value KernelLowering::windowPart(Value window, Value rank) { return windows.part(window, rank); }

void KernelLowering::completeOperands(mlir::Operation *op) {
  // A wgmma stays in flight until an op that is not a wgmma uses its result.
  if (!isa<sm::MmaOp, mlir::scf::ForOp>(op))
    for (Value operand : op->getOperands())
      complete(operand, op);
  // If an op inside a loop or branch completed a tile of an outer block, the tile would be complete
  // only on that path. So complete such tiles before the loop or branch.
  if (isa<mlir::scf::ForOp, mlir::scf::IfOp>(op))
    op->walk([&](mlir::Operation *inner) {
      if (inner != op && !isa<sm::MmaOp, mlir::scf::ForOp>(inner))
        for (Value operand : inner->getOperands())
          if (!op->isAncestor(operand.getParentBlock()->getParentOp()))
            complete(operand, op);
    });
}

bool KernelLowering::prepare(mlir::Operation *op) {
  if (registerOperand.isDeferred(op))
    return false;
  completeOperands(op);
  return true;
}

bool KernelLowering::lowerEngine(mlir::Operation *op) {
  bool isKnown = true;
  TypeSwitch<mlir::Operation *>(op)
      .Case([&](tile::DotOp op) { mmaSync.dot(op); })
      .Case([&](tile::RankOp op) { windows.rank(op); })
      .Case([&](tile::BarrierOp op) { windows.barrier(op); })
      .Case([&](tile::EpochOp op) { windows.epoch(op); })
      .Case([&](tile::SignalOp op) { windows.signal(op); })
      .Case([&](tile::WaitOp op) { windows.wait(op); })
      .Case([&](tile::PutOp op) { windows.put(op); })
      .Case([&](tile::ReducePartsOp op) { windows.reduceParts(op); })
      .Case([&](tile::StorePartsOp op) { windows.storeParts(op); })
      .Case([&](sm::ChannelOp) {})
      .Case([&](sm::RoleOp op) { roles.role(op); })
      .Case([&](sm::AcquireOp op) { channels.acquire(op); })
      .Case([&](sm::PublishOp op) { channels.publish(op); })
      .Case([&](sm::TakeOp op) { channels.take(op); })
      .Case([&](sm::FreeOp op) { channels.free(op); })
      .Case([&](sm::CopyOp op) { lowerCopy(op); })
      .Case([&](sm::ScaleOp op) { tcgen05.scale(op); })
      .Case([&](sm::MmaOp op) { lowerMma(op); })
      .Default([&](mlir::Operation *) { isKnown = false; });
  return isKnown;
}

void KernelLowering::lowerCopy(sm::CopyOp copy) {
  switch (copy.getEngine()) {
  case sm::Engine::tma:
    return tma.copy(copy);
  case sm::Engine::cp_async:
    return asyncCopies.copy(copy);
  case sm::Engine::ldmatrix:
  case sm::Engine::ld:
    if (copy.getResult() &&
        cast<mlir::RankedTensorType>(copy.getResult().getType()).getNumElements() == 1)
      return channels.loadElement(copy);
    return kernel.currentRole ? registerOperand.load(copy) : fragments.load(copy);
  case sm::Engine::st:
    return isToSlot(copy) ? registerOperand.store(copy) : channels.storeElement(copy);
  case sm::Engine::stmatrix:
    return stores.stage(copy);
  case sm::Engine::tmem:
    return tcgen05.copy(copy);
  default:
    kernel.refuse(copy, concat("uses ", sm::stringifyEngine(copy.getEngine()).str(),
                               ", which the GPU target does not support yet"));
  }
}

void KernelLowering::lowerMma(sm::MmaOp mma) {
  if (mma.getAtom() == sm::Atom::mma_sync)
    return mmaSync.mma(mma);
  if (mma.getAtom() == sm::Atom::tcgen05)
    return tcgen05.mma(mma);
  if (isa<mlir::RankedTensorType>(mma.getLhs().getType()))
    return registerOperand.mma(mma);
  wgmma.mma(mma);
}

} // namespace tilewright::nvptx
