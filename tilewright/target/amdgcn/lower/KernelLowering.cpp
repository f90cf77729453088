#include "tilewright/target/amdgcn/lower/KernelLowering.h"

#include "tilewright/dialect/tile/WindowOps.h"
#include "tilewright/support/Concat.h"

#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/SaveAndRestore.h"

using namespace llvm;

namespace tilewright::amdgcn {

namespace LLVM = mlir::LLVM;

bool KernelLowering::isSupported() {
  if (kernel.op.getClusterSizes() != std::array<int64_t, 3>{1, 1, 1})
    kernel.refuse(kernel.op,
                  concat("has a cluster, which ", b.machine.limits.chip, " does not support"));
  if (any_of(kernel.op.getBlock().getArgumentTypes(), tile::isWindow))
    kernel.refuse(kernel.op, "accesses memory of several devices, which is not supported on AMD's "
                             "GPUs yet");
  return b.failure.isOk();
}

void KernelLowering::lower(gpu::KernelInfo &info) {
  SaveAndRestore here(b.location, kernel.op.getLoc());
  beginInfo(info);
  if (!b.failure.isOk() || !isSupported())
    return;
  makeFunction(info);
  kernel.thread = kernel.once([&] { return b.machine.threadId(b); });
  lowerCoordinates(info);
  if (!b.failure.isOk())
    return;
  lowerOps(kernel.op.getBlock());
  b.ret();
  info.sharedBytes = kernel.shared.bytes();
  b.fail(kernel.shared.check());
}

void KernelLowering::makeFunction(const gpu::KernelInfo &info) {
  auto arguments = kernel.op.getBlock().getArguments().drop_front(kernel.op.getGrid().size());
  const SmallVector<Type> parameters(arguments.size(), b.pointerIn(1));
  LLVM::LLVMFuncOp function = kernel.function = b.beginKernel(info.symbol, parameters);
  function.setNoUnwind(true);
  for (auto [i, argument] : enumerate(arguments)) {
    kernel.memory[argument] = function.getArgument(unsigned(i));
    // Allocations of the runtime are aligned to at least this.
    function.setArgAttr(unsigned(i), LLVM::LLVMDialect::getAlignAttrName(),
                        b.op.getI64IntegerAttr(16));
  }
}

bool KernelLowering::lowerEngine(mlir::Operation *op) {
  // Ops that only NVIDIA's GPUs have are refused by name where scalar ops are lowered.
  bool isKnown = true;
  TypeSwitch<mlir::Operation *>(op)
      .Case([&](tile::DotOp op) { mfma.dot(op); })
      .Case([&](sm::ChannelOp op) { channels.declare(op); })
      .Case([&](sm::AcquireOp op) { channels.acquire(op); })
      .Case([&](sm::PublishOp op) { channels.publish(op); })
      .Case([&](sm::TakeOp op) { channels.take(op); })
      .Case([&](sm::FreeOp op) { channels.free(op); })
      .Case([&](sm::CopyOp op) { lowerCopy(op); })
      .Case([&](sm::MmaOp op) { mfma.mma(op); })
      .Default([&](mlir::Operation *) { isKnown = false; });
  return isKnown;
}

void KernelLowering::lowerCopy(sm::CopyOp copy) {
  if (copy.getEngine() == sm::Engine::cp_async)
    return copies.copy(copy);
  if (copy.getEngine() == sm::Engine::ld && copy.getResult())
    return slotLoads.load(copy);
  kernel.refuse(copy, concat("uses ", sm::stringifyEngine(copy.getEngine()).str(), ", which ",
                             b.machine.limits.chip, " does not have"));
}

// --- Packed tiles ---

bool KernelLowering::prepare(mlir::Operation *op) {
  // Sums stay packed from one product to the next, also through a loop.
  if (auto loop = dyn_cast<mlir::scf::ForOp>(op)) {
    for (auto [init, carried] : zip_equal(loop.getInitArgs(), loop.getRegionIterArgs()))
      if (any_of(carried.getUsers(), [&](mlir::Operation *user) {
            auto mma = dyn_cast<sm::MmaOp>(user);
            return mma && mma.getAcc() == carried;
          }))
        mfma.packSums(init);
    return true;
  }
  if (!isa<sm::MmaOp>(op))
    for (Value operand : op->getOperands())
      complete(operand, op);
  return true;
}

void KernelLowering::complete(Value tile, mlir::Operation *) { mfma.unpack(tile); }

void KernelLowering::copyForm(Value from, Value to) {
  if (mfma.isPacked(from))
    mfma.markPacked(to);
}

SmallVector<int64_t> KernelLowering::beginLoop(mlir::scf::ForOp loop) {
  return channels.beginLoop(loop);
}

void KernelLowering::endLoop(mlir::scf::ForOp loop, ArrayRef<int64_t> before) {
  channels.endLoop(loop, before);
}

} // namespace tilewright::amdgcn
