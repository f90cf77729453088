// Global memory is the host's, so a wild pointer of a kernel is a fault of the host.
// Here it becomes a failure of the launch instead of the end of the process.
#ifndef TILEWRIGHT_VGPU_MACHINE_MEMORYFAULTS_H
#define TILEWRIGHT_VGPU_MACHINE_MEMORYFAULTS_H

#include "tilewright/vgpu/machine/Program.h"

#include <cstdint>

namespace tilewright::vgpu::machine {

/// An access to an address that is not mapped, or not for writing.
struct MemoryFault {
  uint64_t address = 0;
  const Op *op = nullptr; // null if it could not be told
};

/// Calls `work(argument)` in this thread. True if it ended; else it stopped at an access
/// to memory that is not there, `fault` says which, and what it had on its stack is left
/// as it is: nothing that it held is released, so only a launch that fails may go on.
///
/// The first call installs handlers for SIGSEGV and SIGBUS. Faults of other code go to
/// the handlers that were there before.
bool runCatchingFaults(const Program &program, void (*work)(void *argument), void *argument,
                       MemoryFault &fault);

} // namespace tilewright::vgpu::machine

#endif // TILEWRIGHT_VGPU_MACHINE_MEMORYFAULTS_H
