// TargetName: what `compile.target`, TILEWRIGHT_TARGET and --target say.
#ifndef TILEWRIGHT_SUPPORT_TARGETNAME_H
#define TILEWRIGHT_SUPPORT_TARGETNAME_H

#include <string_view>

namespace tilewright {

/// "sm_90a" is an NVIDIA GPU, "cuda" the machine's, "vgpu:sm_90a" one in software; every other name
/// is a CPU's, and none is this machine's. Whether there is such a chip the targets know.
struct TargetName {
  enum class Machine { cpu, gpu, virtualGpu };
  Machine machine = Machine::cpu;
  /// Empty where the machine is to be asked.
  std::string_view chip;

  /// Views `target`.
  static TargetName of(std::string_view target) {
    constexpr std::string_view inSoftware = "vgpu:";
    if (target.starts_with(inSoftware))
      return {Machine::virtualGpu, target.substr(inSoftware.size())};
    if (target == "cuda")
      return {Machine::gpu, {}};
    if (target.starts_with("sm_"))
      return {Machine::gpu, target};
    return {Machine::cpu, target == "cpu" ? std::string_view() : target};
  }

  bool isGpu() const { return machine != Machine::cpu; }
};

} // namespace tilewright

#endif // TILEWRIGHT_SUPPORT_TARGETNAME_H
