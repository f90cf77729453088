// tcgen05.ld and tcgen05.st: between registers and tensor memory.
#ifndef TILEWRIGHT_VGPU_MACHINE_TCGEN05_TENSORMOVE_H
#define TILEWRIGHT_VGPU_MACHINE_TCGEN05_TENSORMOVE_H

#include "tilewright/vgpu/machine/External.h"
#include "tilewright/vgpu/machine/decode/MemoryForms.h"

#include <vector>

namespace tilewright::vgpu::machine {

/// The part of tensor memory that a warp moves: lanes × bits of a column range.
enum class TensorShape : uint8_t { lanes32, bits64, bits128, bits256, split };

/// The cell of register `index` of a thread, relative to the address of the instruction.
struct TensorCell {
  uint32_t lane, column;
};
constexpr TensorCell cellOf(TensorShape shape, uint32_t thread, uint32_t index, uint32_t split) {
  switch (shape) {
  case TensorShape::lanes32:
    return {thread, index};
  case TensorShape::bits64:
    return {thread / 4 + 8 * (thread & 1), (thread >> 1 & 1) + 2 * index};
  case TensorShape::bits128:
    return {thread / 4 + 8 * (index & 1), thread % 4 + 4 * (index >> 1)};
  case TensorShape::bits256:
    return {thread / 4 + 8 * (index >> 1 & 1), 2 * (thread % 4) + (index & 1) + 8 * (index >> 2)};
  case TensorShape::split:
    return {thread % 16, index + (thread >= 16 ? split : 0)};
  }
  return {};
}

/// The minimum or maximum of the values of a thread, as tcgen05.ld.red computes it.
struct TensorReduction {
  enum class Type : uint8_t { none, f32, u32, s32 };
  Type type = Type::none;
  bool isMin = false, isAbsolute = false, propagatesNan = false;
  uint32_t result = 0; // slot
};

struct TensorMoveForm {
  ExternalForm head;
  AddressForm address;
  TensorShape shape = TensorShape::lanes32;
  bool isPacked = false; // two columns of 16 bits for each register
  uint32_t split = 0;    // distance of the second half of `split`
  std::vector<uint32_t> slots;
  TensorReduction reduction;
};
After runTensorLoad(Warp &, const Op *, std::byte *, uint32_t, uint32_t);
After runTensorStore(Warp &, const Op *, std::byte *, uint32_t, uint32_t);

} // namespace tilewright::vgpu::machine

#endif // TILEWRIGHT_VGPU_MACHINE_TCGEN05_TENSORMOVE_H
