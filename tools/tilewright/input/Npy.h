// Reads and writes NumPy's .npy files, the command line's format for tensors.
#ifndef TOOLS_TILEWRIGHT_INPUT_NPY_H
#define TOOLS_TILEWRIGHT_INPUT_NPY_H

#include "tilewright/numerics/Shape.h"
#include "tilewright/support/Status.h"

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace tilewright::tools {

/// The header of an .npy file, and its elements.
struct NpyArray {
  std::string descriptor; ///< "<f4"; "<V2" or "|V1" for types NumPy does not know
  numerics::Shape shape;
  std::span<const std::byte> elements; ///< into the bytes that were parsed
};

/// Reads versions 1.0 to 3.0, row-major, little-endian.
///  - npyMalformed: not an .npy file, or its size does not match its header.
Result<NpyArray> parseNpy(std::span<const std::byte> file);

/// Whether an array with this descriptor can hold elements of `type`. ml_dtypes saves bf16, f8 and
/// smaller types as raw bytes ("<V2", "|V1"). Those match any type of the same size, so the
/// program's own type decides.
bool matches(std::string_view descriptor, numerics::ElementType type);

/// The header, version 1.0, that precedes row-major elements of `type`.
std::string npyHeader(numerics::ElementType type, const numerics::Shape &shape);

} // namespace tilewright::tools

#endif // TOOLS_TILEWRIGHT_INPUT_NPY_H
