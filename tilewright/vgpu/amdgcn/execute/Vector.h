// Vector instructions: reading and writing the operands of 64 lanes, and the table of meanings.
#ifndef TILEWRIGHT_VGPU_AMDGCN_EXECUTE_VECTOR_H
#define TILEWRIGHT_VGPU_AMDGCN_EXECUTE_VECTOR_H

#include "tilewright/vgpu/amdgcn/execute/Op.h"
#include "tilewright/vgpu/amdgcn/execute/Types.h"

namespace tilewright::vgpu::amdgcn {

/// The values of an operand: `u64[64]` for operands of 64 bits, else `u32[64]`.
struct alignas(64) LaneValues {
  std::array<u64, laneCount> wide;

  u32 *narrow() { return reinterpret_cast<u32 *>(wide.data()); }
};

/// The operands of a vector instruction for all lanes, including inactive ones.
struct VectorOperands {
  std::array<const void *, 4> sources{};
  void *result = nullptr;
  LaneMask maskIn = 0, maskOut = 0;
};

/// The meaning of one instruction in all its encodings: a function of the values of one lane.
struct VectorMeaning {
  std::string_view name;
  void (*compute)(VectorOperands &);
  uint8_t sources;    // that are values, the old destination included
  uint8_t resultBits; // 1 for a comparison
  bool resultIsFloat;
  bool readsMask; // the last operand of the row, or VCC
  bool writesMask;
};

/// The meaning of an instruction by its name; null if the name is unknown.
const VectorMeaning *findVectorMeaning(std::string_view name);

/// Which parts of a source are read: selected by SDWA, op_sel or packed instructions.
struct Select {
  uint8_t shift = 0, bits = 32; // bits is 32 also for operands of 64 bits, which are read whole
  bool negates = false;
};

/// Reads a source. The result points to `buffer`, or to the register itself if no modifier applies.
const void *readLanes(const Wave &wave, const Slot &slot, Select select, LaneValues &buffer);
/// Applies the output modifiers: omod, clamp, and the flushing of denormals.
void modifyResult(const Wave &wave, const Op &op, unsigned bits, void *values);
/// Writes 16-, 32- or 64-bit values to the lanes of `mask`. 16-bit values are zero-extended.
void writeLanes(Wave &wave, const Slot &slot, LaneMask mask, const void *values);

/// Writes `bits` bits of each value at `shift` of its register. `unused` says what the other bits
/// become, as SDWA encodes it: 0, copies of the sign, or the destination's old bits.
inline constexpr unsigned keepsRest = 2;
void insertPart(const Wave &wave, const Op &op, unsigned shift, unsigned bits, unsigned unused,
                u32 *values);

} // namespace tilewright::vgpu::amdgcn

#endif // TILEWRIGHT_VGPU_AMDGCN_EXECUTE_VECTOR_H
