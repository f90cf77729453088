// Partial: a partial result of a reduction or a scan.
#ifndef TILEWRIGHT_TARGET_GPU_THREAD_PARTIAL_H
#define TILEWRIGHT_TARGET_GPU_THREAD_PARTIAL_H

#include "tilewright/target/gpu/thread/ThreadBuilder.h"

#include "mlir/IR/Block.h"

namespace tilewright::gpu {

/// A partial result, and whether it includes at least one element; null `valid` means yes.
struct Partial {
  llvm::SmallVector<Lanes, 2> values;
  Value valid = nullptr;
};

/// Combines two partial results; if one is invalid, the other is the result.
Partial combine(ThreadBuilder &b, mlir::Block &combiner, const Partial &first,
                const Partial &second);

/// Applies `exchange`, a shuffle, to all values of a partial.
Partial shuffled(const Partial &partial, llvm::function_ref<Lanes(Lanes)> exchange);

} // namespace tilewright::gpu

#endif // TILEWRIGHT_TARGET_GPU_THREAD_PARTIAL_H
