#include "tilewright/vgpu/nccl/Arithmetic.h"

#include "tilewright/numerics/Float.h"

#include <array>
#include <cstring>

namespace tilewright::vgpu::nccl {

using numerics::ElementType;
using numerics::ReductionKind;

static ElementType elementOf(ncclDataType_t type) {
  static constexpr std::array<ElementType, ncclNumTypes> types = {
      ElementType::i8,  ElementType::ui8,  ElementType::i32,      ElementType::ui32,
      ElementType::i64, ElementType::ui64, ElementType::f16,      ElementType::f32,
      ElementType::f64, ElementType::bf16, ElementType::f8E4M3FN, ElementType::f8E5M2};
  return types[type];
}

collective::Combine combineOf(ncclRedOp_t operation, ncclDataType_t type) {
  const ReductionKind kind = operation == ncclProd  ? ReductionKind::multiply
                             : operation == ncclMax ? ReductionKind::maximum
                             : operation == ncclMin ? ReductionKind::minimum
                                                    : ReductionKind::add;
  return collective::combineFor(kind, elementOf(type));
}

bool reciprocal(int ranks, ncclDataType_t type, std::byte *element) {
  const ElementType real = elementOf(type);
  if (!numerics::isReal(real))
    return false;
  // Little endian: the low bytes come first.
  const uint64_t bits = numerics::encode(real, 1.0 / ranks);
  std::memcpy(element, &bits, numerics::storageBytes(real));
  return true;
}

template <typename T> static void divideAll(std::byte *elements, size_t count, uint64_t by) {
  for (size_t i = 0; i < count; ++i) {
    T value;
    std::memcpy(&value, elements + i * sizeof(T), sizeof(T));
    value = static_cast<T>(value / static_cast<T>(by));
    std::memcpy(elements + i * sizeof(T), &value, sizeof(T));
  }
}

void divide(std::byte *elements, size_t count, ncclDataType_t type, uint64_t by) {
  switch (type) {
  case ncclInt8: // C++ divides as int; a communicator may have more than 127 ranks
    for (size_t i = 0; i < count; ++i) {
      int8_t value;
      std::memcpy(&value, elements + i, 1);
      value = static_cast<int8_t>(value / static_cast<int64_t>(by));
      std::memcpy(elements + i, &value, 1);
    }
    return;
  case ncclUint8:
    for (size_t i = 0; i < count; ++i)
      elements[i] = std::byte(std::to_integer<uint64_t>(elements[i]) / by);
    return;
  case ncclInt32:
    return divideAll<int32_t>(elements, count, by);
  case ncclUint32:
    return divideAll<uint32_t>(elements, count, by);
  case ncclInt64:
    return divideAll<int64_t>(elements, count, by);
  case ncclUint64:
    return divideAll<uint64_t>(elements, count, by);
  default:
    return;
  }
}

} // namespace tilewright::vgpu::nccl
