// What happened in this process, for the summary that `tilewright vgpu run` prints.
#ifndef TILEWRIGHT_VGPU_DRIVER_SUMMARY_H
#define TILEWRIGHT_VGPU_DRIVER_SUMMARY_H

#include <chrono>
#include <string>
#include <string_view>

namespace tilewright::vgpu::driver {

/// Each of these may be called from several threads. What is noted is written to the
/// folder of the settings soon after and at the end of the process, as lines of a kind
/// and values with tabs between them; run/Collect reads them.
void noteLaunch(std::string_view kernel, std::chrono::nanoseconds time);
/// A failure, with its whole text; printed to standard error as well.
void noteFailure(std::string_view text);
/// A function that was asked for and is not there.
void noteMissing(std::string_view function);
/// What a check found so far, as text for people; printed by the runner only.
void noteReport(std::string_view check, std::string_view text);
void writeSummary();

/// A text as one value of a line, and back.
std::string escaped(std::string_view text);
std::string unescaped(std::string_view text);

} // namespace tilewright::vgpu::driver

#endif // TILEWRIGHT_VGPU_DRIVER_SUMMARY_H
