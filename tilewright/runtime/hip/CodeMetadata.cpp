#include "tilewright/runtime/hip/CodeMetadata.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace tilewright::runtime::hip {
namespace {

template <typename T> std::optional<T> numberAt(std::string_view bytes, size_t at) {
  if (at > bytes.size() || sizeof(T) > bytes.size() - at)
    return std::nullopt;
  T value;
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

/// Reads consecutive values of a MessagePack text. After an unexpected byte it is invalid, and all
/// further values are empty.
class MessageReader {
public:
  explicit MessageReader(std::string_view bytes) : rest(bytes) {}
  bool isValid() const { return valid; }

  /// The number of elements or of key-value pairs that follow.
  size_t array() { return sizeOf(0x90, 0xdc, 0xdd); }
  size_t map() { return sizeOf(0x80, 0xde, 0xdf); }

  std::string_view text() {
    const uint8_t tag = byte();
    size_t size = 0;
    if ((tag & 0xe0) == 0xa0)
      size = tag & 0x1f;
    else if (tag >= 0xd9 && tag <= 0xdb)
      size = number(size_t(1) << (tag - 0xd9));
    else
      valid = false;
    return take(size);
  }

  uint64_t unsignedNumber() {
    const uint8_t tag = byte();
    if (tag < 0x80)
      return tag;
    if (tag >= 0xcc && tag <= 0xcf)
      return number(size_t(1) << (tag - 0xcc));
    valid = false;
    return 0;
  }

  /// Skips a value of any type.
  void skip(int depth = 0) {
    constexpr int deepest = 32;
    if (!valid || depth > deepest) {
      valid = false;
      return;
    }
    const uint8_t tag = peek();
    if ((tag & 0xf0) == 0x80 || tag == 0xde || tag == 0xdf) {
      for (size_t i = 0, count = map(); i < count && valid; ++i) {
        skip(depth + 1);
        skip(depth + 1);
      }
    } else if ((tag & 0xf0) == 0x90 || tag == 0xdc || tag == 0xdd) {
      for (size_t i = 0, count = array(); i < count && valid; ++i)
        skip(depth + 1);
    } else if ((tag & 0xe0) == 0xa0 || (tag >= 0xd9 && tag <= 0xdb)) {
      text();
    } else {
      skipScalar(byte());
    }
  }

private:
  void skipScalar(uint8_t tag) {
    if (tag < 0x80 || tag >= 0xe0 || tag == 0xc0 || tag == 0xc2 || tag == 0xc3)
      return; // small numbers, nil, booleans
    if (tag >= 0xc4 && tag <= 0xc6)
      take(number(size_t(1) << (tag - 0xc4))); // bytes
    else if (tag == 0xca || tag == 0xcb)
      take(tag == 0xca ? 4 : 8); // floats
    else if (tag >= 0xcc && tag <= 0xd3)
      take(size_t(1) << (tag & 3)); // integers
    else
      valid = false; // extensions
  }

  size_t sizeOf(uint8_t small, uint8_t two, uint8_t four) {
    const uint8_t tag = byte();
    size_t size = 0;
    if ((tag & 0xf0) == small)
      size = tag & 0xf;
    else if (tag == two || tag == four)
      size = number(tag == two ? 2 : 4);
    else
      valid = false;
    if (size > rest.size()) // each element has a byte at least
      valid = false;
    return valid ? size : 0;
  }

  uint8_t peek() const { return rest.empty() ? 0xc1 : static_cast<uint8_t>(rest[0]); }
  uint8_t byte() {
    const uint8_t tag = peek();
    take(1);
    return tag;
  }
  std::string_view take(size_t size) {
    if (!valid || size > rest.size()) {
      valid = false;
      return {};
    }
    const std::string_view taken = rest.substr(0, size);
    rest.remove_prefix(size);
    return taken;
  }
  size_t number(size_t bytes) { // big-endian
    size_t value = 0;
    for (char c : take(bytes))
      value = value << 8 | static_cast<uint8_t>(c);
    return value;
  }

  std::string_view rest;
  bool valid = true;
};

/// Calls `use` with each key of the map that follows; `use` reads or skips the value.
template <typename Use> void forEachKey(MessageReader &reader, Use use) {
  for (size_t i = 0, count = reader.map(); i < count && reader.isValid(); ++i)
    use(reader.text());
}

std::vector<size_t> readArguments(MessageReader &reader) {
  std::vector<size_t> sizes;
  for (size_t i = 0, count = reader.array(); i < count && reader.isValid(); ++i) {
    size_t size = 0;
    bool isHidden = false; // the driver passes those
    forEachKey(reader, [&](std::string_view key) {
      if (key == ".size")
        size = reader.unsignedNumber();
      else if (key == ".value_kind")
        isHidden = reader.text().starts_with("hidden_");
      else
        reader.skip();
    });
    if (!isHidden)
      sizes.push_back(size);
  }
  return sizes;
}

std::optional<KernelParameters> readMetadata(std::string_view note) {
  MessageReader reader(note);
  KernelParameters kernels;
  forEachKey(reader, [&](std::string_view key) {
    if (key != "amdhsa.kernels")
      return reader.skip();
    for (size_t i = 0, count = reader.array(); i < count && reader.isValid(); ++i) {
      std::string name;
      std::vector<size_t> sizes;
      forEachKey(reader, [&](std::string_view field) {
        if (field == ".name")
          name = reader.text();
        else if (field == ".args")
          sizes = readArguments(reader);
        else
          reader.skip();
      });
      kernels[std::move(name)] = std::move(sizes);
    }
  });
  return reader.isValid() ? std::optional(std::move(kernels)) : std::nullopt;
}

/// The content of the first note that contains kernel metadata.
std::optional<std::string_view> findNote(std::string_view notes) {
  constexpr uint32_t metadata = 32;
  constexpr std::string_view owner("AMDGPU\0", 7);
  auto rounded = [](size_t size) { return (size + 3) / 4 * 4; };
  while (true) {
    const auto nameSize = numberAt<uint32_t>(notes, 0), size = numberAt<uint32_t>(notes, 4),
               type = numberAt<uint32_t>(notes, 8);
    if (!nameSize || !size || !type)
      return std::nullopt;
    notes.remove_prefix(12);
    if (rounded(*nameSize) > notes.size() || *size > notes.size() - rounded(*nameSize))
      return std::nullopt;
    const std::string_view content = notes.substr(rounded(*nameSize), *size);
    if (*type == metadata && notes.substr(0, *nameSize) == owner)
      return content;
    notes.remove_prefix(std::min(notes.size(), rounded(*nameSize) + rounded(*size)));
  }
}

} // namespace

std::optional<KernelParameters> kernelParametersOf(std::string_view elf) {
  constexpr uint32_t notes = 4; // PT_NOTE
  const auto first = numberAt<uint64_t>(elf, 0x20);
  const auto size = numberAt<uint16_t>(elf, 0x36), count = numberAt<uint16_t>(elf, 0x38);
  if (!first || !size || !count)
    return std::nullopt;
  for (uint64_t i = 0; i < *count; ++i) {
    const uint64_t at = *first + i * *size;
    const auto type = numberAt<uint32_t>(elf, at);
    const auto offset = numberAt<uint64_t>(elf, at + 8), bytes = numberAt<uint64_t>(elf, at + 32);
    if (!type || !offset || !bytes || *offset > elf.size() || *bytes > elf.size() - *offset)
      return std::nullopt;
    if (*type != notes)
      continue;
    if (std::optional<std::string_view> note = findNote(elf.substr(*offset, *bytes)))
      return readMetadata(*note);
  }
  return std::nullopt;
}

} // namespace tilewright::runtime::hip
