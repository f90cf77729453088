#include "tilewright/vgpu/machine/async/TensorMap.h"

#include "tilewright/support/Concat.h"

#include <algorithm>
#include <cstring>

namespace tilewright::vgpu::machine {

std::string_view nameOf(TensorMode mode) {
  static constexpr std::string_view names[] = {"tiles", "im2col", "im2col::w", "im2col::w::128"};
  return names[static_cast<size_t>(mode)];
}

ElementGroup groupOf(TensorElement element) {
  switch (element) {
  case TensorElement::u8:
    return {1, 1, 1};
  case TensorElement::u16:
  case TensorElement::f16:
  case TensorElement::bf16:
    return {1, 2, 2};
  case TensorElement::u64:
  case TensorElement::s64:
  case TensorElement::f64:
    return {1, 8, 8};
  case TensorElement::u4:
    return {2, 1, 1};
  case TensorElement::u4Padded:
    return {16, 8, 16};
  case TensorElement::u6Padded:
    return {16, 12, 16};
  default:
    return {1, 4, 4};
  }
}

// Words of 32 bits:
//   0, 1    address
//   2       bits 4-6 rank - 1, 7-10 element type, 11-12 interleave, 13-14 swizzle, 15 NaN fill,
//           16 f32 is rounded to tf32, 19-20 atoms of a 128-byte swizzle
//   3-6     strides of dimensions 1 to 4 in units of 16 bytes
//   7       bits 32-35 of those strides, 4 each
//   8-12    sizes - 1
//   bytes 55-59  box sizes - 1;  60-64  steps - 1
// The rest is ours, for im2col. Programs that make maps themselves leave these bytes as they were,
// so they count only behind a mark:
//   bytes 65 mode;  66-67 pixels - 1;  68-79 corners;  80-87 the mark

static constexpr char walkMark[8] = {'i', 'm', '2', 'c', 'o', 'l', ' ', '1'};

/// The element types in the order of their codes.
static constexpr TensorElement coded[] = {
    TensorElement::u8,       TensorElement::u16,     TensorElement::u32,  TensorElement::s32,
    TensorElement::u64,      TensorElement::s64,     TensorElement::f16,  TensorElement::f32,
    TensorElement::f32Ftz,   TensorElement::f64,     TensorElement::bf16, TensorElement::u4,
    TensorElement::u4Padded, TensorElement::u6Padded};

static uint32_t codeOf(TensorElement element) {
  const uint32_t rounded = 1u << 16;
  if (element == TensorElement::tf32)
    return codeOf(TensorElement::f32) | rounded;
  if (element == TensorElement::tf32Ftz)
    return codeOf(TensorElement::f32Ftz) | rounded;
  return static_cast<uint32_t>(std::ranges::find(coded, element) - coded) << 7;
}

static TensorElement elementOf(uint32_t word) {
  const TensorElement element = coded[std::min<size_t>(word >> 7 & 15, std::size(coded) - 1)];
  const bool isRounded = word >> 16 & 1;
  if (isRounded && element == TensorElement::f32)
    return TensorElement::tf32;
  if (isRounded && element == TensorElement::f32Ftz)
    return TensorElement::tf32Ftz;
  return element;
}

void TensorMap::encode(std::byte *to) const {
  uint32_t words[32] = {};
  std::memcpy(words, &address, 8);
  words[2] = (rank - 1) << 4 | codeOf(element) | uint32_t(interleave) << 11 |
             std::min(uint32_t(swizzle), 3u) << 13 | uint32_t(fillsNan) << 15 |
             (std::max(uint32_t(swizzle), 3u) - 3) << 19;
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
  if (mode != TensorMode::tile) {
    bytes[65] = static_cast<uint8_t>(mode);
    const auto count = static_cast<uint16_t>(pixels - 1);
    std::memcpy(bytes + 66, &count, 2);
    for (unsigned i = 0; i < 3; ++i) {
      const int16_t corners[] = {static_cast<int16_t>(lower[i]), static_cast<int16_t>(upper[i])};
      std::memcpy(bytes + 68 + 4 * i, corners, sizeof(corners));
    }
    std::memcpy(bytes + 80, walkMark, sizeof(walkMark));
  }
  std::memcpy(to, words, sizeof(words));
}

TensorMap TensorMap::decode(const std::byte *from) {
  uint32_t words[32];
  std::memcpy(words, from, sizeof(words));
  TensorMap map;
  std::memcpy(&map.address, words, 8);
  map.rank = std::min(words[2] >> 4 & 7, 4u) + 1;
  map.element = elementOf(words[2]);
  map.interleave = static_cast<uint8_t>(words[2] >> 11 & 3);
  map.fillsNan = words[2] >> 15 & 1;
  for (unsigned i = 1; i < 5; ++i)
    map.stride[i] = uint64_t(words[2 + i]) << 4 | uint64_t(words[7] >> (4 * (i - 1)) & 15) << 36;
  const auto *bytes = reinterpret_cast<const uint8_t *>(words);
  const uint32_t swizzle = words[2] >> 13 & 3;
  map.swizzle = static_cast<TensorSwizzle>(swizzle + (swizzle == 3 ? words[2] >> 19 & 3 : 0));
  for (unsigned i = 0; i < 5; ++i) {
    map.size[i] = uint64_t(words[8 + i]) + 1;
    map.box[i] = bytes[55 + i] + 1u;
    map.step[i] = bytes[60 + i] + 1u;
  }
  if (std::memcmp(bytes + 80, walkMark, sizeof(walkMark)) != 0)
    return map;
  map.mode = static_cast<TensorMode>(bytes[65] & 3);
  uint16_t count;
  std::memcpy(&count, bytes + 66, 2);
  map.pixels = count + 1u;
  for (unsigned i = 0; i < 3; ++i) {
    int16_t corners[2];
    std::memcpy(corners, bytes + 68 + 4 * i, sizeof(corners));
    map.lower[i] = corners[0];
    map.upper[i] = corners[1];
  }
  return map;
}

/// The rules for elements of 4 and 6 bits.
Status TensorMap::checkBelowByte() const {
  auto refuse = [](auto... parts) { return Status(Code::invalidArgument, concat(parts...)); };
  if (swizzle == TensorSwizzle::atoms32Flipped)
    return refuse("swizzles that flip 8 bytes are not supported");
  if (!isBelowByte(element))
    return Status();
  const uint32_t whole = groupOf(element).isPadded() ? 128 : 2;
  if (size[0] % whole != 0)
    return refuse("size 0 of a tensor of such elements must be a multiple of ", whole, ", got ",
                  size[0]);
  if (whole == 128 ? box[0] != 128 : box[0] % 32 != 0)
    return refuse("box size 0 must be ", whole == 128 ? "128" : "a multiple of 32",
                  " for such elements, got ", box[0]);
  if (step[0] != 1 || interleave != 0 || fillsNan)
    return refuse("elements of less than a byte allow no element stride in dimension 0, no "
                  "interleaving and no fill with NaN");
  if (whole == 128 && (swizzle == TensorSwizzle::bytes32 || swizzle == TensorSwizzle::bytes64))
    return refuse("padded elements require no swizzle or one of 128 bytes");
  if (element == TensorElement::u4Padded && swizzle == TensorSwizzle::atoms64)
    return refuse("padded elements of 4 bits require atoms of 16 or 32 bytes");
  return Status();
}

/// The rules for maps of the modes im2col, im2col::w and im2col::w::128.
Status TensorMap::checkIm2col() const {
  auto refuse = [](auto... parts) { return Status(Code::invalidArgument, concat(parts...)); };
  const bool isWide = mode != TensorMode::im2col;
  if (rank < 3)
    return refuse("a tensor map for ", nameOf(mode), " must have 3 to 5 dimensions, got ", rank);
  if (pixels < 1 || pixels > 1024)
    return refuse("the number of pixels must be 1 to 1024, got ", pixels);
  const int32_t limit = isWide || rank == 3 ? 1 << 15 : rank == 4 ? 1 << 7 : 1 << 4;
  for (unsigned i = 0; i < (isWide ? 1 : rank - 2); ++i) {
    for (int32_t corner : {lower[i], upper[i]})
      if (corner < -limit || corner >= limit)
        return refuse("corner ", i, " must be ", -limit, " to ", limit - 1, ", got ", corner);
    if (static_cast<int64_t>(size[i + 1]) - 1 + upper[i] < lower[i])
      return refuse("corners ", i, " leave no pixel of ", size[i + 1], ": ", lower[i], " and ",
                    upper[i]);
  }
  if (isWide && interleave != 0)
    return refuse("a tensor map for ", nameOf(mode), " cannot be interleaved");
  if (isWide && swizzle != TensorSwizzle::bytes64 && swizzle != TensorSwizzle::bytes128 &&
      swizzle != TensorSwizzle::atoms32)
    return refuse("a tensor map for ", nameOf(mode),
                  " requires a swizzle of 64 or 128 bytes with atoms of 16 or 32 bytes");
  return Status();
}

Status TensorMap::check() const {
  auto refuse = [](auto... parts) { return Status(Code::invalidArgument, concat(parts...)); };
  if (rank < 1 || rank > 5)
    return refuse("a tensor map must have 1 to 5 dimensions, got ", rank);
  const ElementGroup group = groupOf(element);
  const uint32_t alignment = interleave == 2 || group.isPadded() ? 32 : 16;
  if (address % alignment != 0)
    return refuse("the address of a tensor must be a multiple of ", alignment, ", got ", address);
  if (interleave != 0 && rank < 3)
    return refuse("an interleaved tensor must have at least 3 dimensions, got ", rank);
  for (unsigned i = 0; i < rank; ++i) {
    if (size[i] == 0 || size[i] > uint64_t(1) << 32)
      return refuse("size ", i, " of a tensor must be 1 to 2^32, got ", size[i]);
    if (box[i] < 1 || box[i] > 256)
      return refuse("box size ", i, " must be 1 to 256, got ", box[i]);
    if (step[i] < 1 || step[i] > 8)
      return refuse("element stride ", i, " must be 1 to 8, got ", step[i]);
    if (i > 0 && (stride[i] % alignment != 0 || stride[i] >= uint64_t(1) << 40))
      return refuse("stride ", i, " must be a multiple of ", alignment, " below 2^40, got ",
                    stride[i]);
  }
  if (Status status = checkBelowByte(); !status.isOk())
    return status;
  if (mode != TensorMode::tile)
    if (Status status = checkIm2col(); !status.isOk())
      return status;
  const uint32_t row = box[0] / group.elements * group.inShared;
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
