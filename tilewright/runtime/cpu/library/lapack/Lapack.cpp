#include "tilewright/runtime/cpu/library/lapack/Lapack.h"

#include "tilewright/support/Concat.h"

#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <link.h>
#include <vector>

namespace tilewright::runtime::cpu {

/// Paths of libraries in this process that look like OpenBLAS. Those with 32-bit integers come
/// first: NumPy's has 64-bit integers, and only SciPy's contains all of LAPACK.
static std::vector<std::string> loadedLibraries() {
  std::vector<std::string> paths;
  dl_iterate_phdr(
      [](dl_phdr_info *info, size_t, void *context) {
        if (info->dlpi_name && std::strstr(info->dlpi_name, "openblas"))
          static_cast<std::vector<std::string> *>(context)->push_back(info->dlpi_name);
        return 0;
      },
      &paths);
  std::vector<std::string> ordered;
  for (bool wide : {false, true})
    for (const std::string &path : paths)
      if ((path.find("64_") != path.npos) == wide)
        ordered.push_back(path);
  return ordered;
}

bool Lapack::open(void *opened) {
  if (!opened)
    return false;
  for (const char *before : {"", "scipy_"})
    for (const char *after : {"_", "_64_"})
      if (dlsym(opened, concat(before, "sgetrf", after).c_str())) {
        handle = opened;
        prefix = before;
        suffix = after;
        wide = std::strcmp(after, "_64_") == 0;
        setThreadsLocal = dlsym(handle, "openblas_set_num_threads_local");
        return true;
      }
  dlclose(opened);
  return false;
}

Result<const Lapack *> Lapack::find() {
  static const Lapack *const found = []() -> const Lapack * {
    static Lapack lapack;
    if (const char *path = std::getenv("TILEWRIGHT_LAPACK"))
      return lapack.open(dlopen(path, RTLD_NOW | RTLD_LOCAL)) ? &lapack : nullptr;
    for (const std::string &path : loadedLibraries())
      if (lapack.open(dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD)))
        return &lapack;
    for (const char *name : {"libopenblas.so.0", "liblapack.so.3", "libmkl_rt.so.2"})
      if (lapack.open(dlopen(name, RTLD_NOW | RTLD_LOCAL)))
        return &lapack;
    return nullptr;
  }();
  if (found)
    return found;
  return Status(
      Error::lapackMissing,
      "linear algebra needs a LAPACK library, but none was found: install libopenblas0 or "
      "liblapack3 with the system's package manager, or scipy with pip, or name a shared "
      "library in TILEWRIGHT_LAPACK");
}

Result<void *> Lapack::routine(const std::string &name) const {
  if (void *address = dlsym(handle, (prefix + name + suffix).c_str()))
    return address;
  return Status(Error::lapackMissing,
                concat("the LAPACK library that was found has no routine '", prefix, name, suffix,
                       "'; name another one in TILEWRIGHT_LAPACK"));
}

void Lapack::useOneThread() const {
  if (setThreadsLocal)
    reinterpret_cast<int (*)(int)>(setThreadsLocal)(1);
}

} // namespace tilewright::runtime::cpu
