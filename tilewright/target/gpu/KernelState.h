// KernelState: what all groups of ops share while a kernel is lowered.
#ifndef TILEWRIGHT_TARGET_GPU_KERNELSTATE_H
#define TILEWRIGHT_TARGET_GPU_KERNELSTATE_H

#include "tilewright/dialect/sm/SmDialect.h"
#include "tilewright/target/gpu/thread/SharedMemory.h"
#include "tilewright/target/gpu/thread/ThreadBuilder.h"
#include "tilewright/target/gpu/thread/ThreadLayout.h"
#include "tilewright/target/lanes/Lanes.h"
#include "llvm/ADT/DenseMap.h"

#include <map>
#include <memory>
#include <string_view>
#include <vector>

namespace tilewright::gpu {

/// A buffer of a slot: its address, and the mbarrier that tracks copies into it.
struct SlotBuffer {
  Value address, barrier; // i32
};

/// A byte offset in shared memory: a part that varies between threads, and an immediate.
struct SplitOffset {
  Value varying; // i32
  int64_t constant;
};

/// The values that are lowered so far, and the code that computes the position of a thread. Scalars
/// are uniform over all threads, tiles are in registers.
struct KernelState {
  KernelState(ThreadBuilder &builder, sm::KernelOp op) : b(builder), op(op), shared(builder) {}

  ThreadBuilder &b;
  sm::KernelOp op;
  SharedMemory shared;
  mlir::LLVM::LLVMFuncOp function;
  Value thread; // in the block; in a role, relative to its first thread
  llvm::DenseMap<Value, Lanes> scalars;
  llvm::DenseMap<Value, Tile> tiles;
  llvm::DenseMap<Value, Value> memory; // pointers of memrefs
  llvm::DenseMap<Value, SlotBuffer> buffers;
  sm::RoleOp currentRole; // null outside of roles
  int64_t firstWarp = 0;  // of the role
  /// Whether a thread may still be reading shared memory that was written before the last barrier.
  bool mayBeRead = false;

  /// Reports E4051: the GPU target does not support the op; `why` is the reason.
  void refuse(mlir::Operation *op, std::string_view why);

  // --- Threads ---
  int64_t warpSize() const { return b.machine.limits.warpSize; }
  /// The numbers of warps and of threads that run the code being emitted.
  int64_t warpCount();
  int64_t threadCount() { return warpCount() * warpSize(); }
  int64_t clusterSize();
  Value ctaRank();
  Value axis(sm::Axis axis);
  Value digitOf(const sm::IndexTerm &term);
  const ThreadLayout &threadsOf(Type type);
  /// Calls `emit` with the insertion point at the end of the entry block, for values that depend
  /// only on the thread.
  Value once(llvm::function_ref<Value()> emit);
  /// The xor of `constant` and of `bytes[bit]` for all set bits of the thread id.
  SplitOffset offsetOfThread(llvm::ArrayRef<int64_t> bytes, int64_t constant);
  /// Forgets what was computed from the thread id, because a role changes it.
  void forgetThread() { threadLayouts.clear(); }

  // --- Barriers ---
  /// Emits a barrier for the threads that run the code being emitted.
  void barrier();
  /// Emits a CTA barrier if threads may still read shared memory that is overwritten next.
  void beginSharedWrites();
  /// Emits a CTA barrier, after which all threads can read what any thread wrote.
  void beginSharedReads();

private:
  llvm::DenseMap<sm::LayoutAttr, std::unique_ptr<ThreadLayout>> threadLayouts;
  std::map<std::pair<const void *, std::vector<int64_t>>, Value> linearOffsets;
};

} // namespace tilewright::gpu

#endif // TILEWRIGHT_TARGET_GPU_KERNELSTATE_H
