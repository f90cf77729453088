// Kernels over whole rows: sorts, scans and sums of segments. One row may need several kernels, so
// they are built directly and not from a FusionGraph.
#ifndef TILEWRIGHT_TRANSFORM_TILE_ROWKERNELS_H
#define TILEWRIGHT_TRANSFORM_TILE_ROWKERNELS_H

#include "tilewright/dialect/exec/ExecDialect.h"
#include "tilewright/dialect/stablehlo/ops/IndexingOps.h"
#include "tilewright/dialect/stablehlo/ops/ReductionOps.h"
#include "tilewright/dialect/tile/TileDialect.h"
#include "tilewright/transform/tile/Tiling.h"

#include "mlir/IR/Builders.h"

#include <array>
#include <optional>
#include <string>

namespace tilewright::tile {

/// A tensor as rows: `length` elements along the dimension of interest, `before` and `after` are
/// the products of the sizes before and after it.
struct Rows {
  int64_t before = 1, length = 1, after = 1;

  Rows() = default;
  Rows(llvm::ArrayRef<int64_t> shape, int64_t dim);
  /// The shape of memory with other rows of length `along`; without the last dimension if it is 1.
  llvm::SmallVector<int64_t> shape(int64_t along) const;
};

/// A tensor that a row kernel reads or writes: its element type, as in StableHLO, and the length of
/// its rows.
struct RowTensor {
  mlir::Type element;
  int64_t length;
  int64_t after = -1; // rows after, if not as many as the kernel has
};

/// How many of `size` rows a tile takes: a power of two, or all of them, within `budget`, but at
/// least `least`. The budget is then what each of these rows may use.
int64_t takeRows(int64_t &budget, int64_t size, int64_t least);

/// One kernel under construction. A point of its grid handles a tile of rows and one chunk of them.
class RowKernel {
public:
  /// `tile` is the number of rows before, elements of a row and rows after that a point holds.
  RowKernel(mlir::MLIRContext *context, mlir::Location loc, llvm::StringRef name, const Rows &rows,
            std::array<int64_t, 3> tile, int64_t chunks, llvm::ArrayRef<RowTensor> inputs,
            llvm::ArrayRef<RowTensor> outputs);

  KernelOp kernel;
  mlir::OpBuilder builder; // in the kernel's body
  mlir::Location loc;
  mlir::Value chunk; // the point's coordinate along the row

  /// The point's coordinate among the rows after; null if there is only one row.
  mlir::Value columns;
  /// Lets an output use the memory of an input.
  void update(int64_t output, int64_t input);

  /// Adds memory of any type as the last input and also as the last output, for updates in place.
  void addState(mlir::MemRefType type);

  mlir::Value input(size_t number) { return kernel.getInputs()[number]; }
  mlir::Value output(size_t number) { return kernel.getOutputs()[number]; }
  mlir::Value index(int64_t value);
  /// The value of an affine expression of d0, which is `operand`.
  mlir::Value apply(mlir::AffineExpr expr, mlir::Value operand);
  mlir::AffineExpr d0() { return builder.getAffineDimExpr(0); }

  /// The shape of a tile with `along` elements of a row.
  llvm::SmallVector<int64_t> shape(int64_t along) const;
  mlir::RankedTensorType type(int64_t along, mlir::Type element) const {
    return mlir::RankedTensorType::get(shape(along), element);
  }
  /// Loads and stores tiles at offset `at` of their rows. `isInside`: all these elements of the row
  /// exist.
  mlir::Value load(mlir::Value memory, mlir::Value at, int64_t along, bool isInside);
  void store(mlir::Value tile, mlir::Value memory, mlir::Value at, bool isInside);
  /// Reads the elements at the given indices of the row.
  mlir::Value gather(mlir::Value memory, mlir::Value indices);
  /// `offset` plus the index along the row.
  mlir::Value iota(mlir::Type element, mlir::Value offset, int64_t along);
  /// One element of the memory's rows, as a scalar; the tile has one row.
  mlir::Value loadScalar(mlir::Value memory, mlir::Value at);
  /// The element of a tile of one row, as a scalar.
  mlir::Value extract(mlir::Value tile, int64_t position);

  using Body =
      llvm::function_ref<llvm::SmallVector<mlir::Value>(mlir::OpBuilder &, mlir::ValueRange)>;
  /// Computes tiles of the given element types from tiles of the same shape.
  llvm::SmallVector<mlir::Value> map(mlir::ValueRange tiles, llvm::ArrayRef<mlir::Type> elements,
                                     Body body);

private:
  llvm::SmallVector<mlir::Value> offsets(mlir::Value at);
  llvm::SmallVector<bool> inBounds(bool isInside) const;

  const Rows rows;
  const std::array<int64_t, 3> tile;
  llvm::SmallVector<mlir::Value> firstRow; // before and after
};

/// Makes a launch of a kernel and returns its results.
using MakeLaunch = llvm::function_ref<mlir::ValueRange(KernelOp kernel, mlir::ValueRange operands,
                                                       mlir::TypeRange results)>;

/// Whether the fusion contains a sort, a scan or a scatter of sorted rows.
bool hasRowOp(exec::FusionOp fusion);

/// Emits the kernels of a fusion and returns the values that replace the fusion's results. The
/// fusion contains one sort with its iotas and the slices of its results, or one scan, or one
/// scatter of sorted rows with the gather of its updates. On failure emits nothing, returns nullopt
/// and sets `reason`.
std::optional<llvm::SmallVector<mlir::Value>>
emitRowKernels(exec::FusionOp fusion, llvm::StringRef name, const Capacities &capacities,
               MakeLaunch launch, std::string &reason);

/// Plans the kernels of one op with its emitter, and emits them. Fails like emitRowKernels().
template <typename Emitter, typename Op>
std::optional<llvm::SmallVector<mlir::Value>>
planAndEmit(exec::FusionOp fusion, Op op, llvm::StringRef name, const Capacities &capacities,
            MakeLaunch launch, std::string &reason) {
  Emitter emitter(fusion, op, name, capacities, launch);
  if (!emitter.plan(reason))
    return std::nullopt;
  return emitter.run();
}

/// The memory that a row kernel reads for a value in the fusion: an input, or a copy of a constant
/// before the fusion. Null if the fusion computes the value.
mlir::Value operandOutside(exec::FusionOp fusion, mlir::Value value);

std::optional<llvm::SmallVector<mlir::Value>> emitSort(exec::FusionOp fusion, stablehlo::SortOp op,
                                                       llvm::StringRef name,
                                                       const Capacities &capacities,
                                                       MakeLaunch launch, std::string &reason);
std::optional<llvm::SmallVector<mlir::Value>>
emitScan(exec::FusionOp fusion, stablehlo::ReduceWindowOp op, llvm::StringRef name,
         const Capacities &capacities, MakeLaunch launch, std::string &reason);
std::optional<llvm::SmallVector<mlir::Value>>
emitSegments(exec::FusionOp fusion, stablehlo::ScatterOp op, llvm::StringRef name,
             const Capacities &capacities, MakeLaunch launch, std::string &reason);

} // namespace tilewright::tile

#endif // TILEWRIGHT_TRANSFORM_TILE_ROWKERNELS_H
