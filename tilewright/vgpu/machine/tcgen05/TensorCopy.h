// tcgen05.cp, from shared to tensor memory, and tcgen05.shift.
#ifndef TILEWRIGHT_VGPU_MACHINE_TCGEN05_TENSORCOPY_H
#define TILEWRIGHT_VGPU_MACHINE_TCGEN05_TENSORCOPY_H

#include "tilewright/vgpu/machine/External.h"
#include "tilewright/vgpu/machine/decode/MemoryForms.h"

namespace tilewright::vgpu::machine {

/// Elements of 4 or 6 bits: sixteen of them and padding in 16 bytes.
enum class PaddedFormat : uint8_t { none, bits4, bits6 };
/// Element `index` of a padded chunk.
inline uint8_t paddedElement(PaddedFormat format, const std::byte *chunk, unsigned index) {
  if (format == PaddedFormat::bits4)
    return static_cast<uint8_t>(static_cast<uint8_t>(chunk[index / 2]) >> 4 * (index % 2) & 15);
  const unsigned bit = 6 * index;
  const unsigned pair = static_cast<unsigned>(chunk[bit / 8]) |
                        (bit / 8 + 1 < 12 ? static_cast<unsigned>(chunk[bit / 8 + 1]) << 8 : 0);
  return static_cast<uint8_t>(pair >> bit % 8 & 63);
}
/// The position of an element in a byte: four bits are in the middle, six at the end.
inline uint8_t inByte(PaddedFormat format, uint8_t element) {
  return static_cast<uint8_t>(format == PaddedFormat::bits4 ? element << 2 : element);
}

struct TensorCopyForm {
  ExternalForm head;
  AddressForm to;
  uint32_t descriptor = 0;    // slot
  unsigned rows = 0;          // of the source
  unsigned chunks = 1;        // of 16 bytes in a row
  unsigned laneStep = 1;      // from a row to the next
  unsigned copies = 1;        // how often rows are repeated
  bool isInterleaved = false; // 64 rows: quarters 0 and 1 get the first half (warpx2::01_23)
  PaddedFormat format = PaddedFormat::none;
  bool isPair = false;
};
After runTensorCopy(Warp &, const Op *, std::byte *, uint32_t, uint32_t);
After runTensorShift(Warp &, const Op *, std::byte *, uint32_t, uint32_t);

} // namespace tilewright::vgpu::machine

#endif // TILEWRIGHT_VGPU_MACHINE_TCGEN05_TENSORCOPY_H
