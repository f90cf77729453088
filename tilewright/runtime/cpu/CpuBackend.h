// CpuBackend: CPU devices on this machine.
#ifndef TILEWRIGHT_RUNTIME_CPU_CPUBACKEND_H
#define TILEWRIGHT_RUNTIME_CPU_CPUBACKEND_H

#include "tilewright/runtime/Client.h"
#include "tilewright/runtime/cpu/RunContext.h"

namespace tilewright::runtime::cpu {

/// `customCalls` finds the handlers of custom calls when a program is loaded; without it, a program
/// with custom calls cannot be loaded. In a run, RunContext::device is the runtime's Device and
/// RunContext::userContext is the pointer that the caller of execute passed.
std::unique_ptr<Backend> createBackend(const RuntimeOptions &options,
                                       std::shared_ptr<CustomCallResolver> customCalls = nullptr);

/// A client with runtime.devices CPU devices.
Result<std::unique_ptr<Client>>
createClient(const ClientOptions &options,
             std::shared_ptr<CustomCallResolver> customCalls = nullptr);

} // namespace tilewright::runtime::cpu

#endif // TILEWRIGHT_RUNTIME_CPU_CPUBACKEND_H
