// Changes one instruction of a kernel after the other, and tells which changes the checker finds.
#ifndef TEST_VGPU_AMDGCN_MUTANTS_H
#define TEST_VGPU_AMDGCN_MUTANTS_H

#include "tilewright/vgpu/amdgcn/execute/Launch.h"

#include <functional>

namespace tilewright::vgpu::amdgcn {

/// A launch that can be repeated.
struct Case {
  std::vector<char> file;
  std::string kernel;
  LaunchConfig config;
  std::vector<std::byte> arguments;
  std::vector<std::span<char>> buffers;
};

/// Runs the original and all mutants of the kinds in `kinds` ("waitcnt", "barrier", "nop",
/// "setprio", "lds"), every `step`-th from `first` on. Prints a line for each:
///
///   KIND CHANGE ADDRESS VERDICT EVIDENCE
///
/// The verdict is `named` (the checker names an instruction), `wrong` (only values differ),
/// `unexecuted`, or `harmless`: no finding and equal values in all orders.
Status runMutants(Case &original, const std::vector<std::string> &kinds, size_t first, size_t step);

} // namespace tilewright::vgpu::amdgcn

#endif // TEST_VGPU_AMDGCN_MUTANTS_H
