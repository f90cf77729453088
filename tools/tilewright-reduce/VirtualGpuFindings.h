// VirtualGpuFindings: the reports of the virtual GPU's checks while this process runs programs.
#ifndef TOOLS_TILEWRIGHT_REDUCE_VIRTUALGPUFINDINGS_H
#define TOOLS_TILEWRIGHT_REDUCE_VIRTUALGPUFINDINGS_H

#include <string>

namespace tilewright::tools {

/// Turns the checks of the virtual GPU on. Create it before the driver is loaded, which reads its
/// settings once. Settings in the environment (TILEWRIGHT_VGPU_CHECK, _ORDER, _THREADS) take
/// precedence.
class VirtualGpuFindings {
public:
  VirtualGpuFindings();

  /// The report, if it contains findings that were not there at the last call; otherwise "".
  std::string takeNew();

private:
  std::string path; // the driver writes the report there whenever there is a new finding
};

} // namespace tilewright::tools

#endif // TOOLS_TILEWRIGHT_REDUCE_VIRTUALGPUFINDINGS_H
