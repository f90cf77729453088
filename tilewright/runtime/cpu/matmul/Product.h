// Product: a matmul that can choose the fastest of several implementations.
#ifndef TILEWRIGHT_RUNTIME_CPU_MATMUL_PRODUCT_H
#define TILEWRIGHT_RUNTIME_CPU_MATMUL_PRODUCT_H

#include "tilewright/runtime/candidates/Candidates.h"
#include "tilewright/runtime/cpu/matmul/Matmul.h"
#include "tilewright/runtime/cpu/matmul/OneDnn.h"

#include <atomic>
#include <memory>
#include <mutex>

namespace tilewright::runtime::cpu {

/// A product. Uses the kernel that Matmul chooses, unless `candidates` has measurements of this
/// product or may make them: then the first run times that kernel, our other variants and oneDNN on
/// its operands, and later runs use the fastest. Thread-safe.
class Product {
public:
  /// Whether each run of the product has an epilogue. If so, oneDNN does not compete, and the
  /// epilogue is not called while kernels are timed: it may overwrite what it reads.
  enum class Form : uint8_t { plain, fused };

  explicit Product(MatmulProblem problem, Candidates &candidates = Candidates::ofProcess(),
                   Form form = Form::plain);

  /// Runs of another form and runs with a prologue use the kernel that Matmul chooses.
  void run(const MatmulOperands &operands, ThreadPool &pool) const;

  /// The key of the autotuning record, with everything that the choice depends on: "dot f32 f32 f32
  /// 512x512x512 …, avx512, 2 threads, " the processor's model and the version of our kernels.
  std::string problemName(unsigned threads) const;
  const Matmul &ours() const { return preferred; }

private:
  /// An implementation of the product; exactly one of `matmul` and `oneDnn` is set.
  struct Contender {
    std::unique_ptr<Matmul> matmul;
    std::unique_ptr<OneDnnMatmul> oneDnn;
    void run(const MatmulOperands &operands, ThreadPool &pool) const;
  };
  /// `decision` gets their names, orders and the reasons for absent ones.
  std::vector<Contender> contenders(unsigned threads, Decision &decision) const;
  void decide(MatmulOperands operands, ThreadPool &pool) const;

  MatmulProblem problem;
  Matmul preferred;
  Candidates &candidates;
  Form form;
  mutable std::mutex mutex;
  mutable std::atomic<bool> isDecided = false;
  /// Null if `preferred` won. Written once, before isDecided.
  mutable std::unique_ptr<Contender> winner;
};

} // namespace tilewright::runtime::cpu

#endif // TILEWRIGHT_RUNTIME_CPU_MATMUL_PRODUCT_H
