#include "tilewright/import/bytecode/Cursor.h"

#include <bit>
#include <cstring>

namespace tilewright::bytecode {

Status Cursor::longVarint(uint64_t &value) {
  if (atEnd())
    return truncated(1);
  uint8_t head = static_cast<uint8_t>(*next());
  size_t extra = head ? static_cast<size_t>(std::countr_zero(head)) : 8;
  if (remaining() < extra + 1)
    return truncated(extra + 1);
  const std::byte *bytes = advance(extra + 1).data();
  uint64_t raw = 0;
  if (extra == 8) {
    std::memcpy(&raw, bytes + 1, 8);
  } else {
    std::memcpy(&raw, bytes, extra + 1);
    raw >>= extra + 1;
  }
  static_assert(std::endian::native == std::endian::little, "bytecode is little endian");
  value = raw;
  return Status();
}

Status Cursor::truncated(uint64_t needed) const {
  return Status(Error::artifactTruncated,
                concat("at byte ", offset(), ", ", partName(), " needs ", needed,
                       " more bytes, but only ", remaining(),
                       " are left; the artifact is truncated or damaged, export it again"));
}

Status Cursor::tooMany(uint64_t count, std::string_view things) const {
  return Status(Error::countTooLarge,
                concat("at byte ", offset(), ", ", partName(), " declares ", count, " ", things,
                       ", more than its remaining ", remaining(),
                       " bytes can hold; export the artifact again"));
}

Status Cursor::leftOver() const {
  return Status(Error::trailingBytes,
                concat("at byte ", offset(), ", ", partName(), " has ", remaining(),
                       " unexpected bytes at its end; export the artifact again"));
}

} // namespace tilewright::bytecode
