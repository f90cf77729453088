#include "tilewright/collective/ucx/Library.h"
#include "tilewright/support/Concat.h"

#include <cstdlib>
#include <dlfcn.h>
#include <map>
#include <mutex>

namespace tilewright::collective::ucx {

static Result<Library> open(const std::string &file) {
  // UCX must not interfere with the user's program: unless the environment specifies otherwise, it
  // must neither install signal handlers nor hook malloc and mmap.
  setenv("UCX_ERROR_SIGNALS", "", 0);
  setenv("UCX_MEM_EVENTS", "n", 0);
  setenv("UCX_LOG_LEVEL", "fatal", 0); // the engine reports a peer's death itself
  void *handle = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle)
    return Status(Error::carrierUnavailable, concat("ucx: cannot load '", file, "': ", dlerror()));
  Library library;
  const char *missing = nullptr;
#define TILEWRIGHT_UCX_FIND(name)                                                                  \
  if (!(library.name = reinterpret_cast<decltype(library.name)>(dlsym(handle, #name))))            \
    missing = #name;
  TILEWRIGHT_UCX_FUNCTIONS(TILEWRIGHT_UCX_FIND)
#undef TILEWRIGHT_UCX_FIND
  if (missing)
    return Status(Error::carrierUnavailable, concat("ucx: '", file, "' does not export ", missing,
                                                    "; UCX 1.12 or later is required"));
  return library;
}

Result<const Library *> Library::load(const std::string &file) {
  static std::mutex mutex;
  static std::map<std::string, Library> loaded; // guarded by mutex
  std::lock_guard lock(mutex);
  auto found = loaded.find(file);
  if (found == loaded.end()) {
    TILEWRIGHT_ASSIGN(Library library, open(file));
    found = loaded.emplace(file, library).first;
  }
  return &found->second;
}

} // namespace tilewright::collective::ucx
