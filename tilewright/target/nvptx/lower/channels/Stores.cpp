// Stores a result through shared memory: stmatrix writes 8x8 matrices from registers to lines of
// shared memory, and the copy engine stores these.
#include "tilewright/target/nvptx/lower/KernelLowering.h"

#include "tilewright/support/Concat.h"

using namespace llvm;

namespace tilewright::nvptx {

using sm::Axis;

/// Whether the layout consists of 8x8 matrices as stmatrix requires: eight rows of four lanes, with
/// two columns per lane.
static bool isMatrices(const sm::Layout &layout) {
  if (layout.rank() != 2 || !layout.getCopies().empty() || !layout.getFlips().empty())
    return false;
  const sm::Layout::Digits &rows = layout.getDims()[0], &columns = layout.getDims()[1];
  return !rows.empty() && rows.back() == sm::Digit{8, Axis::lane, 4} && columns.size() >= 2 &&
         columns[columns.size() - 2] == sm::Digit{4, Axis::lane, 1} &&
         columns.back() == sm::Digit{2, Axis::reg, 1};
}

void StoresLowering::stage(sm::CopyOp copy) {
  auto type = dyn_cast<mlir::RankedTensorType>(copy.getSource().getType());
  auto buffer =
      copy.getTarget() ? dyn_cast<sm::BufferType>(copy.getTarget().getType()) : sm::BufferType();
  if (!type || !buffer || !copy.getTargetOffsets().empty() || type.getElementTypeBitWidth() != 16 ||
      all.chip.matrix == MatrixUnit::mma)
    return kernel.refuse(copy,
                         concat("must be a stmatrix copy of a tile of 16-bit elements to a buffer, "
                                "on a chip with stmatrix, got ",
                                all.chip.name));
  if (kernel.buffers[copy.getTarget()].barrier)
    return kernel.refuse(copy, "fills a slot for another role, which only tma copies can do");
  const ThreadLayout &threads = kernel.threadsOf(type);
  std::optional<TmaLowering::Lines> lines = all.tma.linesOf(buffer, /*inner=*/1);
  const sm::Layout &layout = threads.layout;
  const int64_t columns = layout.cover(1) / clusterDigit(layout, 1);
  if (!isMatrices(layout) || !lines || lines->line != 64 || lines->columns != columns ||
      lines->rows != layout.cover(0) / clusterDigit(layout, 0))
    return kernel.refuse(copy, concat("stores ", layout.str(), " to ",
                                      buffer.getLayout().getValue().str(),
                                      ", but stmatrix needs 8x8 matrices and lines of 128 bytes"));
  // Matrices by the position of their first element in lane 0 of warp 0.
  std::map<std::pair<int64_t, int64_t>, Value> matrices;
  for (unsigned reg = 0; reg + 1 < threads.registers(); reg += 2)
    matrices[{threads.constant(0, reg), threads.constant(1, reg)}] =
        all.mmaSync
            .packFragment(kernel.tiles[copy.getSource()], {reg, reg + 1}, copy.getSource(), false)
            .front();

  // Lanes 0 to 7 provide the row addresses of the first matrix, lanes 8 to 15 those of the matrix
  // below, lanes 16 to 31 those of the two to the right. The first row of a warp is a multiple of
  // 8, so the lane alone determines the swizzle.
  struct Lane {
    Value row, chunk;
  };
  Lane lane;
  lane.row = kernel.once([&]() -> Value {
    Value row = b.bitAnd(kernel.thread, b.i32(15));
    for (const sm::IndexTerm &term : threads.digits(0, Axis::warp))
      row = b.add(row, b.mul(kernel.digitOf(term), b.i32(term.weight)));
    return b.mul(row, b.i32(128));
  });
  lane.chunk = kernel.once([&]() -> Value {
    Value right = b.bitAnd(b.lshr(kernel.thread, b.i32(4)), b.i32(1));
    return b.shl(b.bitXor(right, b.bitAnd(kernel.thread, b.i32(7))), b.i32(4));
  });
  for (const sm::IndexTerm &term : threads.digits(1, Axis::warp))
    if (term.size > 1)
      return kernel.refuse(
          copy, concat("stores ", layout.str(),
                       ", whose columns are distributed over warps, which is not supported"));
  Value base = b.add(kernel.buffers[copy.getTarget()].address, lane.row);
  for (const auto &[position, first] : matrices) {
    auto [row, column] = position;
    if (row % 16 != 0 || column % 16 != 0)
      continue;
    auto below = matrices.find({row + 8, column}), right = matrices.find({row, column + 8}),
         last = matrices.find({row + 8, column + 8});
    if (below == matrices.end() || right == matrices.end() || last == matrices.end())
      return kernel.refuse(
          copy, concat("stores ", layout.str(), ", which does not consist of 16x16 blocks"));
    Value chunk = b.bitXor(lane.chunk, b.i32(column % 64 / 8 * 16));
    Value address = b.add(b.add(base, chunk), b.i32(column / 64 * lines->stride + row * 128));
    b.make<NVVM::StMatrixOp>(
        b.sharedPointer(address),
        mlir::ValueRange{first, below->second, right->second, last->second}, NVVM::MMALayout::row,
        NVVM::LdStMatrixShapeAttr::get(b.op.getContext(), 8, 8), NVVM::LdStMatrixEltType::B16);
  }
}

void StoresLowering::byFirstThread(const Twine &instruction, const Twine &constraints,
                                   ArrayRef<Value> operands) {
  // Use a predicate instead of a branch, so that all threads of the warp stay converged.
  Value isFirst = b.zext(b.equal(kernel.thread, b.i32(0)), b.i32Type);
  SmallVector<Value> all(operands);
  all.push_back(isFirst);
  b.assembly({},
             "{\n.reg .pred first;\nsetp.ne.b32 first, $" + Twine(operands.size()) +
                 ", 0;\n@first " + instruction + ";\n}",
             constraints + (operands.empty() ? "r,~{memory}" : ",r,~{memory}"), all);
}

void StoresLowering::store(sm::CopyOp copy, const TmaLowering::CopyPlan &plan) {
  SmallVector<Value> at = all.tma.coordinates(plan, copy.getTargetOffsets());
  std::string coordinates, constraints = "l";
  for (size_t i = 0; i < at.size(); ++i) {
    coordinates += concat(i ? ", $" : "$", 1 + i);
    constraints += ",r";
  }
  Value address = kernel.buffers[copy.getSource()].address;
  for (int64_t box = 0; box < plan.boxes; ++box) {
    SmallVector<Value> operands{all.tma.tensorMapOf(plan)};
    append_range(operands, at);
    if (box)
      operands[1] = b.add(at[0], b.i32(box * plan.line));
    operands.push_back(b.add(address, b.i32(box * plan.boxBytes)));
    byFirstThread(concat("cp.async.bulk.tensor.", at.size(),
                         "d.global.shared::cta.bulk_group [$0, {", coordinates, "}], [$",
                         1 + at.size(), "]"),
                  constraints + ",r", operands);
  }
}

// --- Channels that a role fills and drains itself ---

void StoresLowering::waitForStores(int64_t left) {
  byFirstThread(concat("cp.async.bulk.wait_group.read ", left), "", {});
}

void StoresLowering::publish() {
  // Make the threads' writes visible to the copy engine (async proxy).
  fenceAsyncProxy(b);
  kernel.barrier();
}

} // namespace tilewright::nvptx
