#include "tools/tilewright-reduce/VirtualGpuFindings.h"

#include "tilewright/support/Concat.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <unistd.h>

namespace tilewright::tools {

VirtualGpuFindings::VirtualGpuFindings()
    : path(concat(std::filesystem::temp_directory_path().string(), "/tilewright-findings.",
                  getpid(), ".txt")) {
  auto prefer = [](const char *variable, const char *value) {
    setenv(variable, value, /*overwrite=*/0);
  };
  prefer("TILEWRIGHT_VGPU_CHECK", "all");
  // Asynchronous copies complete, and warps run, in a random order.
  prefer("TILEWRIGHT_VGPU_ORDER", "seed:7");
  prefer("TILEWRIGHT_VGPU_THREADS", "1");
  // A kernel that fails must not fail the programs after it.
  prefer("TILEWRIGHT_VGPU_STICKY", "0");
  setenv("TILEWRIGHT_VGPU_REPORT", path.c_str(), /*overwrite=*/1);
  std::filesystem::remove(path);
}

std::string VirtualGpuFindings::takeNew() {
  std::ifstream file(path);
  std::string text((std::istreambuf_iterator<char>(file)), {});
  std::filesystem::remove(path);
  return text;
}

} // namespace tilewright::tools
