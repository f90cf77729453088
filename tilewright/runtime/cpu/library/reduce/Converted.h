// Converts an operand to the type of the result, for regions whose result is wider.
#ifndef TILEWRIGHT_RUNTIME_CPU_LIBRARY_REDUCE_CONVERTED_H
#define TILEWRIGHT_RUNTIME_CPU_LIBRARY_REDUCE_CONVERTED_H

#include "tilewright/numerics/ElementType.h"
#include "tilewright/numerics/scalar/Operations.h"
#include "tilewright/runtime/cpu/library/Scratch.h"

#include <cstddef>

namespace tilewright::runtime::cpu {

/// The elements at `data` in type `to`; not copied if they already have it.
class Converted {
public:
  Converted(numerics::ElementType from, const std::byte *data, numerics::ElementType to,
            int64_t count)
      : content(data) {
    if (from == to)
      return;
    const size_t fromBytes = numerics::storageBytes(from), toBytes = numerics::storageBytes(to);
    memory = Scratch(count * static_cast<int64_t>(toBytes));
    const numerics::Operation convert =
        numerics::operationFor(numerics::ScalarOp::convert, from, to);
    for (size_t i = 0; i < static_cast<size_t>(count); ++i)
      numerics::storeScalar(to, memory.data() + i * toBytes,
                            convert(numerics::loadScalar(from, data + i * fromBytes), {}, {}));
    content = memory.data();
  }
  const std::byte *data() const { return content; }

private:
  Scratch memory;
  const std::byte *content;
};

} // namespace tilewright::runtime::cpu

#endif // TILEWRIGHT_RUNTIME_CPU_LIBRARY_REDUCE_CONVERTED_H
