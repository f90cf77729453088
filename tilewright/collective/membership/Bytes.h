// Bytes: numbers and texts one after the other, as processes send them to each other.
#ifndef TILEWRIGHT_COLLECTIVE_MEMBERSHIP_BYTES_H
#define TILEWRIGHT_COLLECTIVE_MEMBERSHIP_BYTES_H

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tilewright::collective::membership {

/// All processes of a job run on machines of one byte order, as the engines' do.
class Writer {
public:
  template <typename T> void number(T value) {
    const auto *from = reinterpret_cast<const std::byte *>(&value);
    bytes.insert(bytes.end(), from, from + sizeof value);
  }
  void text(std::string_view value) {
    number(static_cast<uint32_t>(value.size()));
    const auto *from = reinterpret_cast<const std::byte *>(value.data());
    bytes.insert(bytes.end(), from, from + value.size());
  }
  std::vector<std::byte> bytes;
};

/// What is not there reads as zero, and leaves isOk false.
class Reader {
public:
  explicit Reader(std::span<const std::byte> bytes) : bytes(bytes) {}
  template <typename T> T number() {
    T value{};
    if (take(sizeof value))
      std::memcpy(&value, bytes.data() + done - sizeof value, sizeof value);
    return value;
  }
  std::string text() {
    const auto size = number<uint32_t>();
    if (!take(size))
      return {};
    return {reinterpret_cast<const char *>(bytes.data()) + done - size, size};
  }
  size_t left() const { return bytes.size() - done; }
  bool isOk = true;

private:
  bool take(size_t count) {
    isOk &= count <= left();
    done += isOk ? count : 0;
    return isOk;
  }
  const std::span<const std::byte> bytes;
  size_t done = 0;
};

} // namespace tilewright::collective::membership

#endif // TILEWRIGHT_COLLECTIVE_MEMBERSHIP_BYTES_H
