// Global memory is host memory, so an invalid pointer in a kernel causes a memory fault in the
// process. This file turns the fault into a failure of the launch.
#ifndef TILEWRIGHT_VGPU_MACHINE_MEMORY_MEMORYFAULTS_H
#define TILEWRIGHT_VGPU_MACHINE_MEMORY_MEMORYFAULTS_H

#include "tilewright/vgpu/machine/Program.h"

#include <cstdint>

namespace tilewright::vgpu::machine {

/// An access to an address that is not mapped, or not writable.
struct MemoryFault {
  uint64_t address = 0;
  const Op *op = nullptr; // null if it could not be determined
};

/// Calls `work(argument)` in this thread. Returns true if `work` returned. Returns false if it
/// stopped at an access to unmapped memory: `fault` describes the access. The objects on the stack
/// of `work` are not destroyed, so the caller must fail the launch.
///
/// The first call installs handlers for SIGSEGV and SIGBUS. Faults in other code are passed to the
/// previously installed handlers.
bool runCatchingFaults(const Program &program, void (*work)(void *argument), void *argument,
                       MemoryFault &fault);

} // namespace tilewright::vgpu::machine

#endif // TILEWRIGHT_VGPU_MACHINE_MEMORY_MEMORYFAULTS_H
