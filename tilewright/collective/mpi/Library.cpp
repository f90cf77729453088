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
                         "; set runtime.mpi-library to the standard-ABI library of your MPI"));
  Library library;
  library.file = file;
  const char *missing = nullptr;
#define TILEWRIGHT_MPI_FIND(name, ...)                                                             \
  if (!(library.name = reinterpret_cast<decltype(library.name)>(dlsym(handle, "MPI_" #name))))     \
    missing = "MPI_" #name;
  TILEWRIGHT_MPI_FUNCTIONS(TILEWRIGHT_MPI_FIND)
#undef TILEWRIGHT_MPI_FIND
  // An MPI that predates the standard ABI has most of these functions, but with different handles.
  // It lacks MPI_Abi_get_version, so check for that function before calling any other.
  if (missing || !library.Abi_get_version)
    return Status(Error::carrierUnavailable,
                  concat("mpi: '", file, "' does not export ", missing,
                         ", so it does not implement the standard ABI of MPI 5; "
                         "use a library such as libmpi_abi.so.1"));
  int major = 0, minor = 0;
  if (library.Abi_get_version(&major, &minor) != abi::success || major != 1)
    return Status(Error::carrierUnavailable,
                  concat("mpi: '", file, "' implements version ", major, ".", minor,
                         " of the standard ABI, expected version 1"));
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
                  concat("mpi: cannot load '", file, "': this process has loaded '", loaded->file,
                         "', and a process can use only one MPI"));
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
