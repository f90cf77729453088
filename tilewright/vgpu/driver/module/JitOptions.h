// Functions that the calls for loading modules share: reading a file, finding the log buffer.
#ifndef TILEWRIGHT_VGPU_DRIVER_MODULE_JITOPTIONS_H
#define TILEWRIGHT_VGPU_DRIVER_MODULE_JITOPTIONS_H

#include "tilewright/vgpu/driver/module/Module.h"

namespace tilewright::vgpu::driver {

CUresult readFile(const char *path, std::string &content);

/// The error log buffer in the options. The other options control the generation of machine code,
/// which the virtual GPU does not have.
LogBuffer errorLog(unsigned count, const CUjit_option *options, void **values);

} // namespace tilewright::vgpu::driver

#endif // TILEWRIGHT_VGPU_DRIVER_MODULE_JITOPTIONS_H
