// Combines the summaries written by the processes of a run into one text.
#ifndef TILEWRIGHT_VGPU_RUN_COLLECT_H
#define TILEWRIGHT_VGPU_RUN_COLLECT_H

#include <string>

namespace tilewright::vgpu::run {

struct Collected {
  std::string text; // for the user; ends with a line feed
  bool hasFailures = false;
  bool hasFindings = false; // the checks found errors
};

/// Reads all `*.summary` files of a folder.
Collected collect(const std::string &folder);

} // namespace tilewright::vgpu::run

#endif // TILEWRIGHT_VGPU_RUN_COLLECT_H
