// Lapack: whichever LAPACK this machine has, found when it is first needed.
#ifndef TILEWRIGHT_RUNTIME_CPU_LIBRARY_LAPACK_LAPACK_H
#define TILEWRIGHT_RUNTIME_CPU_LIBRARY_LAPACK_LAPACK_H

#include "tilewright/support/Status.h"

#include <string>

namespace tilewright::runtime::cpu {

/// A shared library with LAPACK and BLAS. Looked for in this order:
///
///   1. the file named by TILEWRIGHT_LAPACK
///   2. an OpenBLAS that the process has loaded already: SciPy brings one, and JAX loads SciPy
///   3. libopenblas.so.0, liblapack.so.3, libmkl_rt.so.2 where the system's loader finds them
///
/// Names of symbols tell how it was built: `sgetrf_`, `scipy_sgetrf_` (SciPy's wheel), and with
/// `64_` at the end if integers have 64 bits. It is told to use one thread: batches are split over
/// our pool.
class Lapack {
public:
  /// The library, which is loaded once and stays.
  ///  - lapackMissing: there is none.
  static Result<const Lapack *> find();

  /// The address of a routine such as "sgetrf".
  ///  - lapackMissing: the library has no such routine.
  Result<void *> routine(const std::string &name) const;

  bool hasWideIntegers() const { return wide; }

  /// One thread for calls from this thread, where the library can say so for one thread alone.
  void useOneThread() const;

private:
  bool open(void *handle);

  void *handle = nullptr;
  std::string prefix, suffix;
  bool wide = false;
  void *setThreadsLocal = nullptr;
};

} // namespace tilewright::runtime::cpu

#endif // TILEWRIGHT_RUNTIME_CPU_LIBRARY_LAPACK_LAPACK_H
