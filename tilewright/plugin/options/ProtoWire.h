// The part of the protocol buffer wire format that the C API uses.
#ifndef TILEWRIGHT_PLUGIN_OPTIONS_PROTOWIRE_H
#define TILEWRIGHT_PLUGIN_OPTIONS_PROTOWIRE_H

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tilewright::plugin {

/// One field of a message: its number, and its value as a number or as bytes.
struct ProtoField {
  uint32_t number = 0;
  uint64_t integer = 0;   // varint, fixed32, fixed64
  std::string_view bytes; // length-delimited: a string, a message, a packed list
  bool isBytes = false;
};

/// Reads the fields of a message in order. The bytes are untrusted: reading always terminates, and
/// isOk() is false if they are not a valid message.
///
///   ProtoReader reader(bytes);
///   while (std::optional<ProtoField> field = reader.next())
///     if (field->number == 4) replicas = field->asInt();
class ProtoReader {
public:
  explicit ProtoReader(std::string_view bytes) : rest(bytes) {}

  std::optional<ProtoField> next() {
    if (rest.empty() || !ok)
      return std::nullopt;
    ProtoField field;
    uint64_t tag = varint();
    field.number = static_cast<uint32_t>(tag >> 3);
    switch (tag & 7) {
    case 0:
      field.integer = varint();
      break;
    case 1:
      field.integer = fixed(8);
      break;
    case 2: {
      uint64_t size = varint();
      field.isBytes = true;
      field.bytes = take(size);
      break;
    }
    case 5:
      field.integer = fixed(4);
      break;
    default: // groups, which are deprecated
      ok = false;
    }
    if (!ok)
      return std::nullopt;
    return field;
  }

  /// The next number of a packed list.
  std::optional<uint64_t> nextPacked() {
    if (rest.empty() || !ok)
      return std::nullopt;
    uint64_t value = varint();
    return ok ? std::optional(value) : std::nullopt;
  }

  bool isOk() const { return ok; }

private:
  uint64_t varint() {
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      if (rest.empty())
        break;
      auto byte = static_cast<uint8_t>(rest.front());
      rest.remove_prefix(1);
      value |= uint64_t(byte & 0x7f) << shift;
      if (!(byte & 0x80))
        return value;
    }
    ok = false;
    return 0;
  }
  uint64_t fixed(size_t bytes) {
    std::string_view data = take(bytes);
    uint64_t value = 0;
    for (size_t i = 0; i < data.size(); ++i)
      value |= uint64_t(static_cast<uint8_t>(data[i])) << (8 * i);
    return value;
  }
  std::string_view take(uint64_t size) {
    if (size > rest.size()) {
      ok = false;
      return {};
    }
    std::string_view taken = rest.substr(0, size);
    rest.remove_prefix(size);
    return taken;
  }

  std::string_view rest;
  bool ok = true;
};

/// Appends fields to a message.
class ProtoWriter {
public:
  void integer(uint32_t number, int64_t value) {
    varint(uint64_t(number) << 3);
    varint(static_cast<uint64_t>(value));
  }
  void bytes(uint32_t number, std::string_view value) {
    varint(uint64_t(number) << 3 | 2);
    varint(value.size());
    text.append(value);
  }
  void varint(uint64_t value) {
    for (; value >= 0x80; value >>= 7)
      text.push_back(static_cast<char>(value | 0x80));
    text.push_back(static_cast<char>(value));
  }
  std::string take() && { return std::move(text); }

private:
  std::string text;
};

} // namespace tilewright::plugin

#endif // TILEWRIGHT_PLUGIN_OPTIONS_PROTOWIRE_H
