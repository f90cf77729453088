#include "tilewright/runtime/cpu/library/Library.h"

namespace tilewright::runtime::cpu {

#define TILEWRIGHT_LIBRARY_KERNEL(Call, prepare)                                                   \
  Result<std::unique_ptr<LibraryKernel>> prepare(const artifact::Call &call,                       \
                                                 const LibrarySignature &types);
#include "tilewright/runtime/cpu/library/Kernels.def"

namespace {
struct Prepare {
  const LibrarySignature &types;
#define TILEWRIGHT_LIBRARY_KERNEL(Call, prepare)                                                   \
  Result<std::unique_ptr<LibraryKernel>> operator()(const artifact::Call &call) const {            \
    return prepare(call, types);                                                                   \
  }
#include "tilewright/runtime/cpu/library/Kernels.def"
};
} // namespace

Result<std::unique_ptr<LibraryKernel>> prepareLibraryKernel(const artifact::LibraryCall &call,
                                                            const LibrarySignature &types) {
  return std::visit(Prepare{types}, call);
}

} // namespace tilewright::runtime::cpu
