// Descriptor: owns a file descriptor; and reading and writing of whole buffers.
#ifndef TILEWRIGHT_SUPPORT_STORE_DESCRIPTOR_H
#define TILEWRIGHT_SUPPORT_STORE_DESCRIPTOR_H

#include <cerrno>
#include <cstddef>
#include <unistd.h>
#include <utility>

namespace tilewright {

/// Owns a file descriptor and closes it.
class Descriptor {
public:
  explicit Descriptor(int number = -1) : number(number) {}
  ~Descriptor() { reset(-1); }
  Descriptor(const Descriptor &) = delete;
  Descriptor &operator=(const Descriptor &) = delete;
  int get() const { return number; }
  bool isOpen() const { return number >= 0; }
  int release() { return std::exchange(number, -1); }
  /// Closes the old descriptor.
  void reset(int other) {
    if (number >= 0)
      close(number);
    number = other;
  }

private:
  int number;
};

/// Whether all bytes were transferred by ::read or ::write; if not, errno gives the reason.
template <typename Transfer, typename Byte>
bool transferAll(Transfer transfer, const Descriptor &file, Byte *bytes, size_t count) {
  while (count > 0) {
    const ssize_t done = transfer(file.get(), bytes, count);
    if (done < 0 && errno == EINTR)
      continue;
    if (done <= 0)
      return false;
    bytes += done;
    count -= static_cast<size_t>(done);
  }
  return true;
}

} // namespace tilewright

#endif // TILEWRIGHT_SUPPORT_STORE_DESCRIPTOR_H
