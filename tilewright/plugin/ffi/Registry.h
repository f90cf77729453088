// Handlers of custom calls, by name, and the types of their state.
#ifndef TILEWRIGHT_PLUGIN_FFI_REGISTRY_H
#define TILEWRIGHT_PLUGIN_FFI_REGISTRY_H

#include "tilewright/support/Status.h"

#include <xla/ffi/api/c_api.h>

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

namespace tilewright::plugin::ffi {

/// The memory that a handler works on.
enum class Platform {
  host, // registered with JAX for "cpu" ("Host" in XLA)
  cuda, // for "CUDA": pointers are of device memory, and the handler gets the stream
  rocm  // for "ROCM": the same for GPUs of AMD
};

/// The platform of a name that handlers are registered for; nullopt if this plugin has no such
/// devices. An empty name is the host's.
std::optional<Platform> platformNamed(std::string_view name);

/// The process has a single registry: handlers are registered before any client exists and serve
/// all clients. Thread-safe; registrations are permanent.
class Registry {
public:
  static Registry &global();

  /// Queries the FFI version that the handlers were built for and registers them. Registering the
  /// same handlers again succeeds.
  ///  - handlerInvalid (E8020): the bundle has no execute stage, the FFI version differs, or other
  ///    handlers are registered under the name for the same platform.
  Status addHandlers(std::string_view name, Platform platform,
                     const XLA_FFI_Handler_Bundle &bundle);
  std::optional<XLA_FFI_Handler_Bundle> find(std::string_view name, Platform platform) const;

  /// Assigns an id to a type, or returns its existing id. `id` 0 requests a new one.
  ///  - handlerInvalid (E8020): the name already has a different id.
  Status addType(std::string_view name, int64_t &id, void (*deleter)(void *));
  /// Destroys an object of the type; leaks it if the type was registered without a deleter.
  void destroy(int64_t type, void *object) const;

private:
  struct Type {
    int64_t id = 0;
    void (*deleter)(void *) = nullptr;
  };
  mutable std::mutex mutex;
  // guarded by mutex:
  std::map<std::string, XLA_FFI_Handler_Bundle, std::less<>> handlers[3]; // by platform
  std::map<std::string, Type, std::less<>> types;
  // Far above the ids that XLA assigns, with which types of JAX are registered.
  int64_t nextType = int64_t(1) << 32;
};

} // namespace tilewright::plugin::ffi

#endif // TILEWRIGHT_PLUGIN_FFI_REGISTRY_H
