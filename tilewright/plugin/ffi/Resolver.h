// Resolver: finds the implementations of a program's custom calls.
#ifndef TILEWRIGHT_PLUGIN_FFI_RESOLVER_H
#define TILEWRIGHT_PLUGIN_FFI_RESOLVER_H

#include "tilewright/runtime/cpu/RunContext.h"

namespace tilewright::plugin::ffi {

/// Resolves Python callbacks first, then handlers that were registered by name. Thread-safe.
class Resolver final : public runtime::cpu::CustomCallResolver {
public:
  /// - customCallUnknown (E5034): no handler is registered for the target.
  Result<std::unique_ptr<runtime::cpu::CustomCall>>
  prepare(const runtime::cpu::CustomCallSite &site) override;
};

} // namespace tilewright::plugin::ffi

#endif // TILEWRIGHT_PLUGIN_FFI_RESOLVER_H
