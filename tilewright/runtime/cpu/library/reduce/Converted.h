// An operand in the type of the result, where a region widens it.
#ifndef TILEWRIGHT_RUNTIME_CPU_LIBRARY_REDUCE_CONVERTED_H
#define TILEWRIGHT_RUNTIME_CPU_LIBRARY_REDUCE_CONVERTED_H

#include "tilewright/interpret/scalar/Operations.h"
#include "tilewright/numerics/ElementType.h"

#include <cstddef>
#include <vector>

namespace tilewright::runtime::cpu {

/// The elements at `data` as `to`: themselves, if they are that already.
class Converted {
public:
  Converted(numerics::ElementType from, const std::byte *data, numerics::ElementType to,
            int64_t count)
      : content(data) {
    if (from == to)
      return;
    const size_t fromBytes = numerics::storageBytes(from), toBytes = numerics::storageBytes(to);
    memory.resize(static_cast<size_t>(count) * toBytes);
    const interpret::Operation convert =
        interpret::operationFor(interpret::ScalarOp::convert, from, to);
    for (size_t i = 0; i < static_cast<size_t>(count); ++i)
      interpret::storeScalar(to, &memory[i * toBytes],
                             convert(interpret::loadScalar(from, data + i * fromBytes), {}, {}));
    content = memory.data();
  }
  const std::byte *data() const { return content; }

private:
  std::vector<std::byte> memory;
  const std::byte *content;
};

} // namespace tilewright::runtime::cpu

#endif // TILEWRIGHT_RUNTIME_CPU_LIBRARY_REDUCE_CONVERTED_H
