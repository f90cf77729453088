// TargetName: parses `compile.target`, TILEWRIGHT_TARGET and --target.
#ifndef TILEWRIGHT_SUPPORT_TARGETNAME_H
#define TILEWRIGHT_SUPPORT_TARGETNAME_H

#include <string_view>

namespace tilewright {

/// "sm_90a" is an NVIDIA GPU and "gfx950" an AMD GPU, "cuda" and "rocm" are the GPU of this
/// machine, "vgpu:sm_90a" and "vgpu:gfx950" virtual GPUs. Every other name is a CPU; the empty name
/// and "cpu" are the CPU of this machine. The targets check whether a chip exists.
struct TargetName {
  enum class Machine { cpu, gpu, virtualGpu };
  enum class Vendor { nvidia, amd };
  Machine machine = Machine::cpu;
  /// Empty for the chip of this machine.
  std::string_view chip;
  Vendor vendor = Vendor::nvidia; // of a GPU

  /// The result refers to the bytes of `target`.
  static TargetName of(std::string_view target) {
    constexpr std::string_view inSoftware = "vgpu:";
    if (target.starts_with(inSoftware))
      return gpu(Machine::virtualGpu, target.substr(inSoftware.size()));
    if (target == "cuda" || target == "rocm")
      return {Machine::gpu, {}, target == "rocm" ? Vendor::amd : Vendor::nvidia};
    if (target.starts_with("sm_") || target.starts_with(amdPrefix))
      return gpu(Machine::gpu, target);
    return {Machine::cpu, target == "cpu" ? std::string_view() : target};
  }

  bool isGpu() const { return machine != Machine::cpu; }
  bool isAmd() const { return isGpu() && vendor == Vendor::amd; }

private:
  static constexpr std::string_view amdPrefix = "gfx";
  static TargetName gpu(Machine machine, std::string_view chip) {
    return {machine, chip, chip.starts_with(amdPrefix) ? Vendor::amd : Vendor::nvidia};
  }
};

} // namespace tilewright

#endif // TILEWRIGHT_SUPPORT_TARGETNAME_H
