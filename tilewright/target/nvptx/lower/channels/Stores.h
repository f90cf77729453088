// Stores results through shared memory: stmatrix, then the copy engine.
#ifndef TILEWRIGHT_TARGET_NVPTX_LOWER_CHANNELS_STORES_H
#define TILEWRIGHT_TARGET_NVPTX_LOWER_CHANNELS_STORES_H

#include "tilewright/target/nvptx/lower/OpGroup.h"
#include "tilewright/target/nvptx/lower/channels/Tma.h"

namespace tilewright::nvptx {

/// Stages a tile in lines of shared memory, which the copy engine stores.
class StoresLowering : public OpGroup {
public:
  explicit StoresLowering(KernelLowering &all) : OpGroup(all) {}

  /// Writes the tile to shared memory.
  void stage(sm::CopyOp copy);
  void store(sm::CopyOp copy, const TmaLowering::CopyPlan &plan);
  /// Makes the threads' writes visible to the copy engine.
  void publish();
  /// Ends a group of stores.
  void commit() { byFirstThread("cp.async.bulk.commit_group", "", {}); }
  /// Waits until at most `left` bulk stores still read shared memory.
  void waitForStores(int64_t left);

private:
  /// Emits one instruction that only the first thread of the role executes.
  void byFirstThread(const llvm::Twine &instruction, const llvm::Twine &constraints,
                     llvm::ArrayRef<Value> operands);
};

} // namespace tilewright::nvptx

#endif // TILEWRIGHT_TARGET_NVPTX_LOWER_CHANNELS_STORES_H
