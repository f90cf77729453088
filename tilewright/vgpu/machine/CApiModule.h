// Helpers shared by the functions of the C header.
#ifndef TILEWRIGHT_VGPU_MACHINE_CAPIMODULE_H
#define TILEWRIGHT_VGPU_MACHINE_CAPIMODULE_H

#include "tilewright/vgpu/include/tilewright_vgpu.h"
#include "tilewright/vgpu/machine/Launch.h"

struct tilewright_vgpu_module {
  std::unique_ptr<tilewright::vgpu::machine::LoadedModule> module;
};

namespace tilewright::vgpu::machine {

/// Copies a text into memory that the caller must free; returns null if out of memory.
char *handOver(const std::string &text);
/// Passes the message of a failure to the caller, and returns the error code.
int handOver(const Status &status, char **error);
/// Converts the C API's configuration, except the thread pool, which the caller sets and owns.
LaunchConfig launchConfigOf(const tilewright_vgpu_config &config);

} // namespace tilewright::vgpu::machine

#endif // TILEWRIGHT_VGPU_MACHINE_CAPIMODULE_H
