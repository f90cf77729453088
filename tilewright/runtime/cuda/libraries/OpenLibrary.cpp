#include "tilewright/runtime/cuda/libraries/HandleEngine.h"
#include "tilewright/support/Concat.h"

#include <dlfcn.h>

namespace tilewright::runtime::cuda::libraries {

Result<OpenLibrary> OpenLibrary::open(const std::string &file) {
  void *handle = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle)
    return Status(Code::unavailable, concat("cannot be loaded: ", dlerror()));
  return OpenLibrary(file, handle);
}

Result<void *> OpenLibrary::find(const char *name) const {
  void *address = dlsym(handle, name);
  if (!address)
    return Status(Code::unavailable, concat("'", file, "' does not export ", name));
  return address;
}

} // namespace tilewright::runtime::cuda::libraries
