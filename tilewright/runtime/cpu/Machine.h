// Machine: the instruction set extensions that the processor has and the operating system enables.
#ifndef TILEWRIGHT_RUNTIME_CPU_MACHINE_H
#define TILEWRIGHT_RUNTIME_CPU_MACHINE_H

#include "tilewright/artifact/Executable.h"
#include "tilewright/support/Status.h"

#include <span>
#include <string_view>

namespace tilewright::runtime::cpu {

struct MachineFeature {
  std::string_view name; // as LLVM spells it: "avx512vl", "amx-bf16"
  bool isThere;
};

/// All known features, and for each whether the processor has it and the operating system saves its
/// registers. Computed once; thread-safe.
std::span<const MachineFeature> machineFeatures();

/// Fails with machineFeature if object code for `target` may contain instructions that this machine
/// lacks, and names the missing features. Requests the AMX tile registers from the operating system
/// if `target` needs them.
Status checkMachine(const artifact::Target &target);

} // namespace tilewright::runtime::cpu

#endif // TILEWRIGHT_RUNTIME_CPU_MACHINE_H
