// Reads indices of any integer type as int64, for computing memory offsets.
#ifndef TILEWRIGHT_RUNTIME_CPU_LIBRARY_MOVEMENT_INDEXVALUES_H
#define TILEWRIGHT_RUNTIME_CPU_LIBRARY_MOVEMENT_INDEXVALUES_H

#include "tilewright/numerics/ElementType.h"
#include "tilewright/numerics/scalar/Scalar.h"

#include <cstdint>
#include <limits>
#include <vector>

namespace tilewright::runtime::cpu {

/// Reads an index of integer type `type`. Unsigned values above the int64 maximum saturate; they
/// are out of bounds in any case.
inline int64_t indexFrom(numerics::ElementType type, const std::byte *data) {
  const numerics::Scalar value = numerics::loadScalar(type, data);
  if (numerics::isUnsigned(type) && value.i < 0)
    return std::numeric_limits<int64_t>::max();
  return value.i;
}

/// The indices at `data`: in place if they are i32 or i64, the usual types, and otherwise widened
/// to i64.
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
