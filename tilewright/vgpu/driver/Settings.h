// The settings of the virtual GPU from environment variables.
#ifndef TILEWRIGHT_VGPU_DRIVER_SETTINGS_H
#define TILEWRIGHT_VGPU_DRIVER_SETTINGS_H

#include "tilewright/chips/Amd.h"
#include "tilewright/support/Status.h"
#include "tilewright/vgpu/machine/Launch.h"

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

namespace tilewright::vgpu::driver {

enum class Vendor : uint8_t { nvidia, amd };

/// The table in Settings.cpp names and documents the variables.
struct Settings {
  // Device i has chips[i % size]. One of the lists is empty: all chips are of the same vendor.
  std::vector<const machine::Chip *> chips;
  std::vector<const chips::AmdChip *> amdChips;
  int devices = 1;
  unsigned threads = 1;
  uint64_t memoryBytes = 0; // per device; 0: that of the card, limited to that of the host
  machine::Arithmetic arithmetic = machine::Arithmetic::exact;
  bool defaultStreamWaits = true;        // calls that submit work to the default stream wait for it
  bool stickyErrors = true;              // a failed kernel makes its context unusable
  bool verbose = false;                  // print why a call failed
  std::chrono::nanoseconds timeLimit{0}; // of a launch; 0: none
  bool usesHostMemory = false;           // kernels may access host memory that was not registered
  std::vector<std::string> checks;
  std::string reportPath;     // for the checks; empty: only in the summary
  std::string countDirectory; // for counts; empty: print them
  machine::Completion completion = machine::Completion::eager;
  uint64_t seed = 0;
  std::string summaryDirectory; // empty: no summary

  Vendor vendor() const { return amdChips.empty() ? Vendor::nvidia : Vendor::amd; }

  /// Reads the environment variables. `vendor` is that of the chip if none is set.
  ///  - vgpuSetting: a variable has an invalid value.
  static Result<Settings> fromEnvironment(Vendor vendor = Vendor::nvidia);
};

struct Setting {
  std::string_view variable; // TILEWRIGHT_VGPU_CHIP
  std::string_view flag;     // name of the option of `tilewright vgpu run`: chip
  std::string_view value;    // the values it takes, for the help text
  std::string_view summary;
};
/// All settings, for the help text and for the code that sets them.
std::span<const Setting> settingTable();

} // namespace tilewright::vgpu::driver

#endif // TILEWRIGHT_VGPU_DRIVER_SETTINGS_H
