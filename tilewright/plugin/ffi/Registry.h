// Handlers of custom calls, by name, and the types of what they keep.
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

/// One for the process, as handlers are registered before there is a client and
/// serve all of them. Thread-safe; what is registered stays.
class Registry {
public:
  static Registry &global();

  /// Asks the handlers for the version they were built for and keeps them. The same again is
  /// success.
  ///  - handlerInvalid (E8020): no execute stage, another version of the FFI, or other handlers
  ///    have the name.
  Status addHandlers(std::string_view name, const XLA_FFI_Handler_Bundle &bundle);
  std::optional<XLA_FFI_Handler_Bundle> find(std::string_view name) const;

  /// Gives a type an id, or keeps the one it has. `id` 0 asks for one.
  ///  - handlerInvalid (E8020): the name has another id.
  Status addType(std::string_view name, int64_t &id, void (*deleter)(void *));
  /// Destroys an object of the type; leaks it if nobody said how.
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
