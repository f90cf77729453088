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

  /// A copy as TMA boxes: `boxes` boxes of `line` elements by `boxRows` rows, which may go through
  /// several dimensions of memory.
  struct CopyPlan {
    size_t map = 0;
    int64_t boxes = 1, boxBytes = 0, boxRows = 0, line = 0, lineBytes = 128;
    /// The dimension of memory of each coordinate. The first is the contiguous one.
    llvm::SmallVector<size_t> order;
    size_t outer = 1; // the coordinate that differs between the CTAs' parts of the rows
    /// Distance along that coordinate between the boxes of adjacent CTAs of a multicast copy.
    int64_t multicastStep = 0;
    /// Distance in memory, in elements, between the parts of adjacent CTAs of the cluster; 0 if all
    /// CTAs copy the same part.
    int64_t innerPerCta = 0, outerPerCta = 0;
    bool isMulticast = false;
  };
  /// A CTA's part of a buffer of swizzled lines of 128 (or 64) bytes, or of plain lines of
  /// bytes.
  struct Lines {
    bool isSwizzled = true;
    int64_t rows = 0, columns = 0, line = 0; // in elements
    int64_t stride = 0;                      // in bytes, between adjacent lines along the columns
    int64_t innerPerCta = 0, outerPerCta = 0;
  };
  /// `inner` is the dimension along the lines.
  std::optional<Lines> linesOf(sm::BufferType buffer, size_t inner);
  Value tensorMapOf(const CopyPlan &plan);
  /// The coordinates of a copy at these offsets in memory, for the CTA's own part.
  llvm::SmallVector<Value> coordinates(const CopyPlan &plan, mlir::ValueRange offsets);

private:
  std::optional<CopyPlan> planCopy(sm::CopyOp copy);
  bool planRows(sm::CopyOp copy, const Lines &lines, CopyPlan &plan,
                llvm::SmallVectorImpl<sm::CopyOp::RowDim> &rows);

  std::vector<TensorMapInfo> tensorMaps;
  llvm::DenseMap<mlir::Operation *, CopyPlan> copyPlans;
};

} // namespace tilewright::nvptx

#endif // TILEWRIGHT_TARGET_NVPTX_LOWER_CHANNELS_TMA_H
