#include "tilewright/runtime/cpu/library/Library.h"

#include "tilewright/support/Concat.h"

#include <algorithm>
#include <string>

namespace tilewright::runtime::cpu {

using Prepare = Result<std::unique_ptr<LibraryKernel>>(const LibraryCall &call);

#define TILEWRIGHT_LIBRARY_KERNEL(name, prepare) Prepare prepare;
#include "tilewright/runtime/cpu/library/Kernels.def"

namespace {
struct Row {
  std::string_view name;
  Prepare *prepare;
};
} // namespace

static const Row rows[] = {
#define TILEWRIGHT_LIBRARY_KERNEL(name, prepare) {name, prepare},
#include "tilewright/runtime/cpu/library/Kernels.def"
};

static const Row *rowNamed(std::string_view name) {
  const Row *row = std::find_if(std::begin(rows), std::end(rows),
                                [&](const Row &each) { return each.name == name; });
  return row == std::end(rows) ? nullptr : row;
}

bool hasLibraryKernel(std::string_view name) { return rowNamed(name) != nullptr; }

Result<std::unique_ptr<LibraryKernel>> prepareLibraryKernel(const LibraryCall &call) {
  if (const Row *row = rowNamed(call.name))
    return row->prepare(call);
  return Status(Error::libraryUnknown,
                concat("the library has no kernel '", call.name,
                       "'; the executable was made by a newer compiler, or for a custom call that "
                       "nobody registered"));
}

} // namespace tilewright::runtime::cpu
