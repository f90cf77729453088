// The lists of a ragged_all_to_all as a program has them, for engines.
//
// The step of the plan has six operands: the rows, the initial value of the result, input offsets,
// send sizes, output offsets and receive sizes. Output offsets are those in the receiver's result
// on CPUs, and on GPUs those that this rank has received: in its own result.
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
