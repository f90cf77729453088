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

  /// Allocates columns for the slots of a channel; returns the first.
  int64_t allocate(int64_t columns, mlir::Operation *user);
  /// Allocates columns for the scales of one product, which all of the kernel use in turn: one
  /// thread issues their copies and products, which are performed in this order.
  void allocateScales();
  /// Fails with E4058 if the chip has fewer columns; the message names the largest users.
  Status check() const;
  /// Emits the allocation, by one warp, and the end of it. Between them, all threads must meet.
  void initialize();
  void useAllocation();
  /// Begins a role: reads the address of the allocation if the role uses it.
  void beginRole(sm::RoleOp role);
  /// Ends a role: if it reads tensor memory, which is the last use of it, ends the allocation.
  void endRole(sm::RoleOp role);

  /// The address of a column: an i32.
  Value address(int64_t column);
  void mma(sm::MmaOp mma);
  /// Copies by `tmem`: reads an accumulator into registers, or writes a left operand.
  void copy(sm::CopyOp copy);
  /// Waits until what this thread has written is in tensor memory.
  void waitForStores();
  /// Lets the unit arrive at the mbarrier when all products issued so far are complete.
  void commit(Value barrier);
  /// Orders accesses to tensor memory after, or before, a synchronization of threads.
  void fenceAfterSync();
  void fenceBeforeSync();

private:
  /// A matrix descriptor: `low`, an i32, has the address.
  Value descriptor(Value low, int64_t upper);
  struct Accumulator {
    Value into;        // a pointer
    Value accumulates; // whether the first instruction adds to it
  };
  Accumulator accumulator(sm::MmaOp mma);
  void load(sm::CopyOp copy);
  void store(sm::CopyOp copy);
  /// The address of the calling warp's quarter of the lanes of a buffer. Of two warpgroups, the
  /// second one accesses the upper half of each quarter.
  Value quarterOf(Value buffer, int64_t groups);
  /// Multiplies with scales, which it first copies to tensor memory.
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

/// Whether threads write the acquired slot, which is in tensor memory.
bool isWrittenByThreads(sm::AcquireOp acquire);

/// Whether the matrix unit itself frees the slots of the channel, because products accumulate in
/// tensor memory.
bool isReadByTensorProducts(Value channel);

} // namespace tilewright::nvptx

#endif // TILEWRIGHT_TARGET_NVPTX_LOWER_MATRIX_TCGEN05_H
