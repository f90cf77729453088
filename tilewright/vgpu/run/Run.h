// `tilewright vgpu …`: runs a program with the virtual GPU in place of a physical one.
#ifndef TILEWRIGHT_VGPU_RUN_RUN_H
#define TILEWRIGHT_VGPU_RUN_RUN_H

#include <span>
#include <string_view>

namespace tilewright::vgpu::run {

/// Implements `tilewright vgpu`. Returns the exit code, as listed by `--help`: that of the program,
/// or, if that is 0, 1 for findings of the checks and 3 for failed launches.
int runCommand(std::span<const std::string_view> arguments);

} // namespace tilewright::vgpu::run

#endif // TILEWRIGHT_VGPU_RUN_RUN_H
