// Partial: a partial result of a reduction or a scan.
#ifndef TILEWRIGHT_TARGET_NVPTX_EMIT_PARTIAL_H
#define TILEWRIGHT_TARGET_NVPTX_EMIT_PARTIAL_H

#include "tilewright/target/lanes/Lanes.h"

#include "mlir/IR/Block.h"

namespace tilewright::nvptx {

/// A partial result, and whether it includes at least one element; null `valid` means yes.
struct Partial {
  llvm::SmallVector<lanes::Lanes, 2> values;
  llvm::Value *valid = nullptr;
};

/// Combines two partial results; if one is invalid, the other is the result.
Partial combine(lanes::LaneBuilder &b, mlir::Block &combiner, const Partial &first,
                const Partial &second);

/// Applies `exchange`, a shuffle, to all values of a partial.
Partial shuffled(const Partial &partial, llvm::function_ref<lanes::Lanes(lanes::Lanes)> exchange);

} // namespace tilewright::nvptx

#endif // TILEWRIGHT_TARGET_NVPTX_EMIT_PARTIAL_H
