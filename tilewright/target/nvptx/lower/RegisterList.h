// registerList: the operands of an instruction that takes one register or several.
#ifndef TILEWRIGHT_TARGET_NVPTX_LOWER_REGISTERLIST_H
#define TILEWRIGHT_TARGET_NVPTX_LOWER_REGISTERLIST_H

#include "tilewright/support/Concat.h"

#include <string>

namespace tilewright::nvptx {

/// `count` operands of inline assembly from number `first`: "$2", or "{$2, $3}" for several.
inline std::string registerList(unsigned count, unsigned first) {
  std::string list;
  for (unsigned i = 0; i < count; ++i)
    list += concat(i ? ", " : "", "$", first + i);
  return count == 1 ? list : concat("{", list, "}");
}

} // namespace tilewright::nvptx

#endif // TILEWRIGHT_TARGET_NVPTX_LOWER_REGISTERLIST_H
