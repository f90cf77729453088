#include "tilewright/transform/tile/attention/AttentionForm.h"

#include "tilewright/transform/tile/attention/AttentionBuilder.h"

#include <algorithm>

using namespace mlir;

namespace tilewright::tile {

SmallVector<AttentionForm> formsOfWarpgroups(exec::SoftmaxDotOp op, const Capacities &capacities) {
  auto elementOf = [&](unsigned operand) {
    return typeOf(op.getOperand(operand)).getElementType();
  };
  const ArrayRef<int64_t> sizes = op.getSizes().take_back(4);
  const Type first = elementOf(0), second = elementOf(2);
  const bool hasTypes = (first.isF16() || first.isBF16()) && elementOf(1) == first &&
                        (second.isF16() || second.isBF16()) && op.getWeightType() == second;
  constexpr int64_t maxDepth = 256, maxKeys = 256, step = 16;
  SmallVector<AttentionForm> forms;
  if (!capacities.machine || capacities.machine->matrixUnit == pipeline::MatrixUnit::mma ||
      !hasTypes || sizes[2] > maxDepth)
    return forms;
  const bool isInTensorMemory = capacities.machine->matrixUnit == pipeline::MatrixUnit::tcgen05;
  const int64_t maxGroups = isInTensorMemory ? 2 : 3, rows = isInTensorMemory ? 128 : 64;
  for (int64_t groups = 1; groups <= maxGroups; ++groups)
    for (int64_t keys = step; keys <= maxKeys; keys += step)
      // One block of queries and one of keys need not be larger than all.
      if (rows * (groups - 1) < sizes[0] && keys - step < roundUp(sizes[1]))
        forms.push_back({.warpgroups = groups,
                         .rows = rows,
                         .isInTensorMemory = isInTensorMemory,
                         .keys = keys,
                         .adjacent = 2,
                         .keepsMaximum = isInTensorMemory});
  return forms;
}

AttentionForm formOfWarps(exec::SoftmaxDotOp op, const Capacities &capacities) {
  if (capacities.lanes != waveLanes)
    return {.rowsOfWarp = matrixRows};
  AttentionForm form{
      .rowsOfWarp = matrixRows, .adjacent = 4, .loadsAhead = true, .keepsMaximum = true};
  // Fewer, larger blocks only if all compute units get one, and eight waves only if each finds
  // place in half of the registers.
  const ArrayRef<int64_t> sizes = op.getSizes();
  const auto queries = uint64_t(sizes[sizes.size() - 4]);
  for (auto [rows, warps] : {std::pair(2 * matrixRows, int64_t(4)), {2 * matrixRows, 8}}) {
    const auto block = uint64_t(rows * warps);
    auto points = int64_t(llvm::divideCeil(queries, block));
    for (int64_t size : sizes.drop_back(4))
      points *= size;
    const bool fits = warps == 4 || std::max(sizes.back(), sizes[sizes.size() - 2]) <= 128;
    if (fits && 2 * queries > block && points >= capacities.cores) {
      form.rowsOfWarp = rows;
      form.maxWarps = warps;
    }
  }
  return form;
}

} // namespace tilewright::tile
