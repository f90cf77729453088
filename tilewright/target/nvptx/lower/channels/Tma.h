// Bulk tensor copies by the copy engine (TMA).
#ifndef TILEWRIGHT_TARGET_NVPTX_LOWER_CHANNELS_TMA_H
#define TILEWRIGHT_TARGET_NVPTX_LOWER_CHANNELS_TMA_H

#include "tilewright/target/nvptx/GenerateCode.h"
#include "tilewright/target/nvptx/lower/OpGroup.h"
#include "llvm/ADT/DenseMap.h"

#include <optional>

namespace tilewright::nvptx {

/// Plans the copies of a kernel in both directions, and emits those to shared memory.
class TmaLowering : public OpGroup {
public:
  explicit TmaLowering(KernelLowering &all) : OpGroup(all) {}

  /// Finds the boxes of all copies and the tensor maps, which are parameters of the kernel.
  void plan();
  void copy(sm::CopyOp copy);
  llvm::ArrayRef<TensorMapInfo> maps() const { return tensorMaps; }

  /// A copy as TMA boxes: `boxes` boxes of `line` elements by `boxRows` rows.
  struct CopyPlan {
    size_t map = 0;
    int64_t boxes = 1, boxBytes = 0, boxRows = 0, line = 0, lineBytes = 128;
    size_t outer = 1; // coordinate of the rows, counted from the contiguous dimension
    /// Distance in memory, in elements, between the parts of adjacent CTAs of the cluster; 0 if all
    /// CTAs copy the same part.
    int64_t innerPerCta = 0, outerPerCta = 0;
    bool isMulticast = false;
  };
  /// A CTA's part of a buffer of swizzled lines of 128 (or 64) bytes.
  struct Lines {
    int64_t rows = 0, columns = 0, line = 0; // in elements
    int64_t stride = 0;                      // in bytes, between adjacent lines along the columns
    int64_t innerPerCta = 0, outerPerCta = 0;
  };
  /// `inner` is the dimension along the lines.
  std::optional<Lines> linesOf(sm::BufferType buffer, size_t inner);
  Value tensorMapOf(const CopyPlan &plan);

private:
  std::optional<CopyPlan> planCopy(sm::CopyOp copy);

  std::vector<TensorMapInfo> tensorMaps;
  llvm::DenseMap<mlir::Operation *, CopyPlan> copyPlans;
};

} // namespace tilewright::nvptx

#endif // TILEWRIGHT_TARGET_NVPTX_LOWER_CHANNELS_TMA_H
