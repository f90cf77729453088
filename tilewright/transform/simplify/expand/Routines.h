// LAPACK's routines on batches of matrices, [batch, rows, columns], and vectors, [batch, elements].
// The results are those of LAPACK: a unit lower triangle below the diagonal of U, reflectors below
// the diagonal of R, pivots from 1.
#ifndef TILEWRIGHT_TRANSFORM_SIMPLIFY_EXPAND_ROUTINES_H
#define TILEWRIGHT_TRANSFORM_SIMPLIFY_EXPAND_ROUTINES_H

#include "tilewright/transform/simplify/expand/MatrixBuilder.h"

namespace tilewright::simplify {

//===- LU ------------------------------------------------------------------===//

struct Lu {
  mlir::Value matrix, pivots;
};
Lu factorLu(MatrixBuilder &b, mlir::Value a);

/// The permutation of 0, 1, 2, … that results from a sequence of exchanges (j, pivots[j]).
mlir::Value permutationOf(MatrixBuilder &b, mlir::Value pivots, int64_t size);

/// For each matrix, the 1-based index of the first diagonal element for which `isBad` holds; 0 if
/// there is none.
mlir::Value firstOnDiagonal(MatrixBuilder &b, mlir::Value a,
                            llvm::function_ref<mlir::Value(mlir::Value)> isBad);

/// R' with R'ᵀ R' = Rᵀ R + w wᵀ, an upper triangle.
mlir::Value updateCholesky(MatrixBuilder &b, mlir::Value r, mlir::Value w);

/// Solves tridiagonal systems by elimination with row exchanges. `lower` starts with an element
/// that is not used, `upper` ends with one. The results are the second superdiagonal of U (from
/// element 1 on), its main diagonal, its first superdiagonal, the solution, and the 1-based index
/// of the first zero on the main diagonal, or 0.
llvm::SmallVector<mlir::Value> solveTridiagonal(MatrixBuilder &b, mlir::Value lower,
                                                mlir::Value main, mlir::Value upper,
                                                mlir::Value rhs);

//===- Reflectors ----------------------------------------------------------===//

/// R with the reflectors below its diagonal, and the factors tau of the reflectors.
struct Qr {
  mlir::Value matrix, taus;
};
Qr factorQr(MatrixBuilder &b, mlir::Value a);

struct PivotedQr {
  mlir::Value matrix, pivots, taus;
};
/// Like factorQr(), but each step first exchanges its column with the longest remaining one.
/// Columns with a nonzero number in `fixed` come first.
PivotedQr factorPivotedQr(MatrixBuilder &b, mlir::Value a, mlir::Value fixed);

/// The first `columns` columns of the product of the reflectors below the diagonal of `a`.
mlir::Value productOfReflectors(MatrixBuilder &b, mlir::Value a, mlir::Value taus, int64_t columns);

/// The product of the reflectors, or its adjoint, times c; if not `isLeft`, c times it.
mlir::Value multiplyByReflectors(MatrixBuilder &b, mlir::Value a, mlir::Value taus, mlir::Value c,
                                 bool isLeft, bool isAdjoint);

/// A Hessenberg matrix similar to `a`, with the reflectors below its first lower diagonal.
Qr reduceToHessenberg(MatrixBuilder &b, mlir::Value a);

/// A real tridiagonal matrix similar to a Hermitian one, with the reflectors beside its diagonals.
struct Tridiagonal {
  mlir::Value matrix, main, beside, taus;
};
Tridiagonal reduceToTridiagonal(MatrixBuilder &b, mlir::Value a, bool isLower);

//===- Eigenvalues and singular values -------------------------------------===//

/// `info` is 0, or 1 if the iteration did not converge.
struct Eigen {
  mlir::Value vectors, values, info;
};
/// The eigenvalues of Hermitian matrices in ascending order. Only one triangle is read.
Eigen findEigen(MatrixBuilder &b, mlir::Value a, bool isLower);

struct Singular {
  mlir::Value left, values, right, info; // right is adjoint; both are null if not asked for
};
/// The singular values in descending order. With `isFull` both sets of vectors are complete bases.
Singular findSingular(MatrixBuilder &b, mlir::Value a, bool hasVectors, bool isFull);

} // namespace tilewright::simplify

#endif // TILEWRIGHT_TRANSFORM_SIMPLIFY_EXPAND_ROUTINES_H
