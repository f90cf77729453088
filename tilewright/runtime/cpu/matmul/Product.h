// Product: a matmul for which several implementations compete.
#ifndef TILEWRIGHT_RUNTIME_CPU_MATMUL_PRODUCT_H
#define TILEWRIGHT_RUNTIME_CPU_MATMUL_PRODUCT_H

#include "tilewright/runtime/candidates/Candidates.h"
#include "tilewright/runtime/cpu/matmul/Matmul.h"
#include "tilewright/runtime/cpu/matmul/OneDnn.h"

#include <atomic>
#include <memory>
#include <mutex>

namespace tilewright::runtime::cpu {

/// Computes with the kernel of ours that Matmul chooses, unless `candidates` measures: then, at
/// the first run, that one, other ways of ours and oneDNN are timed on the operands at hand. Runs
/// with a prologue or epilogue are always ours. Thread-safe.
class Product {
public:
  explicit Product(MatmulProblem problem, Candidates &candidates = Candidates::ofProcess());

  void run(const MatmulOperands &operands, ThreadPool &pool) const;

  /// Everything a choice depends on: "dot f32 f32 f32 512x512x512 …, avx512, 2 threads".
  std::string problemName(unsigned threads) const;
  const Matmul &ours() const { return preferred; }

private:
  /// The ways to compute the product; exactly one is used.
  struct Contender {
    std::string name;
    std::unique_ptr<Matmul> matmul;
    std::unique_ptr<OneDnnMatmul> oneDnn;
    void run(const MatmulOperands &operands, ThreadPool &pool) const;
  };
  std::vector<Contender> contenders(unsigned threads) const;
  void decide(const MatmulOperands &operands, ThreadPool &pool) const;

  MatmulProblem problem;
  Matmul preferred;
  Candidates &candidates;
  mutable std::mutex mutex;
  mutable std::atomic<bool> isDecided = false;
  /// Null for `preferred`. Written before isDecided, once.
  mutable std::unique_ptr<Contender> winner;
};

} // namespace tilewright::runtime::cpu

#endif // TILEWRIGHT_RUNTIME_CPU_MATMUL_PRODUCT_H
