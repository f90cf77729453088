#include "tilewright/runtime/cuda/libraries/LibraryEngine.h"
#include "tilewright/support/Concat.h"

#include <dlfcn.h>

namespace tilewright::runtime::cuda::libraries {

Status loadFunctions(const std::string &file, std::span<const char *const> names,
                     std::span<void *> addresses) {
  void *handle = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle)
    return Status(Code::unavailable, concat("cannot be loaded: ", dlerror()));
  for (size_t i = 0; i < names.size(); ++i) {
    addresses[i] = dlsym(handle, names[i]);
    if (!addresses[i])
      return Status(Code::unavailable, concat("'", file, "' does not export ", names[i]));
  }
  return Status();
}

} // namespace tilewright::runtime::cuda::libraries
