// The handles of the API: numbers that are never reused, so that the driver detects handles of
// destroyed objects and of objects of another kind.
#ifndef TILEWRIGHT_VGPU_DRIVER_HANDLES_H
#define TILEWRIGHT_VGPU_DRIVER_HANDLES_H

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <unordered_map>
#include <vector>

namespace tilewright::vgpu::driver {

/// An object with a handle.
struct Handled {
  void *handle = nullptr; // set once, when the object is added to its table
};

void *newHandle();

/// The handles of objects of one kind. Thread-safe. find() returns a shared pointer, which keeps
/// the object alive.
template <typename T> class HandleTable {
public:
  void *add(std::shared_ptr<T> object) {
    object->handle = newHandle();
    std::unique_lock lock(mutex);
    return objects.emplace(object->handle, std::move(object)).first->first;
  }
  std::shared_ptr<T> find(const void *handle) const {
    std::shared_lock lock(mutex);
    auto found = objects.find(const_cast<void *>(handle));
    return found == objects.end() ? nullptr : found->second;
  }
  /// Removes and returns the object; null if there is none.
  std::shared_ptr<T> take(const void *handle) {
    std::unique_lock lock(mutex);
    auto found = objects.find(const_cast<void *>(handle));
    if (found == objects.end())
      return nullptr;
    std::shared_ptr<T> object = std::move(found->second);
    objects.erase(found);
    return object;
  }
  /// Removes and returns all objects for which `test` holds.
  template <typename Test> std::vector<std::shared_ptr<T>> takeIf(Test test) {
    std::vector<std::shared_ptr<T>> taken;
    std::unique_lock lock(mutex);
    for (auto it = objects.begin(); it != objects.end();)
      if (test(*it->second)) {
        taken.push_back(std::move(it->second));
        it = objects.erase(it);
      } else {
        ++it;
      }
    return taken;
  }

private:
  mutable std::shared_mutex mutex;
  std::unordered_map<void *, std::shared_ptr<T>> objects; // guarded by mutex
};

} // namespace tilewright::vgpu::driver

#endif // TILEWRIGHT_VGPU_DRIVER_HANDLES_H
