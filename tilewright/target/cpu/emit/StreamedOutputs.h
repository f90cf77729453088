// Which outputs of kernels are written past the caches, by non-temporal stores.
#ifndef TILEWRIGHT_TARGET_CPU_EMIT_STREAMEDOUTPUTS_H
#define TILEWRIGHT_TARGET_CPU_EMIT_STREAMEDOUTPUTS_H

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/StringMap.h"

namespace tilewright::cpu {

/// For each kernel that a plan launches: the numbers of the outputs that are so large in every
/// launch that their lines would leave the caches before anything reads them. A non-temporal store
/// then saves reading each line before it is written, a third of the traffic of a copy. An output
/// in the memory of an input is not listed: its lines are in the cache already.
llvm::StringMap<llvm::SmallDenseSet<unsigned>> streamedOutputs(mlir::ModuleOp module);

} // namespace tilewright::cpu

#endif // TILEWRIGHT_TARGET_CPU_EMIT_STREAMEDOUTPUTS_H
