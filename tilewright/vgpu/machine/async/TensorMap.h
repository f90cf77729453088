// A tensor map (CUtensorMap): 128 bytes that describe the layout of a tensor in global memory and
// how a box of it is copied to shared memory.
#ifndef TILEWRIGHT_VGPU_MACHINE_ASYNC_TENSORMAP_H
#define TILEWRIGHT_VGPU_MACHINE_ASYNC_TENSORMAP_H

#include "tilewright/support/Status.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace tilewright::vgpu::machine {

/// The numbering of the driver (CUtensorMapDataType).
enum class TensorElement : uint8_t {
  u8,
  u16,
  u32,
  s32,
  u64,
  s64,
  f16,
  f32,
  f64,
  bf16,
  f32Ftz,
  tf32,
  tf32Ftz,
  u4,       // 16U4_ALIGN8B
  u4Padded, // 16U4_ALIGN16B
  u6Padded, // 16U6_ALIGN16B
};
/// The minimum number of elements that fill whole bytes, and their sizes. `inShared` is larger if
/// elements are padded in shared memory.
struct ElementGroup {
  uint32_t elements, inGlobal, inShared;
  bool isPadded() const { return inShared != inGlobal; }
};
ElementGroup groupOf(TensorElement element);
inline bool isBelowByte(TensorElement element) { return element > TensorElement::tf32Ftz; }

/// The numbering of the driver (CUtensorMapSwizzle). The last three permute atoms larger than 16
/// bytes within 128.
enum class TensorSwizzle : uint8_t {
  none,
  bytes32,
  bytes64,
  bytes128,
  atoms32,
  atoms32Flipped,
  atoms64
};

/// The function of the driver that encodes the map: cuTensorMapEncodeTiled,
/// cuTensorMapEncodeIm2col, or cuTensorMapEncodeIm2colWide with one of its two modes. Instructions
/// name the same modes.
enum class TensorMode : uint8_t { tile, im2col, im2colW, im2colW128 };
std::string_view nameOf(TensorMode mode);

/// A decoded map. Address, rank, type, swizzle, strides, sizes and the first two box sizes are
/// encoded as on physical GPUs, because the CuTe DSL encodes maps itself; the positions of the
/// other fields are our choice.
struct TensorMap {
  uint64_t address = 0;
  unsigned rank = 1;
  TensorElement element = TensorElement::u8;
  TensorSwizzle swizzle = TensorSwizzle::none;
  uint8_t interleave = 0; // 0 none, 1 16 bytes, 2 32 bytes
  bool fillsNan = false;
  std::array<uint64_t, 5> size{1, 1, 1, 1, 1};
  std::array<uint64_t, 5> stride{}; // in bytes; that of dimension 0 is not used
  std::array<uint32_t, 5> box{1, 1, 1, 1, 1};
  std::array<uint32_t, 5> step{1, 1, 1, 1, 1};

  TensorMode mode = TensorMode::tile;
  // For im2col: box[0] is the number of channels of a pixel, `pixels` the number of pixels to copy.
  // The corners limit the pixels along W, H and D, relative to the first and the last of the
  // tensor.
  uint32_t pixels = 1;
  std::array<int32_t, 3> lower{}, upper{};

  static constexpr size_t encodedBytes = 128;
  static TensorMap decode(const std::byte *from);
  void encode(std::byte *to) const;
  /// Performs the checks of the driver's function for `mode`.
  Status check() const;

private:
  Status checkBelowByte() const;
  Status checkIm2col() const;
};

} // namespace tilewright::vgpu::machine

#endif // TILEWRIGHT_VGPU_MACHINE_ASYNC_TENSORMAP_H
