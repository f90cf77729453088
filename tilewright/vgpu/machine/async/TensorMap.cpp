#include "tilewright/vgpu/machine/async/TensorMap.h"

#include "tilewright/support/Concat.h"

#include <cstring>

namespace tilewright::vgpu::machine {

unsigned bytesOf(TensorElement element) {
  switch (element) {
  case TensorElement::u8:
    return 1;
  case TensorElement::u16:
  case TensorElement::f16:
  case TensorElement::bf16:
    return 2;
  case TensorElement::u64:
  case TensorElement::s64:
  case TensorElement::f64:
    return 8;
  default:
    return 4;
  }
}

// Words of 32 bits:
//   0, 1    address
//   2       bits 4-6 rank - 1, 7-10 element type, 11-12 interleave, 13-14 swizzle, 15 NaN fill
//   3-6     strides of dimensions 1 to 4 in units of 16 bytes
//   7       bits 32-35 of those strides, 4 each
//   8-12    sizes - 1
//   bytes 55-59  box sizes - 1;  60-64  steps - 1

void TensorMap::encode(std::byte *to) const {
  uint32_t words[32] = {};
  std::memcpy(words, &address, 8);
  words[2] = (rank - 1) << 4 | uint32_t(element) << 7 | uint32_t(interleave) << 11 |
             uint32_t(swizzle) << 13 | uint32_t(fillsNan) << 15 | 0x20u << 16;
  for (unsigned i = 1; i < 5; ++i) {
    words[2 + i] = static_cast<uint32_t>(stride[i] >> 4);
    words[7] |= static_cast<uint32_t>(stride[i] >> 36 & 15) << (4 * (i - 1));
  }
  for (unsigned i = 0; i < 5; ++i)
    words[8 + i] = static_cast<uint32_t>(size[i] - 1);
  auto *bytes = reinterpret_cast<uint8_t *>(words);
  for (unsigned i = 0; i < 5; ++i) {
    bytes[55 + i] = static_cast<uint8_t>(box[i] - 1);
    bytes[60 + i] = static_cast<uint8_t>(step[i] - 1);
  }
  std::memcpy(to, words, sizeof(words));
}

TensorMap TensorMap::decode(const std::byte *from) {
  uint32_t words[32];
  std::memcpy(words, from, sizeof(words));
  TensorMap map;
  std::memcpy(&map.address, words, 8);
  map.rank = std::min(words[2] >> 4 & 7, 4u) + 1;
  map.element = static_cast<TensorElement>(words[2] >> 7 & 15);
  map.interleave = static_cast<uint8_t>(words[2] >> 11 & 3);
  map.swizzle = static_cast<TensorSwizzle>(words[2] >> 13 & 3);
  map.fillsNan = words[2] >> 15 & 1;
  map.stride[0] = bytesOf(map.element);
  for (unsigned i = 1; i < 5; ++i)
    map.stride[i] = uint64_t(words[2 + i]) << 4 | uint64_t(words[7] >> (4 * (i - 1)) & 15) << 36;
  const auto *bytes = reinterpret_cast<const uint8_t *>(words);
  for (unsigned i = 0; i < 5; ++i) {
    map.size[i] = uint64_t(words[8 + i]) + 1;
    map.box[i] = bytes[55 + i] + 1u;
    map.step[i] = bytes[60 + i] + 1u;
  }
  return map;
}

Status TensorMap::check() const {
  auto refuse = [](auto... parts) { return Status(Code::invalidArgument, concat(parts...)); };
  if (rank < 1 || rank > 5)
    return refuse("a tensor map must have 1 to 5 dimensions, got ", rank);
  if (address % 16 != 0 || (interleave == 2 && address % 32 != 0))
    return refuse("the address of a tensor must be a multiple of ", interleave == 2 ? 32 : 16,
                  ", got ", address);
  if (interleave != 0 && rank < 3)
    return refuse("an interleaved tensor must have at least 3 dimensions, got ", rank);
  for (unsigned i = 0; i < rank; ++i) {
    if (size[i] == 0 || size[i] > uint64_t(1) << 32)
      return refuse("size ", i, " of a tensor must be 1 to 2^32, got ", size[i]);
    if (box[i] < 1 || box[i] > 256)
      return refuse("box size ", i, " must be 1 to 256, got ", box[i]);
    if (step[i] < 1 || step[i] > 8)
      return refuse("element stride ", i, " must be 1 to 8, got ", step[i]);
    if (i > 0 && (stride[i] % 16 != 0 || stride[i] >= uint64_t(1) << 40))
      return refuse("stride ", i, " must be a multiple of 16 below 2^40, got ", stride[i]);
  }
  const uint32_t row = box[0] * bytesOf(element);
  const uint32_t span = swizzle == TensorSwizzle::bytes32   ? 32
                        : swizzle == TensorSwizzle::bytes64 ? 64
                                                            : 128;
  if (interleave == 0 && row % 16 != 0)
    return refuse("a row of the box must be a multiple of 16 bytes, got ", row);
  if (swizzle != TensorSwizzle::none && row > span)
    return refuse("a row of the box must not exceed the swizzle of ", span, " bytes, got ", row);
  return Status();
}

} // namespace tilewright::vgpu::machine
