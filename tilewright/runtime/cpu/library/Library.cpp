#include "tilewright/runtime/cpu/library/Library.h"

#include "tilewright/support/Concat.h"

#include <algorithm>
#include <string>

namespace tilewright::runtime::cpu {

using Prepare = Result<std::unique_ptr<LibraryKernel>>(const LibraryCall &call);

#define TILEWRIGHT_LIBRARY_KERNEL(name, prepare) Prepare prepare;
#include "tilewright/runtime/cpu/library/Kernels.def"

namespace {
struct KernelEntry {
  std::string_view name;
  Prepare *prepare;
};
} // namespace

static const KernelEntry kernels[] = {
#define TILEWRIGHT_LIBRARY_KERNEL(name, prepare) {name, prepare},
#include "tilewright/runtime/cpu/library/Kernels.def"
};

static const KernelEntry *findKernel(std::string_view name) {
  const KernelEntry *entry =
      std::find_if(std::begin(kernels), std::end(kernels),
                   [&](const KernelEntry &each) { return each.name == name; });
  return entry == std::end(kernels) ? nullptr : entry;
}

bool hasLibraryKernel(std::string_view name) { return findKernel(name) != nullptr; }

Result<std::unique_ptr<LibraryKernel>> prepareLibraryKernel(const LibraryCall &call) {
  if (const KernelEntry *entry = findKernel(call.name))
    return entry->prepare(call);
  return Status(
      Error::libraryUnknown,
      concat("the library has no kernel '", call.name,
             "'; the executable was compiled by a newer version, or contains a custom call "
             "without a registered handler"));
}

} // namespace tilewright::runtime::cpu
