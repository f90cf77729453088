// Archives: encode numbers and strings as bytes and decode them, the same way in all our formats.
#ifndef TILEWRIGHT_SUPPORT_ARCHIVE_H
#define TILEWRIGHT_SUPPORT_ARCHIVE_H

#include "tilewright/support/Cursor.h"

#include <limits>
#include <string>
#include <vector>

namespace tilewright {

/// Appends fields to a buffer. Each format derives from this class and adds its own lists.
class ByteWriter {
public:
  static constexpr bool isWriter = true;
  std::vector<std::byte> out;

  void number(uint64_t value) {
    for (; value >= 0x80; value >>= 7)
      out.push_back(static_cast<std::byte>(value | 0x80));
    out.push_back(static_cast<std::byte>(value));
  }
  void integer(int64_t value) {
    number((static_cast<uint64_t>(value) << 1) ^ static_cast<uint64_t>(value >> 63));
  }
  template <typename E> void enumeration(E value, size_t) { number(static_cast<uint64_t>(value)); }
  void text(const std::string &value) { bytes(std::as_bytes(std::span(value))); }
  void bytes(std::span<const std::byte> value) {
    number(value.size());
    out.insert(out.end(), value.begin(), value.end());
  }
};

/// Reads the fields that ByteWriter wrote. The bytes are untrusted; finish() returns the first
/// error.
class ByteReader {
public:
  static constexpr bool isWriter = false;
  /// Parameters as for Cursor.
  ByteReader(std::span<const std::byte> bytes, std::string_view part, Error error,
             std::string_view hint)
      : cursor(bytes, part, error, hint) {}
  Cursor cursor;

  template <typename T> void number(T &value) {
    const uint64_t read = cursor.number();
    if (read > std::numeric_limits<T>::max())
      cursor.fail(concat("has the value ", read, ", which exceeds the maximum of ",
                         uint64_t(std::numeric_limits<T>::max())));
    else
      value = static_cast<T>(read);
  }
  template <typename T> void integer(T &value) {
    const uint64_t raw = cursor.number();
    const auto read = static_cast<int64_t>((raw >> 1) ^ (~(raw & 1) + 1));
    if (read != static_cast<T>(read))
      cursor.fail(concat("has the value ", read, ", which is out of range (",
                         int64_t(std::numeric_limits<T>::min()), " to ",
                         int64_t(std::numeric_limits<T>::max()), ")"));
    else
      value = static_cast<T>(read);
  }
  /// An enumerator of `E`, whose `count` values are numbered from 0.
  template <typename E> void enumeration(E &value, size_t count) {
    const uint64_t read = cursor.number();
    if (read >= count)
      cursor.fail(concat("has the enum value ", read, ", expected less than ", count));
    else
      value = static_cast<E>(read);
  }
  void text(std::string &value) {
    const std::span<const std::byte> read = cursor.take(cursor.count("characters"));
    value.assign(reinterpret_cast<const char *>(read.data()), read.size());
  }
  void bytes(std::vector<std::byte> &value) {
    const std::span<const std::byte> read = cursor.take(cursor.count("bytes"));
    value.assign(read.begin(), read.end());
  }

  Status finish() { return cursor.finish(); }
};

/// The type of a field that an archive visits: const for a writer, which does not modify it.
template <typename Archive, typename T>
using Field = std::conditional_t<Archive::isWriter, const T, T>;

} // namespace tilewright

#endif // TILEWRIGHT_SUPPORT_ARCHIVE_H
