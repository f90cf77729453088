// Machine: which instructions this processor and its system let a program use.
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

/// Every feature that is known, and whether the processor has it and the system
/// keeps its registers. Asked once; thread-safe.
std::span<const MachineFeature> machineFeatures();

/// Fails with machineFeature if object code for `target` could meet an
/// instruction that this machine does not have, and names what is missing. Asks
/// the system for the tile registers if `target` needs them.
Status checkMachine(const artifact::Target &target);

} // namespace tilewright::runtime::cpu

#endif // TILEWRIGHT_RUNTIME_CPU_MACHINE_H
