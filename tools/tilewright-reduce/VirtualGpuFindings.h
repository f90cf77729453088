// VirtualGpuFindings: what the checks of the virtual GPU report while this process runs programs.
#ifndef TOOLS_TILEWRIGHT_REDUCE_VIRTUALGPUFINDINGS_H
#define TOOLS_TILEWRIGHT_REDUCE_VIRTUALGPUFINDINGS_H

#include <string>

namespace tilewright::tools {

/// Turns the checks of the virtual GPU on. Create it before the driver is loaded, which reads its
/// settings once. Settings in the environment (TILEWRIGHT_VGPU_CHECK, _ORDER, _THREADS) win.
class VirtualGpuFindings {
public:
  VirtualGpuFindings();

  /// The report, if it has findings that it did not have at the last call, otherwise "".
  std::string takeNew();

private:
  std::string path; // the driver writes the report there whenever there is a new finding
};

} // namespace tilewright::tools

#endif // TOOLS_TILEWRIGHT_REDUCE_VIRTUALGPUFINDINGS_H
