// RadixSort: long sorts by one number, digit by digit from the least significant.
#ifndef TILEWRIGHT_TRANSFORM_TILE_ROWS_RADIXSORT_H
#define TILEWRIGHT_TRANSFORM_TILE_ROWS_RADIXSORT_H

#include "tilewright/transform/tile/RowKernels.h"
#include "tilewright/transform/tile/rows/SortKey.h"

namespace tilewright::tile {

/// The kernels of one sort. The first one counts the digits of all keys. For each digit then, one
/// kernel moves each element to its place: the number of smaller digits, of equal digits in earlier
/// chunks (`tile.carry`), and of equal digits before it in its chunk (`tile.bucket`).
class RadixSort {
public:
  /// The operands of a sort; a null value is the index along the rows.
  struct Operands {
    llvm::SmallVector<mlir::Value> values;
    llvm::SmallVector<mlir::Type> elements;
  };

  /// Plans a sort of rows in chunks of `chunk` elements, a power of two, by warps of `lanes`
  /// threads. Elements of a row must be adjacent in memory. Returns nullopt if the comparator has
  /// no key, or if the sort is impossible because `chunk` or the shared memory is too small or the
  /// rows are too long.
  static std::optional<RadixSort> plan(stablehlo::SortOp op, const Rows &rows, Operands operands,
                                       int64_t chunk, int64_t sharedBytes, int64_t lanes);

  /// The approximate number of bytes that the kernels move in global memory.
  double bytes() const;

  /// Emits the kernels. Returns the first `kept` elements of the operands in `outputs`.
  llvm::SmallVector<mlir::Value> emit(llvm::StringRef name, const Capacities &capacities,
                                      int64_t kept, llvm::ArrayRef<unsigned> outputs,
                                      MakeLaunch launch);

private:
  RadixSort(SortKey key, stablehlo::SortOp op, const Rows &rows, Operands operands, int64_t chunk,
            int64_t warps)
      : key(std::move(key)), op(op), rows(rows), operands(std::move(operands)), chunk(chunk),
        warps(warps) {}

  mlir::Value count(llvm::StringRef name, const Capacities &capacities, MakeLaunch launch);
  mlir::Value sumUp(llvm::StringRef name, mlir::Value counts, MakeLaunch launch);
  void pass(llvm::StringRef name, int64_t number, mlir::Value starts, mlir::Value &state,
            int64_t kept, llvm::ArrayRef<unsigned> outputs, MakeLaunch launch);
  /// The operands' tiles at `at`; operands without memory are indices. With `keyOnly`, operands
  /// that the key does not read are null and are not inputs of the kernel.
  llvm::SmallVector<mlir::Value> load(RowKernel &kernel, mlir::Value at, bool keyOnly);
  /// The kernel's inputs for load(), and the operands that are passed for them.
  std::pair<llvm::SmallVector<RowTensor>, llvm::SmallVector<mlir::Value>> inputs(bool keyOnly);
  mlir::Value digits(RowKernel &kernel, mlir::ValueRange tiles, int64_t number);
  /// The number of elements with each digit, from the positions where the elements with each digit
  /// begin.
  mlir::Value countsOf(RowKernel &kernel, mlir::Value starts, mlir::Value count, int64_t bins);

  int64_t chunks() const { return (rows.length + chunk - 1) / chunk; }
  int64_t bins() const { return int64_t(1) << digitBits; }
  /// The number of digits in a pass: the last digit may have fewer bits.
  int64_t bins(int64_t number) const {
    return int64_t(1) << std::min(digitBits, key.bits() - number * digitBits);
  }
  int64_t words() const;

  SortKey key;
  stablehlo::SortOp op;
  Rows rows;
  Operands operands;
  int64_t chunk;
  int64_t warps; // of a block
  int64_t passes = 0, digitBits = 0;
};

/// Makes a tensor of integer zeros with a kernel of its own.
mlir::Value launchZeros(mlir::MLIRContext *context, mlir::Location loc, llvm::StringRef name,
                        mlir::Type element, int64_t size, MakeLaunch launch);

} // namespace tilewright::tile

#endif // TILEWRIGHT_TRANSFORM_TILE_ROWS_RADIXSORT_H
