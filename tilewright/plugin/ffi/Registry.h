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

/// The process has a single registry: handlers are registered before any client exists and serve
/// all clients. Thread-safe; registrations are permanent.
class Registry {
public:
  static Registry &global();

  /// Queries the FFI version that the handlers were built for and registers them. Registering the
  /// same handlers again succeeds.
  ///  - handlerInvalid (E8020): the bundle has no execute stage, the FFI version differs, or other
  ///    handlers are registered under the name.
  Status addHandlers(std::string_view name, const XLA_FFI_Handler_Bundle &bundle);
  std::optional<XLA_FFI_Handler_Bundle> find(std::string_view name) const;

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
  std::map<std::string, XLA_FFI_Handler_Bundle, std::less<>> handlers; // guarded by mutex
  std::map<std::string, Type, std::less<>> types;                      // guarded by mutex
  int64_t nextType = 1;                                                // guarded by mutex
};

} // namespace tilewright::plugin::ffi

#endif // TILEWRIGHT_PLUGIN_FFI_REGISTRY_H
