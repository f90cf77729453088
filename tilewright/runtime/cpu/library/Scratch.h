// Scratch: memory for one run of a kernel, without asking the system each time.
#ifndef TILEWRIGHT_RUNTIME_CPU_LIBRARY_SCRATCH_H
#define TILEWRIGHT_RUNTIME_CPU_LIBRARY_SCRATCH_H

#include <cstddef>
#include <cstdint>
#include <utility>

namespace tilewright::runtime::cpu {

/// Bytes that are not set to anything, aligned to 64. Given back to the thread that asked,
/// which keeps some for the next time: fresh pages cost more than most kernels do with them.
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
