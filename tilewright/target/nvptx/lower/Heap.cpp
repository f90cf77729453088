// Windows on NVSHMEM's symmetric heap: each access of another rank is a call of NVSHMEM's device
// library, which stores to peers in the same NVLink domain and sends to those on other nodes.
#include "tilewright/support/Concat.h"
#include "tilewright/target/nvptx/lower/KernelLowering.h"

using namespace llvm;

namespace tilewright::nvptx {

namespace LLVM = mlir::LLVM;

/// Constants of NVSHMEM's interface: nvshmemx_signal_op_t and nvshmemx_cmp_type_t.
constexpr int64_t signalSet = 9, signalAdd = 10, compareGreaterOrEqual = 5;

Value WindowsLowering::heapElement(Value window, mlir::ValueRange offsets) {
  auto type = cast<mlir::MemRefType>(window.getType());
  const SmallVector<int64_t> steps = rowMajor(type.getShape());
  Value number = b.i64(0);
  for (auto [offset, step] : zip_equal(offsets, ArrayRef(steps).drop_front()))
    number = b.add(number, b.mul(kernel.scalars.lookup(offset).value, b.i64(step)));
  const int64_t bytes = lanes::storageBytes(type.getElementType());
  return b.advance(kernel.memory.lookup(window), b.mul(number, b.i64(bytes)));
}

Value WindowsLowering::heapWord(Value words, Value number) {
  return b.elementOf(kernel.memory.lookup(words), b.i64Type, number);
}

// NVSHMEM polls with relaxed loads and ends with a fence at the scope of the GPU. Only a fence at
// the scope of the system synchronises with the release of another GPU.
void WindowsLowering::waitOnHeap(Value address, Value target) {
  b.call(b.i64Type, "nvshmem_signal_wait_until",
         {b.generic(address), b.i32(compareGreaterOrEqual), target});
  b.assembly({}, "fence.acq_rel.sys;", "~{memory}", {});
}

void WindowsLowering::exchangeOnHeap(Value signals, int64_t ranks) {
  Value me = rankOf(signals);
  Value peer = b.zext(kernel.thread, b.i64Type, /*isNonNegative=*/true);
  Value words = b.mul(point(), b.i64(2 * ranks));
  Value own = heapWord(signals, b.add(words, b.add(peer, b.i64(ranks))));
  Value count = b.add(b.load(b.i64Type, own), b.i64(1));
  b.store(count, own);
  where(b.notEqual(peer, me), [&] {
    // A signal without data is a relaxed store.
    b.assembly({}, "fence.acq_rel.sys;", "~{memory}", {});
    b.call({}, "nvshmemx_signal_op",
           {b.generic(heapWord(signals, b.add(words, me))), count, b.i32(signalSet),
            b.trunc(peer, b.i32Type)});
    waitOnHeap(heapWord(signals, b.add(words, peer)), count);
  });
}

void WindowsLowering::put(tile::PutOp op) {
  if (kernel.currentRole)
    return kernel.refuse(op, "is in a role");
  auto type = cast<mlir::MemRefType>(op.getSource().getType());
  auto flags = cast<mlir::MemRefType>(op.getFlags().getType());
  const int64_t bytes = int64_t(op.getCount()) * lanes::storageBytes(type.getElementType());
  Value flag = b.mul(kernel.scalars.lookup(op.getFlag()).value, b.i64(flags.getDimSize(2)));
  // The call begins with a barrier of the block: the threads' stores to the source are done.
  b.call({}, "nvshmemx_putmem_signal_block",
         {b.generic(heapElement(op.getTarget(), op.getTargetOffsets())),
          b.generic(heapElement(op.getSource(), op.getSourceOffsets())), b.i64(bytes),
          b.generic(heapWord(op.getFlags(), flag)), b.i64(1), b.i32(signalAdd),
          b.trunc(kernel.scalars.lookup(op.getRank()).value, b.i32Type)});
}

} // namespace tilewright::nvptx
