// Cursor: reads forward through untrusted bytes.
#ifndef TILEWRIGHT_IMPORT_BYTECODE_CURSOR_H
#define TILEWRIGHT_IMPORT_BYTECODE_CURSOR_H

#include "tilewright/support/Cursor.h"

namespace tilewright::bytecode {

/// A position in one part of the artifact. Each call either consumes what it returns, or fails with
/// a message that names the part and the offset in the file. It never reads past the end.
class Cursor : public BytePosition {
public:
  Cursor() = default;
  /// `offset` is the position of `bytes` in the file. `part` must outlive the cursor.
  Cursor(std::span<const std::byte> bytes, size_t offset, std::string_view part)
      : BytePosition(bytes, part, offset) {}

  Status byte(uint8_t &value) {
    if (atEnd())
      return truncated(1);
    value = advance();
    return Status();
  }

  /// Reads a number. The trailing zero bits of its first byte give the number of bytes that follow;
  /// eight bytes follow a first byte of zero.
  Status varint(uint64_t &value) {
    if (!atEnd() && (static_cast<uint8_t>(*next()) & 1)) {
      value = advance() >> 1;
      return Status();
    }
    return longVarint(value);
  }

  /// Reads a zigzag-encoded signed number: codes 0, 1, 2, 3 … are 0, -1, 1, -2 ….
  Status signedVarint(int64_t &value) {
    uint64_t raw = 0;
    TILEWRIGHT_TRY(varint(raw));
    value = static_cast<int64_t>((raw >> 1) ^ (~(raw & 1) + 1));
    return Status();
  }

  /// Reads a number with a flag in its lowest bit.
  Status flagged(uint64_t &value, bool &flag) {
    TILEWRIGHT_TRY(varint(value));
    flag = value & 1;
    value >>= 1;
    return Status();
  }

  /// Reads the number of items that follow, each of at least `bytesEach` bytes. Rejects a count
  /// that the remaining bytes cannot hold, before the caller allocates memory for it.
  Status count(uint64_t &value, std::string_view things, size_t bytesEach = 1) {
    TILEWRIGHT_TRY(varint(value));
    return checkCount(value, things, bytesEach);
  }
  Status checkCount(uint64_t value, std::string_view things, size_t bytesEach = 1) {
    return canHold(value, bytesEach) ? Status() : tooMany(value, things);
  }

  Status take(uint64_t size, std::span<const std::byte> &bytes) {
    if (!canHold(size))
      return truncated(size);
    bytes = advance(static_cast<size_t>(size));
    return Status();
  }

  /// Fails unless everything was read.
  Status finish() const { return atEnd() ? Status() : leftOver(); }

private:
  Status longVarint(uint64_t &value);
  Status truncated(uint64_t needed) const;
  Status tooMany(uint64_t count, std::string_view things) const;
  Status leftOver() const;
};

} // namespace tilewright::bytecode

#endif // TILEWRIGHT_IMPORT_BYTECODE_CURSOR_H
