// CodeMetadata: the parameters that the kernels of an AMD code object declare.
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
/// returns them, and the driver reads as many parameters as the code declares.
using KernelParameters = std::map<std::string, std::vector<size_t>, std::less<>>;

/// Reads the MessagePack note that compilers write for the driver. Empty if the ELF file has no
/// such note, or if anything in it is unexpected.
std::optional<KernelParameters> kernelParametersOf(std::string_view codeObject);

} // namespace tilewright::runtime::hip

#endif // TILEWRIGHT_RUNTIME_HIP_CODEMETADATA_H
