// Scratch: memory for one run of a kernel, cached between runs.
#ifndef TILEWRIGHT_RUNTIME_CPU_LIBRARY_SCRATCH_H
#define TILEWRIGHT_RUNTIME_CPU_LIBRARY_SCRATCH_H

#include <cstddef>
#include <cstdint>
#include <utility>

namespace tilewright::runtime::cpu {

/// Uninitialised bytes, aligned to 64. The thread that destroys this object caches some of them for
/// reuse: fresh pages cost more than most kernels.
class Scratch {
public:
  Scratch() = default;
  explicit Scratch(int64_t bytes);
  ~Scratch();
  Scratch(Scratch &&other) noexcept { swap(other); }
  Scratch &operator=(Scratch &&other) noexcept {
    swap(other);
    return *this;
  }
  void swap(Scratch &other) noexcept {
    std::swap(memory, other.memory);
    std::swap(capacity, other.capacity);
  }

  std::byte *data() const { return memory; }
  template <typename T> T *as() const { return reinterpret_cast<T *>(memory); }

private:
  std::byte *memory = nullptr;
  size_t capacity = 0;
};

} // namespace tilewright::runtime::cpu

#endif // TILEWRIGHT_RUNTIME_CPU_LIBRARY_SCRATCH_H
