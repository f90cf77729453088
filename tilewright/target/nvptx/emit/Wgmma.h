// What wgmma takes: types, depths, and how a descriptor walks through an operand.
#ifndef TILEWRIGHT_TARGET_NVPTX_EMIT_WGMMA_H
#define TILEWRIGHT_TARGET_NVPTX_EMIT_WGMMA_H

#include "tilewright/dialect/sm/SmDialect.h"

#include <optional>

namespace tilewright::nvptx::wgmma {

/// How a descriptor walks through an operand, in units of 16 bytes where it is a distance.
struct OperandWalk {
  bool kInner = true;
  int64_t lead = 0;  // between lines that go on along M or N, where those are contiguous
  int64_t step = 0;  // from one instruction's K to the next
  int64_t block = 0; // from 64 rows to the next
};

/// Reads the walk from a buffer's layout. `own` is its dimension of M or N.
std::optional<OperandWalk> walkOf(sm::BufferType buffer, size_t own);

/// The instruction's names for a product of these elements.
struct Kind {
  const char *types; // "f32.f16.f16"
  int64_t depth;     // of one instruction
  bool hasOrder;     // takes operands contiguous along M or N
  bool hasSigns;     // takes factors of -1
};
std::optional<Kind> kindOf(mlir::Type element, mlir::Type sum);

} // namespace tilewright::nvptx::wgmma

#endif // TILEWRIGHT_TARGET_NVPTX_EMIT_WGMMA_H
