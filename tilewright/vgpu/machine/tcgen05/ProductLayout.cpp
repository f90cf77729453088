// The layouts of tcgen05.mma in tensor memory.
#include "tilewright/vgpu/machine/tcgen05/TensorProduct.h"

namespace tilewright::vgpu::machine {

ProductLayout layoutOf(const ProductMode &mode, unsigned m) {
  if (mode.isPair)
    return m == 256 ? ProductLayout{128} : ProductLayout{64, 2, 64};
  if (mode.isStationary && m < 128)
    return m == 64 ? ProductLayout{64, 2, 64} : ProductLayout{32, 4, 32};
  if (m == 64)
    return {64, 1, 0, true};
  return {m};
}

ScalePlace placeOfScale(uint32_t index, uint32_t number, uint32_t firstByte, uint32_t rows,
                        bool isHalved) {
  // Four scales of a row share a cell, one in each byte. The next four are in the same lane of a
  // later column, after the scales of the other rows.
  const uint32_t byte = firstByte + number, group = byte / 4;
  if (isHalved) {
    const uint32_t half = rows / 2;
    return {index % half % 32 + (index >= half ? 64u : 0u),
            index % half / 32 + group * ((half + 31) / 32), byte % 4};
  }
  const uint32_t perGroup = rows > 128 ? 8 : 4;
  return {index % 32, index / 32 + group * perGroup, byte % 4};
}

std::vector<bool> zeroColumns(uint64_t mask, unsigned m, unsigned n) {
  std::vector<bool> zero(n);
  if (!(mask >> 39 & 1))
    return zero;
  const auto skip = static_cast<unsigned>(mask >> 40 & 0xff) + 1;
  const auto use = static_cast<unsigned>(mask >> 48 & 0xff) + 1;
  // Each part of the columns has its own mask of lanes.
  const unsigned parts = m == 128 ? 1 : m == 64 ? 2 : 4, width = n / parts;
  for (unsigned j = 0; j < n; ++j) {
    const unsigned part = j / width;
    const auto start = static_cast<unsigned>(mask >> (8 * part) & 0xff);
    const bool skipsFirst = mask >> (32 + part) & 1;
    const unsigned t = (j % width + start) % (skip + use);
    zero[j] = skipsFirst ? t < skip : t >= use;
  }
  return zero;
}

} // namespace tilewright::vgpu::machine
