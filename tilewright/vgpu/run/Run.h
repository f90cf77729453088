// `tilewright vgpu …`: runs a program with the virtual GPU in place of a real one.
#ifndef TILEWRIGHT_VGPU_RUN_RUN_H
#define TILEWRIGHT_VGPU_RUN_RUN_H

#include <span>
#include <string_view>

namespace tilewright::vgpu::run {

/// What stands behind `tilewright vgpu`. The result is the exit code: that of the program
/// that was run, or 2 for a wrong call, or 1 for what could not be started.
int runCommand(std::span<const std::string_view> arguments);

} // namespace tilewright::vgpu::run

#endif // TILEWRIGHT_VGPU_RUN_RUN_H
