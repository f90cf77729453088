// CodeMetadata: the parameters that the kernels of a code object of AMD declare.
#ifndef TILEWRIGHT_RUNTIME_HIP_CODEMETADATA_H
#define TILEWRIGHT_RUNTIME_HIP_CODEMETADATA_H

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tilewright::runtime::hip {

/// The sizes in bytes of the parameters that a caller passes, by kernel. HIP has no function that
/// tells them, and a driver reads as many as the code declares.
using KernelParameters = std::map<std::string, std::vector<size_t>, std::less<>>;

/// Reads the note in MessagePack that compilers write for the driver. Nothing if the ELF file has
/// no such note, or if anything in it is not as expected.
std::optional<KernelParameters> kernelParametersOf(std::string_view codeObject);

} // namespace tilewright::runtime::hip

#endif // TILEWRIGHT_RUNTIME_HIP_CODEMETADATA_H
