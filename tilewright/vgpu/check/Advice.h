// The usual fix for a race, in terms of the language that the kernel is written in.
#ifndef TILEWRIGHT_VGPU_CHECK_ADVICE_H
#define TILEWRIGHT_VGPU_CHECK_ADVICE_H

#include "tilewright/vgpu/machine/Observer.h"
#include "tilewright/vgpu/machine/Program.h"

#include <cstdint>
#include <string>
#include <string_view>

namespace tilewright::vgpu::check {

/// The language or compiler that produced the PTX, inferred from the file names in its line table
/// and from the kernel's name; `amdgcn` is machine code of any compiler.
enum class Producer : uint8_t { ptx, cuda, triton, cute, cuteDsl, amdgcn };
Producer producerOf(const machine::Place &place, std::string_view kernel);

/// Two conflicting accesses without a happens-before order.
struct Conflict {
  /// The smallest scope that contains both threads.
  enum class Width : uint8_t { warp, block, cluster, grid, launches };
  Width width = Width::block;
  bool isShared = false;          // the memory is shared memory
  bool isSameInstruction = false; // lanes of one warp store by the same instruction
  bool areBothStrong = false;
  bool issuesOperation = false;  // the later access is an asynchronous operation
  bool isAfterOperation = false; // the earlier access is an asynchronous operation
  machine::GroupKind earlierOperation = machine::GroupKind::none; // kind of the earlier operation
};
std::string adviceFor(const Conflict &conflict, Producer producer);

/// The advice for a missing proxy fence.
std::string fenceAdvice(bool isTensorMap, bool isShared, Producer producer);

} // namespace tilewright::vgpu::check

#endif // TILEWRIGHT_VGPU_CHECK_ADVICE_H
