// Launches of real programs that were written down, to be repeated.
#ifndef TEST_VGPU_MUTATION_RECORDING_H
#define TEST_VGPU_MUTATION_RECORDING_H

#include "tilewright/support/Status.h"
#include "tilewright/vgpu/machine/Launch.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace tilewright::vgpu::mutation {

/// NAME.launch, NAME.ptx and NAME.memory as record_triton.py and GemmRunner write them:
/// what a kernel was launched with, and all memory that it was given. The memory is at an
/// address that nobody else uses, so pointers stay what they are.
struct Recording {
  std::string text, kernel, chip, checks;
  std::array<uint32_t, 3> grid{}, block{}, cluster{};
  uint32_t dynamicSharedBytes = 0;
  bool isCooperative = false;
  std::vector<std::vector<std::byte>> parameters;
  uint64_t address = 0; // of the memory
  std::vector<std::byte> before;
  /// What the kernel left, in the eager order; empty if it depends on the order, as sums
  /// by atomics do. Set by whoever ran it.
  std::vector<std::byte> after;

  /// `path` without its ending.
  ///  - notFound: a file is missing. invalidArgument: a line of it is not known.
  static Result<Recording> read(const std::string &path);

  /// Puts `before` at `address`, in this process.
  Status restore() const;
  const std::byte *memory() const { return reinterpret_cast<const std::byte *>(address); }
};

} // namespace tilewright::vgpu::mutation

#endif // TEST_VGPU_MUTATION_RECORDING_H
