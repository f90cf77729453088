// Runner: one run of a product. Matmul.cpp chooses the path; each path has its own source file.
#ifndef TILEWRIGHT_RUNTIME_CPU_MATMUL_RUNNER_H
#define TILEWRIGHT_RUNTIME_CPU_MATMUL_RUNNER_H

#include "tilewright/runtime/cpu/matmul/Load.h"

namespace tilewright::runtime::cpu {

struct Matmul::Runner {
  const Matmul &matmul;
  const MatmulProblem &shape;
  ThreadPool &pool;
  const Prologue *lhsPrologue, *rhsPrologue; // may be null; swapped if the product is transposed
  const Epilogue *epilogue;                  // may be null

  /// One product of the batch.
  struct Product {
    int64_t index;
    OperandView lhs, rhs;
    std::byte *result;
  };

  Runner(const Matmul &matmul, const MatmulOperands &operands, ThreadPool &pool);
  void runBatch(const MatmulOperands &operands) const;
  void runProduct(const Product &product) const;

  void runEmpty(const Product &product) const;
  void runVector(const Product &product) const;
  void runDirect(const Product &product) const;
  void runPanels(const Product &product) const;

  /// Whether sums can be computed directly in the result.
  bool writesInPlace() const;
  /// Passes the finished sums of a part of the product to the epilogue, or stores them in the
  /// result.
  void finish(const Product &product, const std::byte *sums, int64_t stride, int64_t row,
              int64_t rows, int64_t column, int64_t columns) const;
  /// to[i] += from[i], in the type of the sums.
  void addSums(std::byte *to, const std::byte *from, int64_t count) const;
  int64_t sumBytes() const { return static_cast<int64_t>(numerics::storageBytes(matmul.sums)); }
};

} // namespace tilewright::runtime::cpu

#endif // TILEWRIGHT_RUNTIME_CPU_MATMUL_RUNNER_H
