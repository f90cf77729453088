// Matmul: products of matrices of any types and strides.
#ifndef TILEWRIGHT_RUNTIME_CPU_MATMUL_MATMUL_H
#define TILEWRIGHT_RUNTIME_CPU_MATMUL_MATMUL_H

#include "tilewright/runtime/cpu/matmul/Conversion.h"
#include "tilewright/runtime/cpu/matmul/Placement.h"
#include "tilewright/support/ThreadPool.h"

#include <string>
#include <vector>

namespace tilewright::runtime::cpu {

/// One dimension over which whole products are repeated.
struct BatchDimension {
  int64_t size = 1;
  int64_t lhsStride = 0, rhsStride = 0, resultStride = 0;
};

/// result[b, m, n] = sum over k of lhs[b, m, k] * rhs[b, k, n]
///
/// Sums are taken in f32 for reals of at most 32 bits, in f64 for f64, modulo 2^32 or 2^64
/// for integers, by component for complex types; each is rounded once to the result's type.
/// Element types combine as in the evaluator: a result of a real type takes any real or integer
/// operands, a complex one anything, an integer one integers.
struct MatmulProblem {
  ElementType lhsType = ElementType::f32, rhsType = ElementType::f32, resultType = ElementType::f32;
  int64_t rows = 0, columns = 0, summed = 0;
  Placement lhsRows, lhsSummed, rhsSummed, rhsColumns, resultRows, resultColumns;
  std::vector<BatchDimension> batch;

  int64_t batchCount() const {
    int64_t count = 1;
    for (const BatchDimension &dim : batch)
      count *= dim.size;
    return count;
  }
  /// A dense row-major product.
  static MatmulProblem dense(ElementType lhs, ElementType rhs, ElementType result, int64_t rows,
                             int64_t columns, int64_t summed);
};

/// Code that takes sums while they are in the cache, and writes what it makes of them: a bias, an
/// activation, a residual. The result of the product itself is then not written.
///
/// This is the ABI of generated code, so `buffers` are the operands and results of the fused
/// kernel. `tile` holds the sums of rows [rowBegin, rowEnd) and columns [columnBegin,
/// columnEnd), row-major with `tileStride` elements from row to row, in the type of the sums
/// (f32 for a product of bf16): rounding to the result's type, where the program says so, is the
/// epilogue's business. Rows count through the batch: row m of product b is b * rows + m.
/// Each element is handed over exactly once; calls for different tiles run on several threads.
struct Epilogue {
  void (*apply)(void *const *buffers, int64_t rowBegin, int64_t rowEnd, int64_t columnBegin,
                int64_t columnEnd, const void *tile, int64_t tileStride) = nullptr;
  void *const *buffers = nullptr;
};

/// Code that makes elements of an operand when they are packed, instead of a load from memory.
/// It writes `tile[line - lineBegin][k - summedBegin]` in the operand's type, or the transposed
/// tile if `isSummedMajor`. A line is a row of lhs or a column of rhs; lines count through the
/// batch as in Epilogue. An element may be asked for more than once.
struct Prologue {
  void (*make)(void *const *buffers, int64_t lineBegin, int64_t lineEnd, int64_t summedBegin,
               int64_t summedEnd, void *tile, int64_t tileStride) = nullptr;
  void *const *buffers = nullptr;
  bool isSummedMajor = false;
};

/// What changes from run to run.
struct MatmulOperands {
  const void *lhs = nullptr, *rhs = nullptr;
  void *result = nullptr;
  Prologue lhsPrologue = {}, rhsPrologue = {};
  Epilogue epilogue = {};
};

/// A product with its kernels chosen. Reads and writes only what the problem describes; `run` may
/// be called from several threads at once.
///
///   Matmul product(MatmulProblem::dense(bf16, bf16, f32, 128, 512, 256));
///   product.run({.lhs = a, .rhs = b, .result = c}, pool);
class Matmul {
public:
  /// How the product is computed.
  enum class Path : uint8_t {
    empty,  // nothing to add up, or nowhere to write it
    vector, // few rows or columns: the other operand is streamed once
    direct, // so small that packing would cost more than it saves
    panels, // packed into panels and computed in blocks
  };
  struct Choice {
    bool allowVector = true, allowDirect = true;
    bool allowNarrowPanels = true; // multiply bf16 and bytes as they are where instructions exist
    /// The largest tile of sums and the longest run of a sum that is packed at a time; 0 leaves
    /// them to the sizes of the caches.
    int64_t mostRows = 0, mostColumns = 0, mostSummed = 0;
    /// Products up to this many elements in operands and result are not packed; 0 leaves it to
    /// what packing would cost.
    int64_t mostDirect = 0;
    /// Bytes of panels that several tiles share, of each operand; 0 for 16 MiB. A row of tiles is
    /// packed whatever it takes.
    int64_t mostShared = 0;
  };

  explicit Matmul(MatmulProblem problem, const Machine &machine = Machine::host());
  Matmul(MatmulProblem problem, const Machine &machine, const Choice &choice);

  /// Whether the types can be multiplied at all.
  static bool supports(ElementType lhs, ElementType rhs, ElementType result);

  void run(const MatmulOperands &operands, ThreadPool &pool) const;

  const MatmulProblem &problem() const { return shape; }
  Path path() const { return chosenPath; }
  ElementType sumsType() const { return sums; }
  /// The kernel of the path `panels`, or null if there is nothing to multiply.
  const PanelKernel *panelKernel() const { return panel; }
  /// "avx512 f32 14x32, panels", for records.
  std::string name() const;

private:
  struct Runner;

  MatmulProblem shape;
  Machine machine;
  Choice choice;
  ElementType sums = ElementType::f32;
  Path chosenPath = Path::empty;
  bool isTransposed = false; // computed as the transposed product; `shape` is already swapped
  const PanelKernel *panel = nullptr;
  const DirectKernel *direct = nullptr;
  const VectorKernel *vector = nullptr;
  Conversion lhsToSums, rhsToSums, lhsToPanel, rhsToPanel, resultConversion;
};

} // namespace tilewright::runtime::cpu

#endif // TILEWRIGHT_RUNTIME_CPU_MATMUL_MATMUL_H
