// Gates: which products a version of a library may compute.
#ifndef TILEWRIGHT_RUNTIME_CUDA_LIBRARIES_GATES_H
#define TILEWRIGHT_RUNTIME_CUDA_LIBRARIES_GATES_H

#include "tilewright/artifact/ScaledProducts.h"

#include <array>
#include <string>
#include <string_view>

namespace tilewright::runtime::cuda::libraries {

enum class Library : uint8_t { cublasLt, cudnn };
/// In the order in which they are tried.
inline constexpr std::array allLibraries = {Library::cublasLt, Library::cudnn};

/// "cuBLASLt"
std::string_view nameOf(Library library);
/// "9.13.0" for 91300
std::string versionText(int version);
/// The oldest version that has block-scaled products, and the newest that is known.
int oldestVersion(Library library);
int newestVersion(Library library);

/// Why this version of the library must not compute the product on a GPU of this compute capability
/// (100 for sm_100); empty if it may.
std::string whyNot(Library library, int version, int capability,
                   const artifact::ScaledProduct &product);
/// The oldest version that may compute it on that GPU, for explanations; 0 if none may.
int firstVersionFor(Library library, int capability, const artifact::ScaledProduct &product);

} // namespace tilewright::runtime::cuda::libraries

#endif // TILEWRIGHT_RUNTIME_CUDA_LIBRARIES_GATES_H
