// What calls that load modules have in common.
#ifndef TILEWRIGHT_VGPU_DRIVER_JITOPTIONS_H
#define TILEWRIGHT_VGPU_DRIVER_JITOPTIONS_H

#include "tilewright/vgpu/driver/Module.h"

namespace tilewright::vgpu::driver {

CUresult readFile(const char *path, std::string &content);

/// Where the options say that errors go. The other options choose how machine code is
/// made, of which there is none.
LogBuffer errorLog(unsigned count, const CUjit_option *options, void **values);

} // namespace tilewright::vgpu::driver

#endif // TILEWRIGHT_VGPU_DRIVER_JITOPTIONS_H
