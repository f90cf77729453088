// OneDnn: matrix products computed by oneDNN, if it is installed. Not needed to build.
#ifndef TILEWRIGHT_RUNTIME_CPU_MATMUL_ONEDNN_H
#define TILEWRIGHT_RUNTIME_CPU_MATMUL_ONEDNN_H

#include "tilewright/runtime/cpu/matmul/Matmul.h"

#include <memory>

namespace tilewright::runtime::cpu {

struct OneDnnLibrary;

/// A product that oneDNN computes. Our pool splits the work, and each oneDNN call runs only on the
/// calling thread, so there are never more threads than the pool has.
class OneDnnMatmul {
public:
  /// Null if the library is not installed, or has no kernel for these types and strides. The
  /// dynamic linker finds versions 3 and 2 as libdnnl.so.3 and libdnnl.so.2.
  static std::unique_ptr<OneDnnMatmul> create(const MatmulProblem &problem, unsigned threads);
  ~OneDnnMatmul();

  /// Prologues and epilogues are not supported.
  void run(const MatmulOperands &operands, ThreadPool &pool) const;

  /// "onednn 3.2.0"
  static std::string name();
  /// Why create() returned null: "onednn: not installed".
  static std::string whyAbsent();

private:
  struct Piece;
  OneDnnMatmul() = default;

  MatmulProblem problem;
  int64_t rows = 0, columns = 0; // of a tile
  int64_t rowPieces = 1, columnPieces = 1;
  /// Indexed by whether the tile is partial at the lower edge and at the right edge; null if no
  /// tile is.
  std::unique_ptr<Piece> pieces[2][2];
};

} // namespace tilewright::runtime::cpu

#endif // TILEWRIGHT_RUNTIME_CPU_MATMUL_ONEDNN_H
