// What the functions of the C header share.
#ifndef TILEWRIGHT_VGPU_MACHINE_CAPIMODULE_H
#define TILEWRIGHT_VGPU_MACHINE_CAPIMODULE_H

#include "tilewright/vgpu/include/tilewright_vgpu.h"
#include "tilewright/vgpu/machine/Launch.h"

struct tilewright_vgpu_module {
  std::unique_ptr<tilewright::vgpu::machine::LoadedModule> module;
};

namespace tilewright::vgpu::machine {

/// A text for the caller to free; null if there is no memory.
char *handOver(const std::string &text);
/// Hands the text of a failure over, and gives its code.
int handOver(const Status &status, char **error);
/// Without the threads, which the caller must keep.
LaunchConfig launchConfigOf(const tilewright_vgpu_config &config);

} // namespace tilewright::vgpu::machine

#endif // TILEWRIGHT_VGPU_MACHINE_CAPIMODULE_H
