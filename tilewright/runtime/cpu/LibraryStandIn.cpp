// What tests link as long as no library of kernels is built.
#include "tilewright/runtime/cpu/library/Library.h"

namespace tilewright::runtime::cpu {

Result<std::unique_ptr<LibraryKernel>> prepareLibraryKernel(const LibraryCall &call) {
  return Status(Code::unimplemented, "no library kernels, so not " + std::string(call.name));
}

} // namespace tilewright::runtime::cpu
