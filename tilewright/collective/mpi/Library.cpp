#include "tilewright/collective/mpi/Library.h"
#include "tilewright/support/Concat.h"

#include <dlfcn.h>
#include <mutex>
#include <optional>

namespace tilewright::collective::mpi {

static Result<Library> open(const std::string &file) {
  void *handle = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle)
    return Status(Error::carrierUnavailable,
                  concat("mpi: cannot load '", file, "': ", dlerror(),
                         "; name the library of your MPI's standard ABI with runtime.mpi-library"));
  Library library;
  library.file = file;
  const char *missing = nullptr;
#define TILEWRIGHT_MPI_FIND(name, ...)                                                             \
  if (!(library.name = reinterpret_cast<decltype(library.name)>(dlsym(handle, "MPI_" #name))))     \
    missing = "MPI_" #name;
  TILEWRIGHT_MPI_FUNCTIONS(TILEWRIGHT_MPI_FIND)
#undef TILEWRIGHT_MPI_FIND
  // An MPI from before the standard ABI has most of these functions and other handles; it does not
  // have this one, which is asked for before any other is called.
  if (missing || !library.Abi_get_version)
    return Status(Error::carrierUnavailable,
                  concat("mpi: '", file, "' has no ", missing,
                         ", so it is not an MPI with the standard ABI of MPI 5; such a library is "
                         "called libmpi_abi.so.1"));
  int major = 0, minor = 0;
  if (library.Abi_get_version(&major, &minor) != abi::success || major != 1)
    return Status(Error::carrierUnavailable, concat("mpi: '", file, "' has version ", major, ".",
                                                    minor, " of the standard ABI, not 1"));
  return library;
}

Result<const Library *> Library::load(const std::string &file) {
  static std::mutex mutex;
  static std::optional<Library> loaded; // guarded by mutex
  std::lock_guard lock(mutex);
  if (!loaded) {
    TILEWRIGHT_ASSIGN(loaded, open(file));
  } else if (loaded->file != file) {
    return Status(Error::carrierUnavailable,
                  concat("mpi: '", file, "' is wanted, but '", loaded->file,
                         "' is loaded in this process, "
                         "and there is one MPI in a process"));
  }
  return &*loaded;
}

std::string Library::errorText(int code) const {
  char text[abi::longestErrorText] = "";
  int length = 0;
  if (Error_string(code, text, &length) != abi::success)
    return concat("error ", code);
  return text;
}

} // namespace tilewright::collective::mpi
