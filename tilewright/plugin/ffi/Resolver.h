// Resolver: finds the implementations of a program's custom calls.
#ifndef TILEWRIGHT_PLUGIN_FFI_RESOLVER_H
#define TILEWRIGHT_PLUGIN_FFI_RESOLVER_H

#include "tilewright/plugin/ffi/Registry.h"
#include "tilewright/runtime/CustomCall.h"

namespace tilewright::plugin::ffi {

/// Resolves Python callbacks first, then handlers that were registered by name: those for the
/// devices' own platform, then those for the host. Thread-safe.
class Resolver final : public runtime::CustomCallResolver {
public:
  explicit Resolver(Platform devices) : devices(devices) {}
  /// - customCallUnknown (E5034): no handler is registered for the target.
  Result<std::unique_ptr<runtime::CustomCall>>
  prepare(const runtime::CustomCallSite &site) override;

private:
  const Platform devices;
};

} // namespace tilewright::plugin::ffi

#endif // TILEWRIGHT_PLUGIN_FFI_RESOLVER_H
