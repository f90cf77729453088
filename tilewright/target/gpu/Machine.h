// Machine: a GPU as the code of its threads sees it.
#ifndef TILEWRIGHT_TARGET_GPU_MACHINE_H
#define TILEWRIGHT_TARGET_GPU_MACHINE_H

#include "mlir/IR/Value.h"
#include "llvm/ADT/SmallVector.h"

#include <cstdint>
#include <string_view>

namespace tilewright::gpu {

class ThreadBuilder;

/// How integers in memory are combined by an atomic instruction.
enum class Combination {
  add,
  bitAnd,
  bitOr,
  bitXor,
  minSigned,
  maxSigned,
  minUnsigned,
  maxUnsigned
};

/// A chip's limits, and the instructions that each vendor has in its own form. Everything else that
/// a kernel consists of is the same for all vendors.
class Machine {
public:
  struct Limits {
    std::string_view chip; // its name
    int64_t warpSize;
    int64_t threadsPerBlock;
    int64_t sharedBytes;            // of a block
    int64_t sharedBanks;            // of 4 bytes
    int64_t gridX, gridYZ;          // blocks of a launch along x, and along y and z
    unsigned variableSpace;         // the address space of a thread's variables
    int64_t transposedBytes = 0;    // of a lane, if 16 lanes read shared memory transposed
    bool hasMaximumOfThree = false; // in one instruction
    bool prefersWideReads = false;  // of shared memory, to more of them without more conflicts
    /// Loads from memory add an unsigned offset of 32 bits to a base that all lanes have, and a
    /// constant below this; 0 if addresses are of 64 bits.
    int64_t offsetConstants = 0;
  };
  const Limits limits;

  explicit Machine(const Limits &limits) : limits(limits) {}
  virtual ~Machine();

  using Value = mlir::Value;
  using Type = mlir::Type;

  // --- Threads ---
  /// The thread's number in its block, and the block's along a dimension (i32).
  virtual Value threadId(ThreadBuilder &b) const = 0;
  virtual Value blockId(ThreadBuilder &b, unsigned dim) const = 0;
  /// The block's number in its cluster (i32).
  virtual Value clusterRank(ThreadBuilder &b) const = 0;
  /// Waits for all threads of the block; writes to shared memory before it are visible after it.
  virtual void barrier(ThreadBuilder &b) const = 0;
  /// The same for the `threads` threads of one role, which have the barrier `number`, at least 1.
  virtual void roleBarrier(ThreadBuilder &b, int64_t number, int64_t threads) const = 0;
  /// Orders accesses of a warp's lanes to shared memory.
  virtual void warpBarrier(ThreadBuilder &b) const = 0;
  /// The same value, which all lanes of a warp have: code for it may then use scalar registers.
  virtual Value uniform(ThreadBuilder &b, Value value) const;

  // --- Lanes of a warp ---
  /// The value (i32) of the lane `own ^ mask`, or of the lane `from`.
  virtual Value shuffleXor(ThreadBuilder &b, Value word, int64_t mask) const = 0;
  virtual Value shuffleFrom(ThreadBuilder &b, Value word, Value from) const = 0;
  /// The lanes for which a condition holds, as an integer with a bit for each.
  virtual Value ballot(ThreadBuilder &b, Value condition) const = 0;
  /// The lanes with the same key (i32), of which only the lowest `bits` bits differ.
  virtual Value lanesWithKey(ThreadBuilder &b, Value key, int64_t bits) const = 0;
  /// Whether the bit of `lane` (i32) is set in `lanes`.
  virtual Value isAmong(ThreadBuilder &b, uint64_t lanes, Value lane) const = 0;

  // --- Memory ---
  /// Loads `parts` values of `type` if `isOn` holds; else reads nothing and returns `outside` (one
  /// value for each part).
  virtual llvm::SmallVector<Value> loadIf(ThreadBuilder &b, Type type, unsigned parts,
                                          Value address, Value isOn,
                                          llvm::ArrayRef<Value> outside) const = 0;
  /// Stores values of the same type if `isOn` holds.
  virtual void storeIf(ThreadBuilder &b, llvm::ArrayRef<Value> parts, Value address,
                       Value isOn) const = 0;
  /// Reads `transposedBytes` of values of `type` from shared memory, transposed among 16 lanes.
  virtual llvm::SmallVector<Value> loadTransposed(ThreadBuilder &b, Type type, Value address) const;

  // --- Relaxed atomic accesses to global memory, at the scope of the device ---
  /// `address` is an i64, to which `offset` bytes are added.
  virtual Value loadRelaxed(ThreadBuilder &b, Type type, Value address, int64_t offset) const = 0;
  virtual void storeRelaxedIf(ThreadBuilder &b, Value isOn, Value value, Value address,
                              int64_t offset) const = 0;
  /// Adds to a word of 32 bits and returns its old value.
  virtual Value fetchAdd(ThreadBuilder &b, Value address, int64_t offset, int64_t add) const = 0;
  /// Combines an integer with the one at a pointer, if `isOn` holds.
  virtual void combineIf(ThreadBuilder &b, Value isOn, Combination combination, Value value,
                         Value pointer) const = 0;
};

} // namespace tilewright::gpu

#endif // TILEWRIGHT_TARGET_GPU_MACHINE_H
