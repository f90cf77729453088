// BlockProduct: products of blocks that are packed into panels, with memory of one thread.
#ifndef TILEWRIGHT_RUNTIME_CPU_ATTENTION_BLOCKPRODUCT_H
#define TILEWRIGHT_RUNTIME_CPU_ATTENTION_BLOCKPRODUCT_H

#include "tilewright/runtime/cpu/matmul/Load.h"

#include <initializer_list>
#include <vector>

namespace tilewright::runtime::cpu {

inline int64_t roundUp(int64_t value, int64_t to) { return (value + to - 1) / to * to; }
inline int64_t bytesOf(ElementType type) {
  return static_cast<int64_t>(numerics::storageBytes(type));
}

/// One thread's memory for the parts of a block, each aligned to cache lines.
class BlockMemory {
public:
  explicit BlockMemory(std::initializer_list<int64_t> sizes) {
    for (int64_t size : sizes) {
      offsets.push_back(total);
      total += roundUp(size, 64);
    }
    start = PanelScratch::ofThread().get(PanelScratch::partial, total);
  }
  std::byte *operator[](size_t part) const { return start + offsets[part]; }
  float *floats(size_t part) const { return reinterpret_cast<float *>(start + offsets[part]); }

private:
  std::vector<int64_t> offsets;
  int64_t total = 0;
  std::byte *start = nullptr;
};

/// The product of blocks of two types, summed in f32 by the kernel for large products. The lines of
/// the left operand are rows of the product, those of the right one its columns.
class BlockProduct {
public:
  BlockProduct(const CpuFeatures &features, ElementType lhs, ElementType rhs);

  const PanelKernel &kernel() const { return *panels; }

  /// The size of the panels of a block. Panels are complete: packing fills missing lines with
  /// zeros.
  int64_t lhsBytes(int64_t lines, int64_t summed) const;
  int64_t rhsBytes(int64_t lines, int64_t summed) const;

  /// Packs rows [line, line + lines) of an operand, at positions [from, from + count) of the
  /// dimension that is summed over.
  void packLhs(std::byte *packed, const OperandView &view, int64_t line, int64_t lines,
               int64_t from, int64_t count) const;
  void packRhs(std::byte *packed, const OperandView &view, int64_t line, int64_t lines,
               int64_t from, int64_t count) const;

  /// sums[rows][columns] = or += the product of packed panels.
  void multiply(const std::byte *lhs, const std::byte *rhs, int64_t rows, int64_t columns,
                int64_t summed, float *sums, int64_t stride, bool add) const;

private:
  const PanelKernel *panels;
  Conversion lhsToPanel, rhsToPanel;
};

} // namespace tilewright::runtime::cpu

#endif // TILEWRIGHT_RUNTIME_CPU_ATTENTION_BLOCKPRODUCT_H
