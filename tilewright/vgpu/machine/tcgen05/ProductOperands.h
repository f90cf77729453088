// The operands of a tcgen05.mma as floats.
#ifndef TILEWRIGHT_VGPU_MACHINE_TCGEN05_PRODUCTOPERANDS_H
#define TILEWRIGHT_VGPU_MACHINE_TCGEN05_PRODUCTOPERANDS_H

#include "tilewright/vgpu/machine/async/AsyncQueue.h"
#include "tilewright/vgpu/machine/tcgen05/TensorProduct.h"

#include <vector>

namespace tilewright::vgpu::machine {

/// The operation on whose behalf operands are read.
struct ProductReader {
  Warp &warp;
  const Op *op;
  AsyncId id;
  const TensorProductForm &form;
  const InstructionDescriptor &product;

  /// Reads `rows` rows of k floats from the shared memory of `block`. False after a fault.
  bool readShared(Block &block, uint64_t descriptor, ProductType type, bool isTransposed,
                  unsigned rows, std::vector<float> &values) const;
  /// Reads A from the tensor memory of `block`. False after a fault.
  bool readTensor(Block &block, uint32_t address, const ProductLayout &layout,
                  std::vector<float> &values) const;
  /// Reads the scales of `rows` rows, k / block for each. Returns false after a fault, or if the
  /// copies of the scales for the four quarters of the lanes differ.
  bool readScales(Block &block, uint32_t address, unsigned rows, unsigned firstByte, bool isHalved,
                  std::vector<float> &scales) const;
};

} // namespace tilewright::vgpu::machine

#endif // TILEWRIGHT_VGPU_MACHINE_TCGEN05_PRODUCTOPERANDS_H
