// Lapack: finds a LAPACK library on this machine when it is first needed.
#ifndef TILEWRIGHT_RUNTIME_CPU_LIBRARY_LAPACK_LAPACK_H
#define TILEWRIGHT_RUNTIME_CPU_LIBRARY_LAPACK_LAPACK_H

#include "tilewright/support/Status.h"

#include <string>

namespace tilewright::runtime::cpu {

/// A shared library with LAPACK and BLAS. find() searches in this order:
///
///   1. the file named by TILEWRIGHT_LAPACK
///   2. an OpenBLAS that the process has loaded already: SciPy brings one, and JAX loads SciPy
///   3. libopenblas.so.0, liblapack.so.3, libmkl_rt.so.2 where the system's loader finds them
///
/// Symbol names tell how the library was built: `sgetrf_`, `scipy_sgetrf_` (SciPy's wheel), with
/// the suffix `64_` if integers have 64 bits. The library runs with one thread, because we split
/// batches over our own pool.
class Lapack {
public:
  /// The library; loaded once and never unloaded.
  ///  - lapackMissing: no library was found.
  static Result<const Lapack *> find();

  /// The address of a routine such as "sgetrf".
  ///  - lapackMissing: the library has no such routine.
  Result<void *> routine(const std::string &name) const;

  bool hasWideIntegers() const { return wide; }

  /// Limits calls from this thread to one thread, if the library has a per-thread setting.
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
