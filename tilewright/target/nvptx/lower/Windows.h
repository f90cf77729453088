// Windows: memory of several devices, and how their kernels wait for each other.
#ifndef TILEWRIGHT_TARGET_NVPTX_LOWER_WINDOWS_H
#define TILEWRIGHT_TARGET_NVPTX_LOWER_WINDOWS_H

#include "tilewright/dialect/tile/WindowOps.h"
#include "tilewright/target/nvptx/lower/OpGroup.h"

namespace tilewright::nvptx {

/// A window is a parameter of the kernel that is passed by value: the rank of this device (64
/// bits), the address by which the interconnect reaches all parts (0 if there is none), and the
/// address of each part. So an access needs no table in memory, and parts may be anywhere.
///
/// A window on the heap is a pointer to this rank's part; for all other accesses, kernels call
/// NVSHMEM's device library (Heap.cpp).
class WindowsLowering : public OpGroup {
public:
  explicit WindowsLowering(KernelLowering &all) : OpGroup(all) {}

  /// Whether the parameter has the fields above.
  static bool isByValue(Type type) { return tile::isWindow(type) && !tile::isOnHeap(type); }
  /// The type of the parameter.
  Type parameterType(mlir::MemRefType window);

  /// The pointer to the part of a rank (an index).
  Value part(Value window, Value rank);
  /// The address that reaches all parts.
  Value multicast(Value window);

  void rank(tile::RankOp op);
  void barrier(tile::BarrierOp op);
  void epoch(tile::EpochOp op);
  void signal(tile::SignalOp op);
  void wait(tile::WaitOp op);
  void put(tile::PutOp op);
  void reduceParts(tile::ReducePartsOp op);
  void storeParts(tile::StorePartsOp op);

private:
  Value field(Value window, Value bytes);
  Value rankOf(Value window);
  /// The number of this point, in row-major order (i64).
  Value point();
  /// Waits until the word at an address is at least `target`, where counts wrap around at 32 bits.
  void spin(Value address, Value target);
  // --- On the heap ---
  /// The address of an element of this rank's part, as NVSHMEM takes it.
  Value heapElement(Value window, mlir::ValueRange offsets);
  Value heapWord(Value words, Value number);
  /// Waits until the word at an address is at least `target`.
  void waitOnHeap(Value address, Value target);
  /// Sends this point's count to its peers, one thread per peer, and waits for theirs.
  void exchangeOnHeap(Value signals, int64_t ranks);

  /// Runs `emit` on the threads for which the condition holds.
  void where(Value condition, llvm::function_ref<void()> emit);
};

} // namespace tilewright::nvptx

#endif // TILEWRIGHT_TARGET_NVPTX_LOWER_WINDOWS_H
