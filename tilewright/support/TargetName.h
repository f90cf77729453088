// TargetName: parses `compile.target`, TILEWRIGHT_TARGET and --target.
#ifndef TILEWRIGHT_SUPPORT_TARGETNAME_H
#define TILEWRIGHT_SUPPORT_TARGETNAME_H

#include <string_view>

namespace tilewright {

/// "sm_90a" is an NVIDIA GPU, "cuda" the GPU of this machine, "vgpu:sm_90a" a virtual GPU. Every
/// other name is a CPU; the empty name and "cpu" are the CPU of this machine. The targets check
/// whether a chip exists.
struct TargetName {
  enum class Machine { cpu, gpu, virtualGpu };
  Machine machine = Machine::cpu;
  /// Empty for the chip of this machine.
  std::string_view chip;

  /// The result refers to the bytes of `target`.
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
