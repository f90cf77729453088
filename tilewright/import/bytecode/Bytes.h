// Bytes: builds an encoded artifact or a part of one.
#ifndef TILEWRIGHT_IMPORT_BYTECODE_BYTES_H
#define TILEWRIGHT_IMPORT_BYTECODE_BYTES_H

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

namespace tilewright::bytecode {

/// The inverse of Cursor: Bytes().varint(3).raw("abc").
class Bytes {
public:
  Bytes() = default;

  Bytes &byte(unsigned value) {
    data.push_back(static_cast<char>(value));
    return *this;
  }
  Bytes &varint(uint64_t value) {
    unsigned extra = 0;
    while (extra < 8 && value >> (7 * (extra + 1)) != 0)
      ++extra;
    if (extra == 8)
      return byte(0).little(value, 8);
    return little(((value << 1) | 1) << extra, extra + 1);
  }
  Bytes &signedVarint(int64_t value) {
    return varint((static_cast<uint64_t>(value) << 1) ^ static_cast<uint64_t>(value >> 63));
  }
  Bytes &flagged(uint64_t value, bool flag) { return varint(value << 1 | flag); }
  Bytes &raw(std::string_view bytes) {
    data += bytes;
    return *this;
  }
  Bytes &append(const Bytes &other) { return raw(other.data); }
  /// A count and that many numbers.
  Bytes &list(std::initializer_list<uint64_t> values) {
    varint(values.size());
    for (uint64_t value : values)
      varint(value);
    return *this;
  }
  Bytes &signedList(std::initializer_list<int64_t> values) {
    varint(values.size());
    for (int64_t value : values)
      signedVarint(value);
    return *this;
  }
  /// A size and that many bytes.
  Bytes &blob(std::string_view bytes) { return varint(bytes.size()).raw(bytes); }
  /// A section without alignment.
  Bytes &section(unsigned id, const Bytes &content) { return byte(id).blob(content.data); }

  std::string data;

private:
  Bytes &little(uint64_t value, unsigned size) {
    for (unsigned i = 0; i < size; ++i)
      byte(static_cast<unsigned>(value >> (8 * i)) & 0xFF);
    return *this;
  }
};

} // namespace tilewright::bytecode

#endif // TILEWRIGHT_IMPORT_BYTECODE_BYTES_H
