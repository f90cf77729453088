// linkLibrary(): adds the functions of a device library that kernels call.
#ifndef TILEWRIGHT_TARGET_NVPTX_LINKLIBRARY_H
#define TILEWRIGHT_TARGET_NVPTX_LINKLIBRARY_H

#include "tilewright/support/Status.h"

#include "llvm/IR/Module.h"

#include <string>

namespace tilewright::nvptx {

/// The minimum version of PTX of a module with a library: NVSHMEM's code for networks has fences of
/// PTX 8.6.
inline constexpr uint32_t libraryPtxVersion = 86;

/// Links what `code` calls from the LLVM bitcode at `path`, as functions that are private to the
/// module. The library's variables stay visible, because a host sets them
/// (nvshmemi_device_state_d). Does nothing if `code` calls nothing.
///  - gpuCodegen: no path, not readable, or a function is not in the library.
Status linkLibrary(llvm::Module &code, const std::string &path);

} // namespace tilewright::nvptx

#endif // TILEWRIGHT_TARGET_NVPTX_LINKLIBRARY_H
