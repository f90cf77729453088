// Cursors: read forward through untrusted bytes.
#ifndef TILEWRIGHT_SUPPORT_CURSOR_H
#define TILEWRIGHT_SUPPORT_CURSOR_H

#include "tilewright/support/Concat.h"
#include "tilewright/support/Status.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace tilewright {

/// A position in bytes. Each format derives a cursor that knows how its numbers are encoded and how
/// it reports failures. All of them use these functions to check whether something fits before they
/// read it.
class BytePosition {
public:
  BytePosition() = default;
  /// `part` names the bytes in messages, as in "the plan of the executable", and must outlive the
  /// cursor. `offset` is the position of the first byte in the file, for messages.
  BytePosition(std::span<const std::byte> bytes, std::string_view part, size_t offset = 0)
      : first(bytes.data()), at(first), end(first + bytes.size()), base(offset), part(part) {}

  size_t remaining() const { return static_cast<size_t>(end - at); }
  bool atEnd() const { return at == end; }
  /// The offset of the next byte in the file.
  size_t offset() const { return base + static_cast<size_t>(at - first); }
  std::string_view partName() const { return part; }

  /// Whether the remaining bytes can hold `count` items of at least `bytesEach` bytes each. Callers
  /// must check this before they allocate memory for items that the bytes declare.
  bool canHold(uint64_t count, size_t bytesEach = 1) const {
    return count <= remaining() / bytesEach;
  }

protected:
  /// The next bytes; the remaining bytes must be at least as many.
  std::span<const std::byte> advance(size_t size) {
    at += size;
    return {at - size, size};
  }
  uint8_t advance() { return static_cast<uint8_t>(*at++); }
  void skipAll() { at = end; }
  const std::byte *next() const { return at; }

private:
  const std::byte *first = nullptr;
  const std::byte *at = nullptr;
  const std::byte *end = nullptr;
  size_t base = 0;
  std::string_view part;
};

/// Reads our own formats, in which numbers are LEB128. Remembers its first failure and returns
/// zeros and empty spans from then on. A caller that reads many fields therefore checks once, at
/// the end.
class Cursor : public BytePosition {
public:
  /// Failures have the code `error` and end with `hint`, which says what to do: "compile the
  /// program again". Like `part`, `hint` must outlive the cursor.
  Cursor(std::span<const std::byte> bytes, std::string_view part, Error error,
         std::string_view hint)
      : BytePosition(bytes, part), error(error), hint(hint) {}

  uint64_t number() {
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      if (atEnd()) {
        fail("ends in the middle of a number");
        return 0;
      }
      const uint64_t byte = advance();
      const uint64_t digit = byte & 0x7F;
      if ((digit << shift) >> shift != digit || (byte == 0 && shift > 0))
        break;
      value |= digit << shift;
      if (byte < 0x80)
        return value;
    }
    fail("has a number that is not valid LEB128 of at most 64 bits");
    return 0;
  }

  /// Reads the number of elements that follow, each of at least `bytesEach` bytes. Fails here if
  /// the remaining bytes cannot hold them, before a caller allocates memory for them.
  size_t count(std::string_view things, size_t bytesEach = 1) {
    const uint64_t value = number();
    if (!canHold(value, bytesEach)) {
      fail(concat("declares ", value, " ", things, ", more than its bytes can hold"));
      return 0;
    }
    return static_cast<size_t>(value);
  }

  std::span<const std::byte> take(size_t size) {
    if (!canHold(size)) {
      fail("ends in the middle of a string");
      return {};
    }
    return advance(size);
  }

  void fail(std::string what) {
    if (failure.isOk())
      failure = Status(error, concat(partName(), " ", what, ", at byte ", offset(), "; ", hint));
    skipAll();
  }
  bool failed() const { return !failure.isOk(); }

  /// The first failure, or a failure if bytes are left over.
  Status finish() {
    if (!failed() && !atEnd())
      fail(concat("has ", remaining(), " unexpected bytes at its end"));
    return std::move(failure);
  }

private:
  Error error;
  std::string_view hint;
  Status failure;
};

} // namespace tilewright

#endif // TILEWRIGHT_SUPPORT_CURSOR_H
