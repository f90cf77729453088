// Integers of any type as int64, which is what places in memory are computed in.
#ifndef TILEWRIGHT_RUNTIME_CPU_LIBRARY_MOVEMENT_INDEXVALUES_H
#define TILEWRIGHT_RUNTIME_CPU_LIBRARY_MOVEMENT_INDEXVALUES_H

#include "tilewright/interpret/Scalar.h"
#include "tilewright/numerics/ElementType.h"

#include <cstdint>
#include <limits>
#include <vector>

namespace tilewright::runtime::cpu {

/// An index of an integer type. An unsigned one beyond int64 is the largest: outside of anything.
inline int64_t indexFrom(numerics::ElementType type, const std::byte *data) {
  const interpret::Scalar value = interpret::loadScalar(type, data);
  if (numerics::isUnsigned(type) && value.i < 0)
    return std::numeric_limits<int64_t>::max();
  return value.i;
}

/// The indices at `data` for a loop: as they are if they are i32 or i64, which they
/// nearly always are, and widened otherwise.
class IndexValues {
public:
  IndexValues(numerics::ElementType type, const std::byte *data, int64_t count) : data(data) {
    using numerics::ElementType;
    isNarrow = type == ElementType::i32;
    if (isNarrow || type == ElementType::i64)
      return;
    const auto bytes = static_cast<int64_t>(numerics::storageBytes(type));
    for (int64_t i = 0; i < count; ++i)
      widened.push_back(indexFrom(type, data + i * bytes));
    this->data = reinterpret_cast<const std::byte *>(widened.data());
  }

  /// Calls body(indices), a pointer to int32_t or int64_t.
  template <typename Body> void visit(Body &&body) const {
    if (isNarrow)
      body(reinterpret_cast<const int32_t *>(data));
    else
      body(reinterpret_cast<const int64_t *>(data));
  }

private:
  const std::byte *data;
  bool isNarrow;
  std::vector<int64_t> widened;
};

} // namespace tilewright::runtime::cpu

#endif // TILEWRIGHT_RUNTIME_CPU_LIBRARY_MOVEMENT_INDEXVALUES_H
