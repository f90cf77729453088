#include "tilewright/target/amdgcn/lower/KernelLowering.h"

#include "tilewright/dialect/tile/WindowOps.h"
#include "tilewright/support/Concat.h"

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
  auto dot = dyn_cast<tile::DotOp>(op);
  if (dot)
    mfma.dot(dot);
  return dot != nullptr;
}

} // namespace tilewright::amdgcn
