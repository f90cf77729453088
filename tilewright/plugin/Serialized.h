// Bytes that the caller gets with the function that frees them: four handles of the C API do so.
#ifndef TILEWRIGHT_PLUGIN_SERIALIZED_H
#define TILEWRIGHT_PLUGIN_SERIALIZED_H

#include <cstddef>
#include <string>

namespace tilewright::plugin {

/// Fills the four out-fields. The handle, whatever the C API calls it, is a std::string of ours.
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

#endif // TILEWRIGHT_PLUGIN_SERIALIZED_H
