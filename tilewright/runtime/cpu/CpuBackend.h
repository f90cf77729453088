// CpuBackend: the devices of a client are the cores of this machine.
#ifndef TILEWRIGHT_RUNTIME_CPU_CPUBACKEND_H
#define TILEWRIGHT_RUNTIME_CPU_CPUBACKEND_H

#include "tilewright/runtime/Client.h"

namespace tilewright::runtime::cpu {

/// Where custom calls of loaded programs are looked up; null means only those that the runtime
/// knows itself. The plugin has the frameworks' ones.
struct CpuBackendOptions {
  RuntimeOptions runtime;
};
std::unique_ptr<Backend> createBackend(const CpuBackendOptions &options);

/// A client with runtime.devices CPU devices.
Result<std::unique_ptr<Client>> createClient(const ClientOptions &options);

} // namespace tilewright::runtime::cpu

#endif // TILEWRIGHT_RUNTIME_CPU_CPUBACKEND_H
