// One function per LAPACK routine, for one matrix. T is the element type, Int LAPACK's integer.
#ifndef TILEWRIGHT_RUNTIME_CPU_LIBRARY_LAPACK_ROUTINES_H
#define TILEWRIGHT_RUNTIME_CPU_LIBRARY_LAPACK_ROUTINES_H

#include "tilewright/runtime/cpu/library/lapack/LapackCall.h"

namespace tilewright::runtime::cpu::lapack {

/// Sizes of operand 0 and common state of the routines.
template <typename T, typename Int> struct Matrix {
  explicit Matrix(const Item &item)
      : m(static_cast<Int>(item.problem.operands[0].rows)),
        n(static_cast<Int>(item.problem.operands[0].columns)), lda(std::max<Int>(1, m)),
        a(item.problem.operands[0].rows * item.problem.operands[0].columns) {
    item.load(0, a.data());
  }
  bool isEmpty() const { return m == 0 || n == 0; }
  bool isFinite() const { return areFinite(a.data(), int64_t(m) * n); }
  Int m, n, lda;
  Room<T> a;
  Int info = 0;
};

/// Calls run(work, size) twice: LAPACK first returns the workspace size that it wants, then
/// computes.
template <typename T, typename Int, typename Run> void runWithWorkspace(Run run) {
  T answer{};
  Int size = -1;
  run(&answer, &size);
  // LAPACK returns the size rounded to T, which for f32 may be slightly too small.
  size = static_cast<Int>(wanted(answer) + wanted(answer) / 1000 + 1);
  Room<T> work(size);
  run(work.data(), &size);
}

/// x → lu, pivots (from 1), info
template <typename T, typename Int> void getrf(const Item &item) {
  Matrix<T, Int> x(item);
  const Int k = std::min(x.m, x.n);
  Room<Int> pivots(k);
  if (!x.isEmpty())
    call(item.problem, &x.m, &x.n, x.a.data(), &x.lda, pivots.data(), &x.info);
  item.store(0, x.a.data());
  std::copy(pivots.data(), pivots.data() + k, item.result<int32_t>(1));
  item.storeInfo(2, x.info);
}

/// x → factor, info
template <typename T, typename Int> void potrf(const Item &item) {
  Matrix<T, Int> x(item);
  if (!x.isEmpty())
    call(item.problem, &item.problem.first, &x.n, x.a.data(), &x.lda, &x.info);
  item.store(0, x.a.data());
  item.storeInfo(1, x.info);
}

/// x → reflectors and r, taus
template <typename T, typename Int> void geqrf(const Item &item) {
  Matrix<T, Int> x(item);
  Room<T> taus(std::min(x.m, x.n));
  if (!x.isEmpty()) {
    runWithWorkspace<T, Int>([&](T *work, Int *size) {
      call(item.problem, &x.m, &x.n, x.a.data(), &x.lda, taus.data(), work, size, &x.info);
    });
  }
  item.store(0, x.a.data());
  std::copy(taus.data(), taus.data() + std::min(x.m, x.n), item.result<T>(1));
}

/// x, pivot columns → reflectors and r, pivot columns, taus
template <typename T, typename Int> void geqp3(const Item &item) {
  Matrix<T, Int> x(item);
  const Int k = std::min(x.m, x.n);
  Room<T> taus(k);
  Room<Int> places(x.n);
  std::copy(item.operand<int32_t>(1), item.operand<int32_t>(1) + x.n, places.data());
  if (!x.isEmpty()) {
    Room<typename RealOf<T>::Type> realWork(2 * int64_t(x.n));
    runWithWorkspace<T, Int>([&](T *work, Int *size) {
      if constexpr (RealOf<T>::isComplex)
        call(item.problem, &x.m, &x.n, x.a.data(), &x.lda, places.data(), taus.data(), work, size,
             realWork.data(), &x.info);
      else
        call(item.problem, &x.m, &x.n, x.a.data(), &x.lda, places.data(), taus.data(), work, size,
             &x.info);
    });
  }
  item.store(0, x.a.data());
  std::copy(places.data(), places.data() + x.n, item.result<int32_t>(1));
  std::copy(taus.data(), taus.data() + k, item.result<T>(2));
}

/// reflectors, taus → q
template <typename T, typename Int> void orgqr(const Item &item) {
  Matrix<T, Int> x(item);
  const auto k = static_cast<Int>(item.problem.operands[1].rows);
  if (!x.isEmpty()) {
    const T *taus = item.operand<T>(1);
    runWithWorkspace<T, Int>([&](T *work, Int *size) {
      call(item.problem, &x.m, &x.n, &k, x.a.data(), &x.lda, taus, work, size, &x.info);
    });
  }
  item.store(0, x.a.data());
}

/// reflectors, taus, c → q·c, or one of its variants
template <typename T, typename Int> void ormqr(const Item &item) {
  Matrix<T, Int> x(item);
  const auto k = static_cast<Int>(item.problem.operands[1].rows);
  const auto m = static_cast<Int>(item.problem.operands[2].rows);
  const auto n = static_cast<Int>(item.problem.operands[2].columns);
  const Int ldc = std::max<Int>(1, m);
  Room<T> c(int64_t(m) * n);
  item.load(2, c.data());
  if (m > 0 && n > 0 && !x.isEmpty()) {
    const Problem &p = item.problem;
    const T *taus = item.operand<T>(1);
    runWithWorkspace<T, Int>([&](T *work, Int *size) {
      call(p, &p.first, &p.second, &m, &n, &k, x.a.data(), &x.lda, taus, c.data(), &ldc, work, size,
           &x.info);
    });
  }
  item.store(0, c.data());
}

template <typename T> void fillIdentity(T *columns, const MatrixShape &shape) {
  for (int64_t j = 0; j < shape.columns; ++j)
    for (int64_t i = 0; i < shape.rows; ++i)
      columns[j * shape.rows + i] = T(i == j ? 1 : 0);
}

/// x → x (overwritten), singular values, u, vt, info. By divide and conquer, or by QR.
template <typename T, typename Int, bool isQr> void svd(const Item &item) {
  using Real = typename RealOf<T>::Type;
  const Problem &p = item.problem;
  Matrix<T, Int> x(item);
  const Int k = std::min(x.m, x.n), big = std::max(x.m, x.n);
  const auto ldu = static_cast<Int>(std::max<int64_t>(1, p.results[2].rows));
  const auto ldvt = static_cast<Int>(std::max<int64_t>(1, p.results[3].rows));
  Room<T> u(p.results[2].rows * p.results[2].columns);
  Room<T> vt(p.results[3].rows * p.results[3].columns);
  Room<Real> values(k);
  if (x.isEmpty()) {
    // The matrix is empty: any orthogonal basis is correct.
    fillIdentity(u.data(), p.results[2]);
    fillIdentity(vt.data(), p.results[3]);
  } else if (!x.isFinite()) {
    x.info = -4; // as newer LAPACK reports it; older versions never return
  } else {
    const int64_t small = k, large = big;
    Room<Real> realWork(isQr ? 5 * small
                             : std::max(5 * small * small + 5 * small,
                                        2 * large * small + 2 * small * small + small) +
                                   7 * small);
    Room<Int> integerWork(8 * small);
    runWithWorkspace<T, Int>([&](T *work, Int *size) {
      if constexpr (isQr && RealOf<T>::isComplex)
        call(p, &p.first, &p.first, &x.m, &x.n, x.a.data(), &x.lda, values.data(), u.data(), &ldu,
             vt.data(), &ldvt, work, size, realWork.data(), &x.info);
      else if constexpr (isQr)
        call(p, &p.first, &p.first, &x.m, &x.n, x.a.data(), &x.lda, values.data(), u.data(), &ldu,
             vt.data(), &ldvt, work, size, &x.info);
      else if constexpr (RealOf<T>::isComplex)
        call(p, &p.first, &x.m, &x.n, x.a.data(), &x.lda, values.data(), u.data(), &ldu, vt.data(),
             &ldvt, work, size, realWork.data(), integerWork.data(), &x.info);
      else
        call(p, &p.first, &x.m, &x.n, x.a.data(), &x.lda, values.data(), u.data(), &ldu, vt.data(),
             &ldvt, work, size, integerWork.data(), &x.info);
    });
  }
  item.store(0, x.a.data());
  std::copy(values.data(), values.data() + k, item.result<Real>(1));
  item.store(2, u.data());
  item.store(3, vt.data());
  item.storeInfo(4, x.info);
}
template <typename T, typename Int> void gesdd(const Item &item) { svd<T, Int, false>(item); }
template <typename T, typename Int> void gesvd(const Item &item) { svd<T, Int, true>(item); }

/// x → eigenvectors, eigenvalues, info, of a symmetric or Hermitian matrix
template <typename T, typename Int> void syevd(const Item &item) {
  using Real = typename RealOf<T>::Type;
  const Problem &p = item.problem;
  Matrix<T, Int> x(item);
  Room<Real> values(x.n);
  if (!x.isEmpty() && !x.isFinite()) {
    x.info = -4;
  } else if (!x.isEmpty()) {
    Int size = -1, realSize = -1, integerSize = -1;
    auto run = [&](T *work, Real *realWork, Int *integerWork) {
      if constexpr (RealOf<T>::isComplex)
        call(p, &p.first, &p.second, &x.n, x.a.data(), &x.lda, values.data(), work, &size, realWork,
             &realSize, integerWork, &integerSize, &x.info);
      else
        call(p, &p.first, &p.second, &x.n, x.a.data(), &x.lda, values.data(), work, &size,
             integerWork, &integerSize, &x.info);
    };
    T answer{};
    Real realAnswer{};
    Int integerAnswer{};
    run(&answer, &realAnswer, &integerAnswer);
    // Use the formulas of LAPACK's documentation, because sizes that LAPACK returns in f32 are not
    // exact.
    const int64_t n = x.n;
    size = static_cast<Int>(
        std::max(wanted(answer), RealOf<T>::isComplex ? 2 * n + n * n : 1 + 6 * n + 2 * n * n));
    realSize = static_cast<Int>(1 + 5 * n + 2 * n * n);
    integerSize = static_cast<Int>(3 + 5 * n);
    Room<T> work(size);
    Room<Real> realWork(realSize);
    Room<Int> integerWork(integerSize);
    run(work.data(), realWork.data(), integerWork.data());
  }
  item.store(0, x.a.data());
  std::copy(values.data(), values.data() + x.n, item.result<Real>(1));
  item.storeInfo(2, x.info);
}

/// Unpacks eigenvectors of a real matrix: a conjugate pair is stored as a column of real parts and
/// a column of imaginary parts.
template <typename Real>
void unpackVectors(const Real *columns, const Real *imaginary, int64_t n,
                   std::complex<Real> *vectors) {
  for (int64_t j = 0; j < n; ++j) {
    const bool isPair = imaginary[j] != 0 && j + 1 < n;
    for (int64_t i = 0; i < n; ++i) {
      const Real re = columns[j * n + i], im = isPair ? columns[(j + 1) * n + i] : Real(0);
      vectors[j * n + i] = {re, im};
      if (isPair)
        vectors[(j + 1) * n + i] = {re, -im};
    }
    j += isPair;
  }
}

/// x → eigenvalues (two results if x is real), left and right vectors, info
template <typename T, typename Int> void geev(const Item &item) {
  using Real = typename RealOf<T>::Type;
  const Problem &p = item.problem;
  Matrix<T, Int> x(item);
  const int64_t n = x.n;
  constexpr size_t vectors = RealOf<T>::isComplex ? 1 : 2;
  Room<T> values(n), imaginary(n), left(n * n), right(n * n);
  if (n > 0 && !x.isFinite()) {
    x.info = -4;
  } else if (n > 0) {
    Room<Real> realWork(2 * n);
    runWithWorkspace<T, Int>([&](T *work, Int *size) {
      if constexpr (RealOf<T>::isComplex)
        call(p, &p.first, &p.second, &x.n, x.a.data(), &x.lda, values.data(), left.data(), &x.lda,
             right.data(), &x.lda, work, size, realWork.data(), &x.info);
      else
        call(p, &p.first, &p.second, &x.n, x.a.data(), &x.lda, values.data(), imaginary.data(),
             left.data(), &x.lda, right.data(), &x.lda, work, size, &x.info);
    });
  }
  std::copy(values.data(), values.data() + n, item.result<T>(0));
  if constexpr (RealOf<T>::isComplex) {
    if (x.info == 0 && p.first == 'V')
      item.store(vectors, left.data());
    if (x.info == 0 && p.second == 'V')
      item.store(vectors + 1, right.data());
  } else {
    std::copy(imaginary.data(), imaginary.data() + n, item.result<T>(1));
    Room<std::complex<Real>> unpacked(n * n);
    const Room<T> *const sides[] = {&left, &right};
    const char wants[] = {p.first, p.second};
    for (size_t side = 0; side < 2; ++side)
      if (x.info == 0 && wants[side] == 'V') {
        unpackVectors(sides[side]->data(), imaginary.data(), n, unpacked.data());
        item.store(vectors + side, unpacked.data());
      }
  }
  item.storeInfo(vectors + 2, x.info);
}

/// x → Schur form, Schur vectors, eigenvalues (two results if x is real), the number of sorted
/// eigenvalues, info
template <typename T, typename Int> void gees(const Item &item) {
  const Problem &p = item.problem;
  Matrix<T, Int> x(item);
  const int64_t n = x.n;
  Room<T> values(n), imaginary(n), schur(n * n);
  Int sorted = 0;
  const char sort = 'N';
  if (n > 0 && !x.isFinite()) {
    x.info = -4;
  } else if (n > 0) {
    Room<typename RealOf<T>::Type> realWork(n);
    void *unused = nullptr;
    runWithWorkspace<T, Int>([&](T *work, Int *size) {
      if constexpr (RealOf<T>::isComplex)
        call(p, &p.first, &sort, unused, &x.n, x.a.data(), &x.lda, &sorted, values.data(),
             schur.data(), &x.lda, work, size, realWork.data(), unused, &x.info);
      else
        call(p, &p.first, &sort, unused, &x.n, x.a.data(), &x.lda, &sorted, values.data(),
             imaginary.data(), schur.data(), &x.lda, work, size, unused, &x.info);
    });
  }
  item.store(0, x.a.data());
  if (p.first == 'V')
    item.store(1, schur.data());
  std::copy(values.data(), values.data() + n, item.result<T>(2));
  if constexpr (!RealOf<T>::isComplex)
    std::copy(imaginary.data(), imaginary.data() + n, item.result<T>(3));
  constexpr size_t next = RealOf<T>::isComplex ? 3 : 4;
  item.storeInfo(next, sorted);
  item.storeInfo(next + 1, x.info);
}

/// x → Hessenberg form with reflectors, taus, info
template <typename T, typename Int> void gehrd(const Item &item) {
  Matrix<T, Int> x(item);
  const auto low = static_cast<Int>(item.problem.low), high = static_cast<Int>(item.problem.high);
  const int64_t count = std::max<int64_t>(0, int64_t(x.n) - 1);
  Room<T> taus(count);
  std::fill(taus.data(), taus.data() + count, T());
  if (!x.isEmpty()) {
    runWithWorkspace<T, Int>([&](T *work, Int *size) {
      call(item.problem, &x.n, &low, &high, x.a.data(), &x.lda, taus.data(), work, size, &x.info);
    });
  }
  item.store(0, x.a.data());
  std::copy(taus.data(), taus.data() + count, item.result<T>(1));
  item.storeInfo(2, x.info);
}

/// x → tridiagonal form with reflectors, diagonal, off-diagonal, taus, info
template <typename T, typename Int> void sytrd(const Item &item) {
  using Real = typename RealOf<T>::Type;
  Matrix<T, Int> x(item);
  const int64_t count = std::max<int64_t>(0, int64_t(x.n) - 1);
  Room<Real> diagonal(x.n), beside(count);
  Room<T> taus(count);
  if (!x.isEmpty()) {
    runWithWorkspace<T, Int>([&](T *work, Int *size) {
      call(item.problem, &item.problem.first, &x.n, x.a.data(), &x.lda, diagonal.data(),
           beside.data(), taus.data(), work, size, &x.info);
    });
  }
  item.store(0, x.a.data());
  std::copy(diagonal.data(), diagonal.data() + x.n, item.result<Real>(1));
  std::copy(beside.data(), beside.data() + count, item.result<Real>(2));
  std::copy(taus.data(), taus.data() + count, item.result<T>(3));
  item.storeInfo(4, x.info);
}

/// lower, main and upper diagonal, b → the three diagonals overwritten, x, info. All diagonals have
/// n elements: the first of the lower and the last of the upper one are outside the matrix.
template <typename T, typename Int> void gtsv(const Item &item) {
  const Problem &p = item.problem;
  const auto n = static_cast<Int>(p.operands[3].rows),
             count = static_cast<Int>(p.operands[3].columns);
  const Int ldb = std::max<Int>(1, n);
  Room<T> b(int64_t(n) * count);
  item.load(3, b.data());
  for (size_t i = 0; i < 3; ++i)
    std::memmove(item.result<T>(i), item.operand<T>(i), static_cast<size_t>(p.operands[i].bytes));
  Int info = 0;
  if (n > 0 && count > 0)
    call(p, &n, &count, item.result<T>(0) + 1, item.result<T>(1), item.result<T>(2), b.data(), &ldb,
         &info);
  item.store(3, b.data());
  item.storeInfo(4, info);
}

/// a, b → the solution x of op(a)·x = b or x·op(a) = b
template <typename T, typename Int> void trsm(const Item &item) {
  const Problem &p = item.problem;
  Matrix<T, Int> x(item);
  const auto m = static_cast<Int>(p.operands[1].rows), n = static_cast<Int>(p.operands[1].columns);
  const Int ldb = std::max<Int>(1, m);
  Room<T> b(int64_t(m) * n);
  item.load(1, b.data());
  const T one(1);
  if (m > 0 && n > 0)
    call(p, &p.first, &p.second, &p.third, &p.fourth, &m, &n, &one, x.a.data(), &x.lda, b.data(),
         &ldb);
  item.store(0, b.data());
}

} // namespace tilewright::runtime::cpu::lapack

#endif // TILEWRIGHT_RUNTIME_CPU_LIBRARY_LAPACK_ROUTINES_H
