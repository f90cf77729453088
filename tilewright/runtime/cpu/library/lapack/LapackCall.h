// The common part of all LAPACK kernels: batches of matrices, converted to column-major order and
// back.
#ifndef TILEWRIGHT_RUNTIME_CPU_LIBRARY_LAPACK_LAPACKCALL_H
#define TILEWRIGHT_RUNTIME_CPU_LIBRARY_LAPACK_LAPACKCALL_H

#include "tilewright/runtime/cpu/library/CallReader.h"
#include "tilewright/runtime/cpu/library/Scratch.h"
#include "tilewright/runtime/cpu/library/lapack/Lapack.h"
#include "tilewright/runtime/cpu/library/movement/TransposeTile.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstring>

namespace tilewright::runtime::cpu::lapack {

/// The real type of the components of an element type.
template <typename T> struct RealOf {
  using Type = T;
  static constexpr bool isComplex = false;
};
template <typename R> struct RealOf<std::complex<R>> {
  using Type = R;
  static constexpr bool isComplex = true;
};

/// A tensor [batch…, rows, columns], or [batch…, rows] with one column, or [batch…].
struct MatrixShape {
  ElementType element;
  int64_t rows = 1, columns = 1;
  int64_t bytes = 0; // of one item of the batch
};

/// A checked call: its operands, results and options.
struct Problem {
  void *routine = nullptr;
  bool wide = false;
  int64_t batch = 1;
  std::vector<MatrixShape> operands, results;
  char first = 'N', second = 'N', third = 'N', fourth = 'N'; // options, by routine
  int64_t low = 1, high = 0;
};

/// One matrix of the batch: the addresses of its operands and results.
class Item {
public:
  Item(const Problem &problem, const LibraryRun &run, int64_t number)
      : problem(problem), run(run), number(number) {}

  const Problem &problem;

  template <typename T> const T *operand(size_t i) const {
    return reinterpret_cast<const T *>(run.operands[i] + number * problem.operands[i].bytes);
  }
  template <typename T> T *result(size_t i) const {
    return reinterpret_cast<T *>(run.results[i] + number * problem.results[i].bytes);
  }

  /// Converts between row-major order and the column-major order of LAPACK.
  template <typename T> void load(size_t i, T *columns) const {
    const MatrixShape &shape = problem.operands[i];
    transpose(operand<T>(i), shape.rows, shape.columns, columns);
  }
  template <typename T> void store(size_t i, const T *columns) const {
    const MatrixShape &shape = problem.results[i];
    transpose(columns, shape.columns, shape.rows, result<T>(i));
  }
  void storeInfo(size_t i, int64_t info) const { *result<int32_t>(i) = static_cast<int32_t>(info); }

private:
  template <typename T> static void transpose(const T *from, int64_t rows, int64_t columns, T *to) {
    constexpr int64_t block = transposeBlock;
    const auto cell = static_cast<int64_t>(sizeof(T));
    for (int64_t i = 0; i < columns; i += block)
      for (int64_t j = 0; j < rows; j += block)
        transposeTile(reinterpret_cast<const std::byte *>(from + j * columns + i), columns * cell,
                      reinterpret_cast<std::byte *>(to + i * rows + j), rows * cell,
                      std::min(block, columns - i), std::min(block, rows - j), cell, false);
  }

  const LibraryRun &run;
  int64_t number;
};

/// Calls a Fortran routine. Arguments are addresses; the string lengths, which come last in the
/// calling convention, are all 1.
template <typename... Arguments> void call(const Problem &problem, Arguments... arguments) {
  using Routine = void (*)(Arguments..., size_t, size_t, size_t, size_t);
  reinterpret_cast<Routine>(problem.routine)(arguments..., 1, 1, 1, 1);
}

/// Elements of scratch.
template <typename T> class Room {
public:
  explicit Room(int64_t count)
      : memory(std::max<int64_t>(1, count) * static_cast<int64_t>(sizeof(T))) {}
  T *data() const { return memory.as<T>(); }
  operator T *() const { return data(); }

private:
  Scratch memory;
};

template <typename T> bool areFinite(const T *values, int64_t count) {
  using Real = typename RealOf<T>::Type;
  const auto *parts = reinterpret_cast<const Real *>(values);
  const int64_t n = count * static_cast<int64_t>(sizeof(T) / sizeof(Real));
  return std::all_of(parts, parts + n, [](Real part) { return std::isfinite(part); });
}

/// The workspace size from LAPACK's answer to a workspace query.
template <typename T> int64_t wanted(T answer) {
  return std::max<int64_t>(1, static_cast<int64_t>(std::real(answer)));
}

} // namespace tilewright::runtime::cpu::lapack

#endif // TILEWRIGHT_RUNTIME_CPU_LIBRARY_LAPACK_LAPACKCALL_H
