// The settings of the virtual NCCL from environment variables.
#ifndef TILEWRIGHT_VGPU_NCCL_SETTINGS_H
#define TILEWRIGHT_VGPU_NCCL_SETTINGS_H

#include "tilewright/vgpu/nccl/NcclTypes.h"

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tilewright::vgpu::nccl {

/// An injected fault, in a call or in the work of a call on its stream.
struct Fault {
  enum class Action : uint8_t { fail, delay, die, hang };
  Action action = Action::fail;
  std::string function; // ncclAllReduce; empty: every function
  int rank = -1;        // -1: every rank
  uint64_t number = 0;  // the how-manieth call of it, from 1; 0: every call
  bool onDevice = false;
  ncclResult_t result = ncclSystemError;
  std::chrono::milliseconds delay{0};
};

struct Settings {
  int version = 22809;
  std::chrono::nanoseconds timeLimit{0}; // of a wait for other ranks; 0: none
  std::string logPath;                   // empty: no log
  bool reportsLeaks = false;
  std::vector<Fault> faults;
  std::string problem; // why a variable could not be understood; empty: all could

  static const Settings &get();
};

/// Reads "fail rank=1 call=ncclAllReduce number=3 result=2; delay ms=20 at=device". Returns why it
/// cannot, or an empty text.
std::string parseFaults(std::string_view text, std::vector<Fault> &faults);

/// Applies the faults to the call of `function` by `rank` that begins now. It may sleep, end the
/// process, or never return; otherwise returns the result with which the call fails, or
/// ncclSuccess.
ncclResult_t meetFaults(std::string_view function, int rank, bool onDevice);

} // namespace tilewright::vgpu::nccl

#endif // TILEWRIGHT_VGPU_NCCL_SETTINGS_H
