// Events of this process, for the summary that `tilewright vgpu run` prints.
#ifndef TILEWRIGHT_VGPU_DRIVER_OBSERVE_SUMMARY_H
#define TILEWRIGHT_VGPU_DRIVER_OBSERVE_SUMMARY_H

#include "tilewright/vgpu/driver/observe/Observe.h"

#include <chrono>
#include <string>
#include <string_view>

namespace tilewright::vgpu::driver {

/// All of these functions are thread-safe. The notes are written to the summary folder soon
/// afterwards and at the end of the process, as lines with a kind and tab-separated values;
/// run/Collect reads them.
void noteLaunch(std::string_view kernel, std::chrono::nanoseconds time);
/// A failure, with its full text; also printed to standard error.
void noteFailure(std::string_view text);
/// A module that could not be loaded. This is not a failure, because the program may try another
/// one.
void noteRefusal(std::string_view text);
/// A function that the program requested and that the driver does not have.
void noteMissing(std::string_view function);
/// The findings of a check so far, as text. Only `tilewright vgpu run` prints it.
void noteReport(std::string_view check, std::string_view text);
/// Ends the observation of a launch, which may be null, and notes its findings. Returns the status
/// of the launch.
Status endObservation(Observation *observation, Status status);
void writeSummary();

/// escaped() encodes a text as one value of a line; unescaped() decodes it.
std::string escaped(std::string_view text);
std::string unescaped(std::string_view text);

} // namespace tilewright::vgpu::driver

#endif // TILEWRIGHT_VGPU_DRIVER_OBSERVE_SUMMARY_H
