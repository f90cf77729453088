// OneDnn: products by oneDNN, where it is installed. Nothing of it is needed to build.
#ifndef TILEWRIGHT_RUNTIME_CPU_MATMUL_ONEDNN_H
#define TILEWRIGHT_RUNTIME_CPU_MATMUL_ONEDNN_H

#include "tilewright/runtime/cpu/matmul/Matmul.h"

#include <memory>

namespace tilewright::runtime::cpu {

struct OneDnnLibrary;

/// A product that oneDNN computes. The work is split by our pool and each call of the library runs
/// on the thread that makes it, so there are never more threads than the pool has.
class OneDnnMatmul {
public:
  /// Null if the library is not there, or has no kernel for these types and strides. Versions 2 and
  /// 3 are found by the dynamic linker as libdnnl.so.3 and libdnnl.so.2.
  static std::unique_ptr<OneDnnMatmul> create(const MatmulProblem &problem, unsigned threads);
  ~OneDnnMatmul();

  /// Prologues and epilogues are not supported.
  void run(const MatmulOperands &operands, ThreadPool &pool) const;

  /// "onednn 3.2.0"
  static std::string name();

private:
  struct Piece;
  OneDnnMatmul() = default;

  MatmulProblem problem;
  int64_t rows = 0, columns = 0; // of a piece
  int64_t rowPieces = 1, columnPieces = 1;
  /// For whole pieces and those at the lower and right edge, or null if there are none.
  std::unique_ptr<Piece> pieces[2][2];
};

} // namespace tilewright::runtime::cpu

#endif // TILEWRIGHT_RUNTIME_CPU_MATMUL_ONEDNN_H
