// Matmul: matrix products of any types and strides.
#ifndef TILEWRIGHT_RUNTIME_CPU_MATMUL_MATMUL_H
#define TILEWRIGHT_RUNTIME_CPU_MATMUL_MATMUL_H

#include "tilewright/runtime/cpu/matmul/Conversion.h"
#include "tilewright/runtime/cpu/matmul/Placement.h"
#include "tilewright/support/ThreadPool.h"

#include <string>
#include <vector>

namespace tilewright::runtime::cpu {

/// A batch dimension.
struct BatchDimension {
  int64_t size = 1;
  int64_t lhsStride = 0, rhsStride = 0, resultStride = 0;
};

/// result[b, m, n] = sum over k of lhs[b, m, k] * rhs[b, k, n]
///
/// Sums are computed in f32 for reals of at most 32 bits, in f64 for f64, modulo 2^32 or 2^64 for
/// integers, and by component for complex types; each sum is rounded once, to the result's type.
/// Element types combine as in the reference interpreter: a real result takes real or integer
/// operands, a complex result takes any operands, an integer result takes integers.
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

/// Generated code that processes sums while they are in the cache and writes the final results: a
/// bias, an activation, a residual. The product itself is then not written.
///
/// This is the ABI of generated code: `buffers` are the operands and results of the fused kernel.
/// `tile` holds the sums of rows [rowBegin, rowEnd) and columns [columnBegin, columnEnd), row-major
/// with `tileStride` elements from row to row, in the type of the sums (f32 for a product of bf16):
/// the epilogue must round to the result's type if the program specifies that. Rows are numbered
/// through the batch: row m of product b is b * rows + m. Each element is passed exactly once;
/// calls for different tiles run concurrently.
struct Epilogue {
  void (*apply)(void *const *buffers, int64_t rowBegin, int64_t rowEnd, int64_t columnBegin,
                int64_t columnEnd, const void *tile, int64_t tileStride) = nullptr;
  void *const *buffers = nullptr;
};

/// Generated code that produces elements of an operand during packing, instead of a load from
/// memory. It writes `tile[line - lineBegin][k - summedBegin]` in the operand's type, or the
/// transposed tile if `isSummedMajor`. A line is a row of lhs or a column of rhs; lines are
/// numbered through the batch as in Epilogue. It may be called more than once for the same element.
struct Prologue {
  void (*make)(void *const *buffers, int64_t lineBegin, int64_t lineEnd, int64_t summedBegin,
               int64_t summedEnd, void *tile, int64_t tileStride) = nullptr;
  void *const *buffers = nullptr;
  bool isSummedMajor = false;
  /// Whether making an element again costs no more than reading its packed form from L3.
  bool isCheap = false;
};

/// The arguments of a run.
struct MatmulOperands {
  const void *lhs = nullptr, *rhs = nullptr;
  void *result = nullptr;
  Prologue lhsPrologue = {}, rhsPrologue = {};
  Epilogue epilogue = {};
};

/// A product whose kernels have been chosen. Accesses only the elements that the problem describes;
/// several threads may call `run` concurrently.
///
///   Matmul product(MatmulProblem::dense(bf16, bf16, f32, 128, 512, 256));
///   product.run({.lhs = a, .rhs = b, .result = c}, pool);
class Matmul {
public:
  /// How the product is computed.
  enum class Path : uint8_t {
    empty,  // no summed elements, or an empty result
    vector, // few rows or columns: reads the other operand once, as a stream
    direct, // so small that packing would cost more than it saves
    panels, // packs panels and computes blocks
  };
  struct Choice {
    bool allowVector = true, allowDirect = true;
    bool allowNarrowPanels = true; // multiply bf16 and bytes unwidened if the machine can
    /// The maximum size of a tile of sums; 0 means 256.
    int64_t maxRows = 0, maxColumns = 0;
    /// Products of at most this many elements, operands and result together, are not packed; 0
    /// decides by the cost of packing.
    int64_t maxDirect = 0;
    /// Bytes of panels that several tiles share, for each operand; 0 means 16 MiB. At least one row
    /// of tiles is packed, even if it exceeds this.
    int64_t maxShared = 0;
  };

  explicit Matmul(MatmulProblem problem, const CpuFeatures &features = CpuFeatures::host());
  Matmul(MatmulProblem problem, const CpuFeatures &features, const Choice &choice);

  /// Whether these types can be multiplied.
  static bool supports(ElementType lhs, ElementType rhs, ElementType result);

  void run(const MatmulOperands &operands, ThreadPool &pool) const;

  const MatmulProblem &problem() const { return shape; }
  Path path() const { return chosenPath; }
  ElementType sumsType() const { return sums; }
  /// The kernel of the path `panels`; null if there is nothing to multiply.
  const PanelKernel *panelKernel() const { return panel; }
  /// "avx512 f32 14x32 panels", for records.
  std::string name() const;
  /// Equal texts mean that products of the same problem add in the same order on pools of the same
  /// number of threads, so their results have the same bits.
  std::string order(int64_t threads) const;

private:
  struct Runner;
  /// The parts into which the path `panels` splits each sum (split-K).
  int64_t summedParts(int64_t threads) const;

  MatmulProblem shape;
  CpuFeatures features;
  Choice choice;
  ElementType sums = ElementType::f32;
  Path chosenPath = Path::empty;
  bool isTransposed = false; // computed as the transposed product; `shape` is already swapped
  const PanelKernel *panel = nullptr;
  const DirectKernel *direct = nullptr;
  const VectorKernel *vector = nullptr;
  Conversion lhsToSums, rhsToSums, lhsToVector, lhsToPanel, rhsToPanel, resultConversion;
};

} // namespace tilewright::runtime::cpu

#endif // TILEWRIGHT_RUNTIME_CPU_MATMUL_MATMUL_H
