// Matrix instructions that accumulate in tensor memory (tcgen05).
#ifndef TILEWRIGHT_TARGET_NVPTX_LOWER_MATRIX_TCGEN05_H
#define TILEWRIGHT_TARGET_NVPTX_LOWER_MATRIX_TCGEN05_H

#include "tilewright/target/gpu/thread/SharedMemory.h"
#include "tilewright/target/nvptx/lower/OpGroup.h"

#include <string>
#include <vector>

namespace tilewright::nvptx {

/// Allocates tensor memory, multiplies into it, and reads it. Operands are given by descriptors.
/// One thread issues the products; the unit signals their completion at mbarriers.
class Tcgen05Lowering : public OpGroup {
public:
  explicit Tcgen05Lowering(KernelLowering &all) : OpGroup(all) {}

  /// Allocates columns for the slots of a channel. Returns the first column.
  int64_t allocate(int64_t columns, mlir::Operation *user);
  /// Allocates columns for the scales of one product. All products of the kernel use them in turn:
  /// one thread issues their copies and products, which execute in that order.
  void allocateScales();
  /// Fails with E4058 if the chip has fewer columns; the message lists the largest users.
  Status check() const;
  /// initialize() emits the allocation, which one warp executes; useAllocation() comes after a
  /// barrier of all threads.
  void initialize();
  void useAllocation();
  /// Begins a role: reads the address of the allocation if the role uses it.
  void beginRole(sm::RoleOp role);
  /// Ends a role. If its threads read the results, which is the last use of tensor memory, frees
  /// the allocation.
  void endRole(sm::RoleOp role);

  /// The address of a column: an i32.
  Value address(int64_t column);
  void mma(sm::MmaOp mma);
  /// Copies by `tmem`: reads an accumulator into registers, or writes a left operand.
  void copy(sm::CopyOp copy);
  /// Multiplies rows of a buffer by factors, if a factor of the warp is not 1.
  void scale(sm::ScaleOp op);
  /// Waits until this thread's writes to tensor memory are complete.
  void waitForStores();
  /// Lets the unit arrive at the mbarrier when all products issued so far are complete.
  void commit(Value barrier);
  /// Orders accesses to tensor memory after, or before, a synchronization of threads.
  void fenceAfterSync();
  void fenceBeforeSync();

private:
  /// Builds a matrix descriptor; `low`, an i32, contains the address.
  Value descriptor(Value low, int64_t upper);
  struct Accumulator {
    Value into;        // a pointer
    Value accumulates; // whether the first instruction adds to it
  };
  Accumulator accumulator(sm::MmaOp mma);
  void load(sm::CopyOp copy);
  void store(sm::CopyOp copy);
  // Threads that have one row each (TensorRows.cpp).
  /// Whether the threads of the role hold the rows of a buffer so, with shape 32x32b.
  bool isOfRows(Value buffer, const sm::Layout &registers) const;
  void loadRows(sm::CopyOp copy);
  void storeRows(sm::CopyOp copy);
  llvm::SmallVector<Value> loadColumns(Value first, int64_t count);
  void storeColumns(Value first, llvm::ArrayRef<Value> words);
  /// Waits for loads: the returned words are theirs.
  llvm::SmallVector<Value> waitForLoads(llvm::ArrayRef<Value> words);
  /// The address of the calling warp's quarter of a buffer's lanes. If there are two warpgroups,
  /// the second one accesses the upper half of each quarter.
  Value quarterOf(Value buffer, int64_t groups);
  /// Multiplies with scales, after copying them to tensor memory.
  void scaledMma(sm::MmaOp mma);
  /// Copies the scales of `rowGroups` groups of 128 rows to tensor memory, to the address `first`.
  void copyScales(Value buffer, int64_t rowGroups, Value first);

  /// The columns of an allocation: a power of two from 32.
  int64_t allocatedColumns() const;

  struct User {
    std::string name;
    int64_t columns;
  };
  std::vector<User> users;
  int64_t columns = 0;     // of all users
  int64_t scaleColumn = 0; // the first
  SharedMemory::Buffer place;
  Value base; // in the current role
};

/// The columns of a buffer in tensor memory. Its layout counts elements, of which a column holds 32
/// bits.
int64_t tensorColumnsOf(sm::BufferType buffer);

/// The address space of tensor memory.
inline constexpr unsigned tensorSpace = 6;

/// Whether threads write the acquired slot.
bool isWrittenByThreads(sm::AcquireOp acquire);

/// Whether the matrix unit itself frees the slots of the channel, because products accumulate in
/// tensor memory.
bool isReadByTensorProducts(Value channel);

} // namespace tilewright::nvptx

#endif // TILEWRIGHT_TARGET_NVPTX_LOWER_MATRIX_TCGEN05_H
