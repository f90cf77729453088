#include "tilewright/vgpu/amdgcn/MessagePack.h"

#include "tilewright/support/Cursor.h"

#include <bit>

namespace tilewright::vgpu::amdgcn {

const PackedValue *PackedValue::find(std::string_view key) const {
  if (kind == Kind::map)
    for (size_t i = 0; i + 1 < elements.size(); i += 2)
      if (elements[i].kind == Kind::string && elements[i].string == key)
        return &elements[i + 1];
  return nullptr;
}

int64_t PackedValue::integerOf(std::string_view key) const {
  const PackedValue *value = find(key);
  return value ? value->integer : 0;
}

std::string_view PackedValue::stringOf(std::string_view key) const {
  const PackedValue *value = find(key);
  return value ? value->string : std::string_view();
}

std::span<const PackedValue> PackedValue::elementsOf(std::string_view key) const {
  const PackedValue *value = find(key);
  return value ? std::span<const PackedValue>(value->elements) : std::span<const PackedValue>();
}

namespace {
class Reader : public BytePosition {
public:
  explicit Reader(std::span<const std::byte> bytes) : BytePosition(bytes, "the metadata note") {}

  Status read(PackedValue &value, unsigned depth) {
    // AMD's metadata nest maps in arrays in maps. The limit keeps malicious input from exhausting
    // the stack.
    constexpr unsigned maxDepth = 16;
    if (depth > maxDepth)
      return damaged(concat("is nested deeper than ", maxDepth, " levels"));
    if (atEnd())
      return damaged("ends in the middle of a value");
    const unsigned tag = advance();
    if (tag <= 0x7f)
      return setInteger(value, tag);
    if (tag >= 0xe0)
      return setInteger(value, static_cast<int64_t>(tag) - 256);
    if (tag <= 0x8f)
      return readElements(value, PackedValue::Kind::map, tag & 15, depth);
    if (tag <= 0x9f)
      return readElements(value, PackedValue::Kind::array, tag & 15, depth);
    if (tag <= 0xbf)
      return readString(value, tag & 31);
    return readTagged(value, tag, depth);
  }

private:
  Status damaged(std::string_view what) const {
    return Status(Error::vgpuBinary,
                  concat("damaged code object: ", partName(), " ", what, ", at byte ", offset()));
  }

  static Status setInteger(PackedValue &value, int64_t integer) {
    value.kind = PackedValue::Kind::integer;
    value.integer = integer;
    return Status();
  }

  /// A big-endian number of 1, 2, 4 or 8 bytes.
  Result<uint64_t> number(unsigned size) {
    if (!canHold(size))
      return damaged("ends in the middle of a number");
    uint64_t value = 0;
    for (unsigned i = 0; i < size; ++i)
      value = value << 8 | advance();
    return value;
  }

  Status readString(PackedValue &value, uint64_t size) {
    if (!canHold(size))
      return damaged(concat("declares a string of ", size, " bytes but has ", remaining()));
    const std::span<const std::byte> text = advance(static_cast<size_t>(size));
    value.kind = PackedValue::Kind::string;
    value.string = {reinterpret_cast<const char *>(text.data()), text.size()};
    return Status();
  }

  Status readElements(PackedValue &value, PackedValue::Kind kind, uint64_t count, unsigned depth) {
    const uint64_t values = kind == PackedValue::Kind::map ? 2 * count : count;
    if (!canHold(values))
      return damaged(concat("declares ", values, " values but has ", remaining(), " bytes"));
    value.kind = kind;
    value.elements.resize(static_cast<size_t>(values));
    for (PackedValue &element : value.elements)
      TILEWRIGHT_TRY(read(element, depth + 1));
    return Status();
  }

  Status readTagged(PackedValue &value, unsigned tag, unsigned depth) {
    switch (tag) {
    case 0xc0:
      return Status();
    case 0xc2:
    case 0xc3:
      value.kind = PackedValue::Kind::boolean;
      value.integer = tag == 0xc3;
      return Status();
    case 0xca:
    case 0xcb: {
      TILEWRIGHT_ASSIGN(const uint64_t bits, number(tag == 0xca ? 4 : 8));
      value.kind = PackedValue::Kind::real;
      value.real = tag == 0xca ? std::bit_cast<float>(static_cast<uint32_t>(bits))
                               : std::bit_cast<double>(bits);
      return Status();
    }
    case 0xcc:
    case 0xcd:
    case 0xce:
    case 0xcf: {
      TILEWRIGHT_ASSIGN(const uint64_t bits, number(1u << (tag - 0xcc)));
      return setInteger(value, static_cast<int64_t>(bits));
    }
    case 0xd0:
    case 0xd1:
    case 0xd2:
    case 0xd3: {
      const unsigned size = 1u << (tag - 0xd0);
      TILEWRIGHT_ASSIGN(const uint64_t bits, number(size));
      const unsigned shift = 64 - 8 * size;
      return setInteger(value, static_cast<int64_t>(bits << shift) >> shift);
    }
    case 0xc4:
    case 0xc5:
    case 0xc6: {
      TILEWRIGHT_ASSIGN(const uint64_t size, number(1u << (tag - 0xc4)));
      return readString(value, size);
    }
    case 0xd9:
    case 0xda:
    case 0xdb: {
      TILEWRIGHT_ASSIGN(const uint64_t size, number(1u << (tag - 0xd9)));
      return readString(value, size);
    }
    case 0xdc:
    case 0xdd:
    case 0xde:
    case 0xdf: {
      TILEWRIGHT_ASSIGN(const uint64_t count, number(tag % 2 == 0 ? 2 : 4));
      return readElements(value, tag < 0xde ? PackedValue::Kind::array : PackedValue::Kind::map,
                          count, depth);
    }
    default:
      return damaged(concat("has a value of the unknown type ", tag));
    }
  }
};
} // namespace

Result<PackedValue> readMessagePack(std::span<const std::byte> bytes) {
  Reader reader(bytes);
  PackedValue value;
  TILEWRIGHT_TRY(reader.read(value, 0));
  if (!reader.atEnd())
    return Status(Error::vgpuBinary, concat("damaged code object: the metadata note has ",
                                            reader.remaining(), " unexpected bytes at its end"));
  return value;
}

} // namespace tilewright::vgpu::amdgcn
