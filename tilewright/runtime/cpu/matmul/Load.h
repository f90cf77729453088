// Load: loads elements from memory for packing, and stores sums.
#ifndef TILEWRIGHT_RUNTIME_CPU_MATMUL_LOAD_H
#define TILEWRIGHT_RUNTIME_CPU_MATMUL_LOAD_H

#include "tilewright/runtime/cpu/matmul/Matmul.h"

#include <cstddef>

namespace tilewright::runtime::cpu {

/// Scratch memory of a thread, reused from product to product because fresh pages cost more than
/// packing into them. Large blocks are freed.
class PanelScratch {
public:
  /// Each use has its own block, so that a block stays valid while others are requested.
  enum Use {
    lhsPanels,
    rhsPanels,
    lhsBlock,
    rhsBlock,
    sumsTile,
    turnedTile,
    raw,
    converted,
    vector,
    partial,
    useCount
  };

  /// Returns at least `bytes` bytes, 64-byte aligned and uninitialised.
  std::byte *get(Use use, int64_t bytes);
  /// Frees large blocks; called at the end of a product.
  void trim();

  static PanelScratch &ofThread();

  PanelScratch() = default;
  PanelScratch(const PanelScratch &) = delete;
  PanelScratch &operator=(const PanelScratch &) = delete;
  ~PanelScratch();

private:
  std::byte *pieces[useCount] = {};
  int64_t sizes[useCount] = {};
};

/// One operand of one product.
struct OperandView {
  const std::byte *data = nullptr;
  ElementType type = ElementType::f32;
  const Placement *lines = nullptr, *summed = nullptr;
  const Prologue *prologue = nullptr; // may be null
  int64_t firstLine = 0;              // this product's first line in the batch, for the prologue
};

/// A part of an operand, ready to be packed.
struct LoadedBlock {
  const std::byte *data;
  int64_t lineStride, summedStride;
};

/// The elements [line, line + lines) x [k, k + count) in the target type of `conversion`. Points
/// into the operand itself if no conversion or gather is needed, otherwise into the thread's
/// scratch memory.
LoadedBlock loadBlock(const OperandView &view, const Conversion &conversion, int64_t line,
                      int64_t lines, int64_t k, int64_t count);

/// Writes sums[rows][columns] to the result.
void storeSums(const Conversion &conversion, const std::byte *sums, int64_t stride, int64_t row,
               int64_t rows, int64_t column, int64_t columns, std::byte *result,
               const Placement &resultRows, const Placement &resultColumns);

} // namespace tilewright::runtime::cpu

#endif // TILEWRIGHT_RUNTIME_CPU_MATMUL_LOAD_H
