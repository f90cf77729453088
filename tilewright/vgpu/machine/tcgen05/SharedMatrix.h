// A matrix in shared memory, as the descriptors of tcgen05 describe it.
#ifndef TILEWRIGHT_VGPU_MACHINE_TCGEN05_SHAREDMATRIX_H
#define TILEWRIGHT_VGPU_MACHINE_TCGEN05_SHAREDMATRIX_H

#include "tilewright/vgpu/machine/Warp.h"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace tilewright::vgpu::machine {

/// The chunks of 16 bytes of a matrix. Bits of a descriptor: 0-13 start, 16-29 leading dimension,
/// 32-45 stride, all in units of 16 bytes; 46-48 are 1; 49-51 base offset; 52 whether the leading
/// dimension is an address; 61-63 swizzle.
struct SharedMatrix {
  explicit SharedMatrix(uint64_t bits)
      : start(static_cast<uint32_t>(bits & 0x3fff) << 4),
        leading(static_cast<uint32_t>(bits >> 16 & 0x3fff) << 4),
        stride(static_cast<uint32_t>(bits >> 32 & 0x3fff) << 4),
        version(static_cast<uint32_t>(bits >> 46 & 7)),
        baseOffset(static_cast<uint32_t>(bits >> 49 & 7)), isAbsolute(bits >> 52 & 1),
        swizzle(static_cast<uint32_t>(bits >> 61)) {}

  uint32_t start, leading, stride, version, baseOffset;
  bool isAbsolute;  // `leading` is the address of the part behind a boundary of 128 bytes
  uint32_t swizzle; // 0 none, 1 128 bytes in atoms of 32, 2 128 bytes, 4 64 bytes, 6 32 bytes

  /// Why the descriptor is invalid, or empty.
  std::string problem(bool isTransposed) const;

  uint32_t span() const { return swizzle == 0 ? 16 : swizzle == 4 ? 64 : swizzle == 6 ? 32 : 128; }
  uint32_t swizzled(uint32_t address) const {
    switch (swizzle) {
    case 1:
      return address ^ (address >> 2 & 0x60);
    case 2:
      return address ^ (address >> 3 & 0x70);
    case 4:
      return address ^ (address >> 3 & 0x30);
    case 6:
      return address ^ (address >> 3 & 0x10);
    default:
      return address;
    }
  }
  /// The address of chunk `chunk` of a row that is contiguous along k.
  uint32_t alongK(uint32_t row, uint32_t chunk) const {
    if (swizzle == 0)
      return start + row / 8 * stride + row % 8 * 16 + chunk * leading;
    const uint32_t inRow = row / 8 * stride + row % 8 * span();
    if (isAbsolute && start % 128 + chunk * 16 >= 128)
      return swizzled(leading + inRow + (start % 128 + chunk * 16 - 128));
    return swizzled(start + inRow + chunk * 16);
  }
  /// The address of chunk `chunk` along rows, at element `k`, if the matrix is transposed.
  uint32_t alongRows(uint32_t k, uint32_t chunk) const {
    if (swizzle == 0)
      return start + chunk * stride + k % 8 * 16 + k / 8 * leading;
    if (swizzle == 1)
      return swizzled(start + chunk / 8 * leading + chunk % 8 * 16 + k % 4 * 128 + k / 4 * stride);
    const uint32_t wide = span() / 16;
    return swizzled(start + chunk / wide * leading + chunk % wide * 16 + k % 8 * span() +
                    k / 8 * stride);
  }
};

/// Computes the offsets of the chunks of `rows` rows and `chunks` chunks in each, or, transposed,
/// of `rows` elements k and `chunks` chunks along the rows. Tells the observer that operation `id`
/// reads the first `usedBytes` of each in `block`; the rest is padding. Returns false after a
/// fault.
bool locateShared(Warp &warp, const Op *op, Block &block, const SharedMatrix &matrix,
                  bool isTransposed, unsigned rows, unsigned chunks, unsigned usedBytes, AsyncId id,
                  std::vector<uint32_t> &offsets);

} // namespace tilewright::vgpu::machine

#endif // TILEWRIGHT_VGPU_MACHINE_TCGEN05_SHAREDMATRIX_H
