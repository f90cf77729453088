// Returns bytes to the caller together with the function that frees them; four handles of the C API
// work this way.
#ifndef TILEWRIGHT_PLUGIN_EXECUTE_SERIALIZED_H
#define TILEWRIGHT_PLUGIN_EXECUTE_SERIALIZED_H

#include <cstddef>
#include <string>

namespace tilewright::plugin {

/// Fills the four output fields. `Handle` is the C API's opaque type; the handle points to our
/// std::string.
template <typename Handle>
void giveSerialized(std::string bytes, const char *&data, size_t &size, Handle *&handle,
                    void (*&deleter)(Handle *)) {
  auto *owned = new std::string(std::move(bytes));
  data = owned->data();
  size = owned->size();
  handle = reinterpret_cast<Handle *>(owned);
  deleter = [](Handle *given) { delete reinterpret_cast<std::string *>(given); };
}

} // namespace tilewright::plugin

#endif // TILEWRIGHT_PLUGIN_EXECUTE_SERIALIZED_H
