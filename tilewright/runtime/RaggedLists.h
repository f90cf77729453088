// Converts the lists of a ragged_all_to_all from the form in programs to the form that engines
// take.
//
// The step of the plan has six operands: the rows, the initial value of the result, input offsets,
// send sizes, output offsets and receive sizes. On CPUs, output offsets are positions in the
// receiver's result. On GPUs, they are positions in this rank's own result, which it has received
// from the others.
#ifndef TILEWRIGHT_RUNTIME_RAGGEDLISTS_H
#define TILEWRIGHT_RUNTIME_RAGGEDLISTS_H

#include "tilewright/artifact/Executable.h"

#include <span>
#include <vector>

namespace tilewright::runtime {

/// Call::ragged from lists of any integer types in host memory, which need not be aligned.
std::vector<int64_t> raggedLists(std::span<const std::byte *const> lists,
                                 std::span<const artifact::TensorType> types);

} // namespace tilewright::runtime

#endif // TILEWRIGHT_RUNTIME_RAGGEDLISTS_H
