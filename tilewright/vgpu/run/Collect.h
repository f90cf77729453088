// The summaries that the processes of a run left, as one text.
#ifndef TILEWRIGHT_VGPU_RUN_COLLECT_H
#define TILEWRIGHT_VGPU_RUN_COLLECT_H

#include <string>

namespace tilewright::vgpu::run {

struct Collected {
  std::string text; // for people; ends with a line feed
  bool hasFailures = false;
  bool hasFindings = false; // of checks
};

/// Reads all `*.summary` of a folder.
Collected collect(const std::string &folder);

} // namespace tilewright::vgpu::run

#endif // TILEWRIGHT_VGPU_RUN_COLLECT_H
