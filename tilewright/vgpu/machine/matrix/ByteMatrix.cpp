// ldmatrix and stmatrix of bytes, and of 4- and 6-bit elements that become bytes.
#include "tilewright/vgpu/machine/async/AsyncQueue.h"
#include "tilewright/vgpu/machine/matrix/Matrix.h"
#include "tilewright/vgpu/machine/tcgen05/TensorCopy.h"

namespace tilewright::vgpu::machine {

/// Sixteen elements of a row, one byte each. Elements of 4 and 6 bits are unsigned and begin at bit
/// 0.
static void readRow(const std::byte *from, unsigned paddedBits, uint8_t (&to)[16]) {
  if (paddedBits == 0) {
    std::memcpy(to, from, sizeof(to));
    return;
  }
  const PaddedFormat format = paddedBits == 4 ? PaddedFormat::bits4 : PaddedFormat::bits6;
  for (unsigned i = 0; i < 16; ++i)
    to[i] = paddedElement(format, from, i);
}

After runLdmatrixBytes(Warp &warp, const Op *op, std::byte *registers, uint32_t, uint32_t active) {
  const auto &form = *static_cast<const MatrixMoveForm *>(op->extra);
  const unsigned rows = 8 * static_cast<unsigned>(form.slots.size());
  // The padding after the elements is not read.
  const uint32_t used = form.paddedBits == 0 ? 16 : 2 * form.paddedBits;
  uint8_t bytes[32][16];
  AccessTeller teller(warp, op, AccessKind::read, Proxy::generic, 0);
  for (unsigned lane = 0; lane < rows; ++lane) {
    const std::byte *from = rowOf(warp, op, registers, form.address, lane);
    if (!from)
      return After::stop;
    teller.lane(lane,
                flatAddress(warp, form.address.space, rowAddress(registers, form.address, lane)),
                used);
    readRow(from, form.paddedBits, bytes[lane]);
  }
  teller.flush();
  // With g = lane / 4 and q = lane % 4, byte e of register r is column 4 * q + e of row g of matrix
  // r; transposed, row 4 * q + e and column g + 8 * (r % 2) of matrix r / 2.
  for (unsigned r = 0; r < form.slots.size(); ++r)
    for (unsigned lane = 0; lane < 32; ++lane) {
      if (!(active >> lane & 1))
        continue;
      uint32_t value = 0;
      for (unsigned e = 0; e < 4; ++e) {
        const unsigned across = 4 * (lane % 4) + e;
        const uint8_t byte = form.isTall ? bytes[16 * (r / 2) + across][lane / 4 + 8 * (r % 2)]
                                         : bytes[8 * r + lane / 4][across];
        value |= uint32_t(byte) << 8 * e;
      }
      setWord(registers, form.slots[r], lane, value);
    }
  return After::next;
}

After runStmatrixBytes(Warp &warp, const Op *op, std::byte *registers, uint32_t, uint32_t) {
  const auto &form = *static_cast<const MatrixMoveForm *>(op->extra);
  const unsigned rows = 8 * static_cast<unsigned>(form.slots.size());
  // Byte e of a register is column 2 * q + e % 2 of row g + 8 * (e / 2). The matrix is stored by
  // columns.
  uint8_t bytes[32][16];
  for (unsigned r = 0; r < form.slots.size(); ++r)
    for (unsigned lane = 0; lane < 32; ++lane)
      for (unsigned e = 0; e < 4; ++e)
        bytes[8 * r + 2 * (lane % 4) + e % 2][lane / 4 + 8 * (e / 2)] =
            static_cast<uint8_t>(word(registers, form.slots[r], lane) >> 8 * e);
  AccessTeller teller(warp, op, AccessKind::write, Proxy::generic, 0);
  for (unsigned lane = 0; lane < rows; ++lane)
    teller.lane(lane,
                flatAddress(warp, form.address.space, rowAddress(registers, form.address, lane)),
                16, reinterpret_cast<const std::byte *>(bytes[lane]));
  teller.flush();
  for (unsigned lane = 0; lane < rows; ++lane) {
    std::byte *to = rowOf(warp, op, registers, form.address, lane);
    if (!to)
      return After::stop;
    std::memcpy(to, bytes[lane], sizeof(bytes[lane]));
  }
  return After::next;
}

} // namespace tilewright::vgpu::machine
