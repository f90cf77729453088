// Recorded launches of real programs, to be repeated.
#ifndef TEST_VGPU_MUTATION_RECORDING_H
#define TEST_VGPU_MUTATION_RECORDING_H

#include "tilewright/support/Status.h"
#include "tilewright/vgpu/machine/Launch.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace tilewright::vgpu::mutation {

/// NAME.launch, NAME.ptx and NAME.memory as record_triton.py and GemmRunner write them: the launch
/// parameters of a kernel, and all memory that it was given. The memory is at an otherwise unused
/// fixed address, so pointers stay valid.
struct Recording {
  std::string text, kernel, chip, checks;
  std::array<uint32_t, 3> grid{}, block{}, cluster{};
  uint32_t dynamicSharedBytes = 0;
  bool isCooperative = false;
  std::vector<std::vector<std::byte>> parameters;
  uint64_t address = 0; // of the memory
  std::vector<std::byte> before;
  /// The memory after the kernel, in the eager order; empty if it depends on the order, as sums by
  /// atomics do. establish() sets it.
  std::vector<std::byte> after;

  /// Reads the recording at `path`, given without an ending.
  ///  - notFound: a file is missing. invalidArgument: a line is unknown.
  static Result<Recording> read(const std::string &path);

  /// Maps a copy of `before` at `address` in this process.
  Status restore() const;
  const std::byte *memory() const { return reinterpret_cast<const std::byte *>(address); }
};

} // namespace tilewright::vgpu::mutation

#endif // TEST_VGPU_MUTATION_RECORDING_H
