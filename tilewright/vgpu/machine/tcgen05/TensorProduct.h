// tcgen05.mma: products of matrices in shared and tensor memory into tensor memory.
#ifndef TILEWRIGHT_VGPU_MACHINE_TCGEN05_TENSORPRODUCT_H
#define TILEWRIGHT_VGPU_MACHINE_TCGEN05_TENSORPRODUCT_H

#include "tilewright/vgpu/machine/External.h"
#include "tilewright/vgpu/machine/decode/MemoryForms.h"
#include "tilewright/vgpu/machine/tcgen05/InstructionDescriptor.h"

#include <vector>

namespace tilewright::vgpu::machine {

struct TensorProductForm {
  ExternalForm head;
  ProductMode mode;
  AddressForm d, a; // `a` only if A is in tensor memory
  bool aIsDescriptor = true;
  bool shiftsA = false;                                                   // .ashift
  uint32_t aDescriptor = 0, bDescriptor = 0, instruction = 0, enable = 0; // slots
  std::vector<uint32_t> disabled; // slots of the masks of lanes that are not written
  unsigned scaleD = 0;            // D is multiplied by 2^-scaleD
  bool hasZeroMask = false;
  uint32_t zeroMask = 0; // slot
  AddressForm scaleA, scaleB;
  unsigned block = 0; // elements along k that share a scale
};
After runTensorProduct(Warp &, const Op *, std::byte *, uint32_t, uint32_t);

/// The columns of B that a zero-column mask sets to zero, one flag each.
std::vector<bool> zeroColumns(uint64_t mask, unsigned m, unsigned n);

/// Where the elements of D are: row `row` of the block's part is in `lane`, and in `lane + step`,
/// `lane + 2 * step` … for further parts of the columns.
struct ProductLayout {
  unsigned rows = 0;     // in each block
  unsigned parts = 1;    // of the columns
  unsigned step = 0;     // lanes between the parts
  bool isSpread = false; // 16 rows in each quarter
  uint32_t laneOf(uint32_t row) const { return isSpread ? row / 16 * 32 + row % 16 : row; }
};
ProductLayout layoutOf(const ProductMode &mode, unsigned m);

/// The cell and the byte of the scale with number `number` of row (or column) `index`; `rows` is
/// the number of rows of the operand.
struct ScalePlace {
  uint32_t lane, column, byte;
};
ScalePlace placeOfScale(uint32_t index, uint32_t number, uint32_t firstByte, uint32_t rows,
                        bool isHalved);

} // namespace tilewright::vgpu::machine

#endif // TILEWRIGHT_VGPU_MACHINE_TCGEN05_TENSORPRODUCT_H
