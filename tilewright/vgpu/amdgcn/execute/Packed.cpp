// Packed instructions (VOP3P) apply an instruction to each half of the registers: v_pk_add_f16 is
// v_add_f16 twice.
#include "tilewright/vgpu/amdgcn/execute/Arithmetic.h"
#include "tilewright/vgpu/amdgcn/execute/Vector.h"

#include <string>

namespace tilewright::vgpu::amdgcn {

/// Reads the half of a source that op_sel or op_sel_hi selects, as separate values.
static const void *readHalf(const Wave &wave, const Slot &slot, bool isUpper, bool negates,
                            LaneValues &buffer) {
  Slot half = slot;
  if (slot.bits == 64) { // two f32
    half.bits = 32;
    half.dwords = 1;
    if (slot.kind == SlotKind::vector || slot.kind == SlotKind::scalar)
      half.index = static_cast<uint16_t>(slot.index + isUpper);
    return readLanes(wave, half, {.negates = negates}, buffer);
  }
  half.bits = 16;
  return readLanes(wave, half, {.shift = uint8_t(isUpper ? 16 : 0), .bits = 16, .negates = negates},
                   buffer);
}

/// Writes the two dwords of each lane's result.
static void writePair(Wave &wave, const Op &op, LaneValues (&values)[2]) {
  Slot half = op.destination;
  half.bits = 32;
  for (LaneValues &part : values) {
    writeLanes(wave, half, wave.exec(), part.wide.data());
    ++half.index;
  }
}

static void runPacked(Wave &wave, const Op &op) {
  const VectorMeaning &meaning = *op.meaning.vector;
  const Instruction &instruction = op.instruction;
  LaneValues buffers[3], results[2];
  for (unsigned part = 0; part < 2; ++part) {
    const unsigned selects = part == 0 ? instruction.opSel : instruction.opSelHi;
    const unsigned signs = part == 0 ? instruction.negLo : instruction.negHi;
    VectorOperands operands;
    operands.result = results[part].wide.data();
    for (unsigned source = 0; source < op.sourceCount; ++source)
      operands.sources[source] = readHalf(wave, op.sources[source], (selects >> source & 1) != 0,
                                          (signs >> source & 1) != 0, buffers[source]);
    meaning.compute(operands);
    if (meaning.resultIsFloat)
      modifyResult(wave, op, meaning.resultBits, results[part].wide.data());
  }
  if (meaning.resultBits == 32)
    return writePair(wave, op, results);
  for (unsigned lane = 0; lane < laneCount; ++lane)
    results[0].narrow()[lane] |= results[1].narrow()[lane] << 16;
  writeLanes(wave, op.destination, wave.exec(), results[0].wide.data());
}

/// v_pk_mov_b32: the first source gives the lower dword, the second one the upper.
static void runPackedMove(Wave &wave, const Op &op) {
  LaneValues buffers[2];
  const void *values[2];
  for (unsigned i = 0; i < 2; ++i)
    values[i] =
        readHalf(wave, op.sources[i], (op.instruction.opSel >> i & 1) != 0, false, buffers[i]);
  LaneValues copies[2]; // the destination may overlap the sources
  for (unsigned i = 0; i < 2; ++i)
    std::copy_n(static_cast<const u32 *>(values[i]), laneCount, copies[i].narrow());
  writePair(wave, op, copies);
}

/// v_fma_mix*: a source is an f32, or the half that op_sel selects if its bit of op_sel_hi is set.
static void runMix(Wave &wave, const Op &op) {
  const Instruction &instruction = op.instruction;
  LaneValues buffers[3], result;
  const u32 *sources[3];
  bool isHalf[3];
  for (unsigned i = 0; i < 3; ++i) {
    isHalf[i] = (instruction.opSelHi >> i & 1) != 0;
    Slot slot = op.sources[i];
    slot.bits = isHalf[i] ? 16 : 32;
    const Select select =
        isHalf[i] ? Select{.shift = uint8_t((instruction.opSel >> i & 1) != 0 ? 16 : 0), .bits = 16}
                  : Select{};
    sources[i] = static_cast<const u32 *>(readLanes(wave, slot, select, buffers[i]));
  }
  auto value = [&](unsigned source, unsigned lane) {
    const u32 bits = sources[source][lane];
    return isHalf[source] ? f32(fromBits<f16>(bits)) : fromBits<f32>(bits);
  };
  const bool isSingle = instruction.row->name == "v_fma_mix_f32",
             isUpper = instruction.row->name == "v_fma_mixhi_f16";
  for (unsigned lane = 0; lane < laneCount; ++lane) {
    const f32 sum = std::fma(value(0, lane), value(1, lane), value(2, lane));
    result.narrow()[lane] = static_cast<u32>(isSingle ? bitsOf(sum) : bitsOf(f16(sum)));
  }
  modifyResult(wave, op, isSingle ? 32 : 16, result.wide.data());
  if (!isSingle)
    insertPart(wave, op, isUpper ? 16 : 0, 16, keepsRest, result.narrow());
  writeLanes(wave, op.destination, wave.exec(), result.wide.data());
}

bool choosePacked(Op &op) {
  const Row &row = *op.instruction.row;
  if (row.has(flags::mix)) {
    op.run = runMix;
    return true;
  }
  if (row.name == "v_pk_mov_b32") {
    op.run = runPackedMove;
    return !op.instruction.clamp;
  }
  if (row.name.starts_with("v_dot")) // of whole dwords
    return op.instruction.opSel == 0 && (op.instruction.opSelHi & 3) == 3 &&
           op.instruction.negLo == 0 && op.instruction.negHi == 0 && chooseVector(op);
  if (!row.name.starts_with("v_pk_"))
    return !row.has(flags::packed | flags::packedSigns | flags::mfma | flags::smfmac) &&
           chooseVector(op);
  const VectorMeaning *meaning = findVectorMeaning("v_" + std::string(row.name.substr(5)));
  if (!meaning || meaning->sources != op.sourceCount ||
      (op.instruction.clamp && !meaning->resultIsFloat))
    return false;
  for (Slot &slot : op.sources)
    slot.flushes = meaning->resultIsFloat;
  op.meaning.vector = meaning;
  op.run = runPacked;
  return true;
}

} // namespace tilewright::vgpu::amdgcn
