// Cursor: reads forward through untrusted bytes.
#ifndef TILEWRIGHT_SUPPORT_CURSOR_H
#define TILEWRIGHT_SUPPORT_CURSOR_H

#include "tilewright/support/Concat.h"
#include "tilewright/support/Status.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace tilewright {

/// Remembers its first failure and returns zeros and empty spans from then on. A caller that reads
/// many fields therefore checks once, at the end.
class Cursor {
public:
  /// `part` names the bytes in messages, as in "the plan of the executable", and must outlive the
  /// cursor. Failures have the code `error`.
  Cursor(std::span<const std::byte> bytes, std::string_view part, Error error)
      : bytes(bytes), part(part), error(error) {}

  uint64_t number() {
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      if (at == bytes.size()) {
        fail("ends in the middle of a number");
        return 0;
      }
      const auto byte = static_cast<uint64_t>(bytes[at++]);
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
    if (value > (bytes.size() - at) / bytesEach) {
      fail(concat("declares ", value, " ", things, ", more than its bytes can hold"));
      return 0;
    }
    return static_cast<size_t>(value);
  }

  std::span<const std::byte> take(size_t size) {
    if (size > bytes.size() - at) {
      fail("ends in the middle of a string");
      return {};
    }
    at += size;
    return bytes.subspan(at - size, size);
  }

  void fail(std::string what) {
    if (failure.isOk())
      failure =
          Status(error, concat(part, " ", what, ", at byte ", at, "; compile the program again"));
    at = bytes.size();
  }
  bool failed() const { return !failure.isOk(); }

  /// The first failure, or a failure if bytes are left over.
  Status finish() {
    if (!failed() && at != bytes.size())
      fail(concat("has ", bytes.size() - at, " unexpected bytes at its end"));
    return std::move(failure);
  }

private:
  std::span<const std::byte> bytes;
  std::string_view part;
  Error error;
  size_t at = 0;
  Status failure;
};

} // namespace tilewright

#endif // TILEWRIGHT_SUPPORT_CURSOR_H
