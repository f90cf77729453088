// AmdMachine: AMD's instructions for what every GPU has.
#ifndef TILEWRIGHT_TARGET_AMDGCN_LOWER_AMDMACHINE_H
#define TILEWRIGHT_TARGET_AMDGCN_LOWER_AMDMACHINE_H

#include "tilewright/target/amdgcn/Chip.h"
#include "tilewright/target/gpu/Machine.h"

namespace tilewright::amdgcn {

// This target's classes are written in terms of the code of threads.
using gpu::ThreadBuilder;
using mlir::Type;
using mlir::Value;

/// Waves have 64 lanes, which run in lockstep. An instruction has no predicate, so an access that
/// only some threads make is in a block of its own.
class AmdMachine : public gpu::Machine {
public:
  explicit AmdMachine(const Chip &chip);

  Value threadId(ThreadBuilder &b) const override;
  Value blockId(ThreadBuilder &b, unsigned dim) const override;
  Value clusterRank(ThreadBuilder &b) const override;
  void barrier(ThreadBuilder &b) const override;
  void roleBarrier(ThreadBuilder &b, int64_t number, int64_t threads) const override;
  void warpBarrier(ThreadBuilder &b) const override;
  Value uniform(ThreadBuilder &b, Value value) const override;
  Value shuffleXor(ThreadBuilder &b, Value word, int64_t mask) const override;
  Value shuffleFrom(ThreadBuilder &b, Value word, Value from) const override;
  Value ballot(ThreadBuilder &b, Value condition) const override;
  Value lanesWithKey(ThreadBuilder &b, Value key, int64_t bits) const override;
  Value isAmong(ThreadBuilder &b, uint64_t lanes, Value lane) const override;
  llvm::SmallVector<Value> loadIf(ThreadBuilder &b, Type type, unsigned parts, Value address,
                                  Value isOn, llvm::ArrayRef<Value> outside) const override;
  void storeIf(ThreadBuilder &b, llvm::ArrayRef<Value> parts, Value address,
               Value isOn) const override;
  llvm::SmallVector<Value> loadTransposed(ThreadBuilder &b, Type type,
                                          Value address) const override;
  Value loadRelaxed(ThreadBuilder &b, Type type, Value address, int64_t offset) const override;
  void storeRelaxedIf(ThreadBuilder &b, Value isOn, Value value, Value address,
                      int64_t offset) const override;
  Value fetchAdd(ThreadBuilder &b, Value address, int64_t offset, int64_t add) const override;
  void combineIf(ThreadBuilder &b, Value isOn, gpu::Combination combination, Value value,
                 Value pointer) const override;
};

} // namespace tilewright::amdgcn

#endif // TILEWRIGHT_TARGET_AMDGCN_LOWER_AMDMACHINE_H
