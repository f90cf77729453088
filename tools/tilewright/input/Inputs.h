// The inputs of a program as the user specifies them: files, or values on the command line.
#ifndef TOOLS_TILEWRIGHT_INPUT_INPUTS_H
#define TOOLS_TILEWRIGHT_INPUT_INPUTS_H

#include "tilewright/interpret/Tensor.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tilewright::tools {

/// The type that the program expects at one position. A missing size is dynamic.
struct Parameter {
  numerics::ElementType type;
  std::vector<std::optional<int64_t>> dims;

  std::string toString() const; ///< "2x?xf32"
};

/// Reads the tensor for one parameter from `text`:
///
///   weights.npy           a file that numpy.save wrote
///   2x3xf32=1,2,3,4,5,6   all elements in row-major order
///   2x3xf32=0             the same value for all elements
///
/// - fileUnreadable, npyMalformed: as for readFile and parseNpy.
/// - inputMismatch: type, shape or number of elements differ from the parameter's.
Result<interpret::Tensor> readInput(std::string_view text, const Parameter &parameter,
                                    interpret::Context &context);

/// Writes the tensor as an .npy file.
Status writeNpy(const std::string &path, const interpret::Tensor &tensor);

} // namespace tilewright::tools

#endif // TOOLS_TILEWRIGHT_INPUT_INPUTS_H
