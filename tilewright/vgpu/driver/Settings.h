// What the environment says about the virtual GPU.
#ifndef TILEWRIGHT_VGPU_DRIVER_SETTINGS_H
#define TILEWRIGHT_VGPU_DRIVER_SETTINGS_H

#include "tilewright/support/Status.h"
#include "tilewright/vgpu/machine/Launch.h"

#include <string>
#include <string_view>
#include <vector>

namespace tilewright::vgpu::driver {

/// Settings.cpp has the names of the variables, in one table that also documents them.
struct Settings {
  std::vector<const machine::Chip *> chips; // device i has chips[i % size]
  int devices = 1;
  unsigned threads = 1;
  uint64_t memoryBytes = 0; // of a device; 0: what the card has, if the host has it
  machine::Arithmetic arithmetic = machine::Arithmetic::exact;
  bool defaultStreamWaits = true; // a call that gives work to the default stream waits for it
  bool stickyErrors = true;       // a kernel that failed makes its context useless
  bool verbose = false;           // says why a call failed
  std::vector<std::string> checks;
  std::string reportPath;     // of the checks; empty: only in the summary
  std::string countDirectory; // of counts; empty: they are printed
  machine::Completion completion = machine::Completion::eager;
  uint64_t seed = 0;
  std::string summaryDirectory; // empty: no summary

  ///  - vgpuSetting: a variable has a value that is not possible.
  static Result<Settings> fromEnvironment();
};

struct Setting {
  std::string_view variable; // TILEWRIGHT_VGPU_CHIP
  std::string_view flag;     // of `tilewright vgpu run`: chip
  std::string_view value;    // what it takes, for the help
  std::string_view summary;
};
/// All of them, for the help and for whoever sets them.
std::span<const Setting> settingTable();

} // namespace tilewright::vgpu::driver

#endif // TILEWRIGHT_VGPU_DRIVER_SETTINGS_H
