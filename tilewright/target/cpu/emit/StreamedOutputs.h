// Decides which outputs of kernels bypass the caches by non-temporal stores.
#ifndef TILEWRIGHT_TARGET_CPU_EMIT_STREAMEDOUTPUTS_H
#define TILEWRIGHT_TARGET_CPU_EMIT_STREAMEDOUTPUTS_H

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/StringMap.h"

namespace tilewright::cpu {

/// For each kernel that a plan launches: the numbers of the outputs that are so large in every
/// launch that their lines leave the caches before they are read. A non-temporal store then avoids
/// reading each line before writing it, which is a third of the traffic of a copy. Outputs in the
/// memory of an input are not included, because their lines are in the cache already.
llvm::StringMap<llvm::SmallDenseSet<unsigned>> streamedOutputs(mlir::ModuleOp module);

} // namespace tilewright::cpu

#endif // TILEWRIGHT_TARGET_CPU_EMIT_STREAMEDOUTPUTS_H
