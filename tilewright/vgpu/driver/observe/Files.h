// The files that observations of launches write.
#ifndef TILEWRIGHT_VGPU_DRIVER_OBSERVE_FILES_H
#define TILEWRIGHT_VGPU_DRIVER_OBSERVE_FILES_H

#include "tilewright/vgpu/driver/observe/Observe.h"

#include <filesystem>
#include <string>

namespace tilewright::vgpu::driver {

/// The path of a launch's files without an ending, FOLDER/3-softmax. Makes the folder.
std::filesystem::path makeStem(const LaunchFacts &facts);

/// Writes a file. Only prints a failure: observing must not make a launch fail.
void writeFile(const std::filesystem::path &path, const std::string &text);

} // namespace tilewright::vgpu::driver

#endif // TILEWRIGHT_VGPU_DRIVER_OBSERVE_FILES_H
