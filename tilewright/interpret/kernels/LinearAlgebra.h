// cholesky and triangular_solve.
#ifndef TILEWRIGHT_INTERPRET_KERNELS_LINEARALGEBRA_H
#define TILEWRIGHT_INTERPRET_KERNELS_LINEARALGEBRA_H

#include "tilewright/interpret/kernels/Indexing.h"

namespace tilewright::interpret {

/// For each matrix A of the last two dimensions, the triangle L with L·Lᴴ = A (`lower`) or U with
/// Uᴴ·U = A. Reads only that triangle of A; the other triangle of the result is zero. A matrix that
/// is not positive definite gives NaNs.
///
/// Here and below, elements of up to 32 bits are computed in double, f64 and complex<f64> in long
/// double, and rounded once.
///  - interpretShape: the last two dimensions are not square matrices.
///  - operandType: the elements are neither real nor complex.
Result<Tensor> cholesky(const Tensor &a, bool lower, Context &context);

enum class Transpose : uint8_t { none, transpose, adjoint };

struct TriangularSolveParameters {
  bool leftSide = true;      // op(a)·x = b, otherwise x·op(a) = b
  bool lower = true;         // which triangle of a is read
  bool unitDiagonal = false; // the diagonal is taken as ones and not read
  Transpose transpose = Transpose::none;
};

/// Solves for x, one system per matrix of the last two dimensions.
///  - interpretShape: the sizes of the matrices do not match.
///  - operandType: the elements are neither real nor complex, or differ in type.
Result<Tensor> triangularSolve(const Tensor &a, const Tensor &b,
                               const TriangularSolveParameters &parameters, Context &context);

} // namespace tilewright::interpret

#endif // TILEWRIGHT_INTERPRET_KERNELS_LINEARALGEBRA_H
