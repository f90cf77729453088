// Executes vector instructions: reads the sources with their modifiers, computes the meaning for
// all lanes, and writes the result to the lanes of EXEC.
#include "tilewright/vgpu/amdgcn/execute/Vector.h"

#include "tilewright/vgpu/amdgcn/execute/Arithmetic.h"
#include "tilewright/vgpu/amdgcn/execute/Dpp.h"

#include <cstring>
#include <string>

namespace tilewright::vgpu::amdgcn {

// -- Reading

/// A scalar or constant, broadcast to all lanes.
static void broadcast(u64 value, bool isWide, LaneValues &buffer) {
  if (isWide)
    buffer.wide.fill(value);
  else
    std::fill_n(buffer.narrow(), laneCount, static_cast<u32>(value));
}

static u64 flushed(u64 bits, unsigned width) {
  const u64 exponent = width == 64 ? 0x7ff0000000000000u : width == 32 ? 0x7f800000u : 0x7c00u;
  return (bits & exponent) != 0 ? bits : bits & u64(1) << (width - 1);
}

static bool flushes(const Wave &wave, unsigned width) {
  return width == 32 ? wave.dispatch().flushes32 : wave.dispatch().flushes16And64;
}

/// Applies abs, neg and the flushing of denormals to one value.
static u64 modified(u64 bits, const Slot &slot, unsigned width, bool negates, bool flushesIt) {
  const u64 sign = u64(1) << (width - 1);
  if (slot.absolute)
    bits &= ~sign;
  if (slot.negated != negates)
    bits ^= sign;
  return flushesIt ? flushed(bits, width) : bits;
}

const void *readLanes(const Wave &wave, const Slot &slot, Select select, LaneValues &buffer) {
  const bool isWide = slot.bits == 64;
  const unsigned width = isWide ? 64 : std::min<unsigned>(slot.bits, select.bits);
  const bool flushesIt = slot.flushes && flushes(wave, width);
  const bool isPlain = !slot.absolute && slot.negated == select.negates && !flushesIt;
  if (slot.kind != SlotKind::vector)
    broadcast(readScalar(wave, slot), isWide, buffer);
  else if (isWide)
    for (unsigned lane = 0; lane < laneCount; ++lane)
      buffer.wide[lane] = wave.vectors[slot.index].lanes[lane] |
                          u64(wave.vectors[slot.index + 1].lanes[lane]) << 32;
  else if (isPlain && select.shift == 0 && select.bits == 32)
    return wave.vectors[slot.index].lanes.data();
  else
    std::memcpy(buffer.narrow(), wave.vectors[slot.index].lanes.data(), sizeof(VectorRegister));
  if (!isWide && (select.shift != 0 || select.bits != 32))
    for (unsigned lane = 0; lane < laneCount; ++lane) {
      const u32 shifted = buffer.narrow()[lane] << (32 - select.bits - select.shift);
      buffer.narrow()[lane] =
          slot.extended ? u32(i32(shifted) >> (32 - select.bits)) : shifted >> (32 - select.bits);
    }
  if (!isPlain)
    for (unsigned lane = 0; lane < laneCount; ++lane) {
      if (isWide)
        buffer.wide[lane] = modified(buffer.wide[lane], slot, width, select.negates, flushesIt);
      else
        buffer.narrow()[lane] = static_cast<u32>(
            modified(buffer.narrow()[lane], slot, width, select.negates, flushesIt));
    }
  return buffer.wide.data();
}

// -- Writing

template <typename T> static T clamped(T value) {
  return value > 0 ? (value < 1 ? value : T(1)) : T(0); // NaN gives 0
}

template <typename T> static void modifyAs(const Wave &wave, const Op &op, void *values) {
  constexpr f32 factors[] = {1, 2, 4, 0.5f};
  const T factor = static_cast<T>(factors[op.instruction.omod]);
  const bool flushesIt = flushes(wave, sizeof(T) * 8);
  if (op.instruction.omod == 0 && !op.instruction.clamp && !flushesIt)
    return;
  for (unsigned lane = 0; lane < laneCount; ++lane) {
    u64 bits = sizeof(T) == 8 ? static_cast<u64 *>(values)[lane] : static_cast<u32 *>(values)[lane];
    if (op.instruction.omod != 0)
      bits = bitsOf(static_cast<T>(fromBits<T>(bits) * factor));
    if (op.instruction.clamp)
      bits = bitsOf(clamped(fromBits<T>(bits)));
    if (flushesIt)
      bits = flushed(bits, sizeof(T) * 8);
    if constexpr (sizeof(T) == 8)
      static_cast<u64 *>(values)[lane] = bits;
    else
      static_cast<u32 *>(values)[lane] = static_cast<u32>(bits);
  }
}

void modifyResult(const Wave &wave, const Op &op, unsigned bits, void *values) {
  if (bits == 64)
    modifyAs<f64>(wave, op, values);
  else if (bits == 32)
    modifyAs<f32>(wave, op, values);
  else
    modifyAs<f16>(wave, op, values);
}

void writeLanes(Wave &wave, const Slot &slot, LaneMask mask, const void *values) {
  u32 *low = wave.vectors[slot.index].lanes.data();
  if (slot.bits == 64) {
    u32 *high = wave.vectors[slot.index + 1u].lanes.data();
    const u64 *wide = static_cast<const u64 *>(values);
    forLanes(mask, [&](unsigned lane) {
      low[lane] = static_cast<u32>(wide[lane]);
      high[lane] = static_cast<u32>(wide[lane] >> 32);
    });
    return;
  }
  const u32 *narrow = static_cast<const u32 *>(values);
  if (mask == ~LaneMask(0)) {
    std::memcpy(low, narrow, sizeof(VectorRegister));
    return;
  }
  for (unsigned lane = 0; lane < laneCount; ++lane)
    low[lane] = (mask >> lane & 1) != 0 ? narrow[lane] : low[lane];
}

void insertPart(const Wave &wave, const Op &op, unsigned shift, unsigned bits, unsigned unused,
                u32 *values) {
  const u32 ones = bits == 32 ? ~0u : ((1u << bits) - 1);
  const auto &old = wave.vectors[op.destination.index].lanes;
  for (unsigned lane = 0; lane < laneCount; ++lane) {
    const u32 part = values[lane] & ones;
    if (unused == keepsRest)
      values[lane] = (old[lane] & ~(ones << shift)) | part << shift;
    else if (unused == 1) // sign-extended above, 0 below
      values[lane] = u32(i32(part << (32 - bits)) >> (32 - bits)) << shift;
    else
      values[lane] = part << shift;
  }
}

// -- Instructions

static Select sdwaSelect(unsigned code) {
  if (code < 4)
    return {.shift = uint8_t(8 * code), .bits = 8};
  return code < 6 ? Select{.shift = uint8_t(16 * (code - 4)), .bits = 16} : Select{};
}

static Select selectOf(const Op &op, unsigned source) {
  const Instruction &instruction = op.instruction;
  if (instruction.form == Form::sdwa && source < 2)
    return sdwaSelect(source == 0 ? instruction.sdwa.source0 : instruction.sdwa.source1);
  if (op.sources[source].bits == 16)
    return {.shift = uint8_t((instruction.opSel >> source & 1) != 0 ? 16 : 0), .bits = 16};
  return {};
}

/// A 16-bit result goes to one half of the destination if the row has op_sel, and the other half
/// keeps its value; otherwise the upper half becomes 0.
static void placeResult(const Wave &wave, const Op &op, u32 *values) {
  const Instruction &instruction = op.instruction;
  if (instruction.form == Form::sdwa) {
    const Select select = sdwaSelect(instruction.sdwa.destination);
    if (select.bits != 32)
      insertPart(wave, op, select.shift, select.bits, instruction.sdwa.unused, values);
  } else if (op.meaning.vector->resultBits == 16 && instruction.row->has(flags::opSel)) {
    insertPart(wave, op, (instruction.opSel & 8) != 0 ? 16 : 0, 16, keepsRest, values);
  }
}

static void runVector(Wave &wave, const Op &op) {
  const VectorMeaning &meaning = *op.meaning.vector;
  alignas(64) LaneValues buffers[4], result;
  VectorOperands operands;
  operands.result = result.wide.data();
  LaneMask mask = wave.exec();
  const unsigned values = op.sourceCount - (op.hasMaskOperand ? 1 : 0);
  unsigned count = 0;
  if (meaning.sources > values)
    operands.sources[count++] = readLanes(wave, op.destination, {}, buffers[3]);
  for (unsigned source = 0; source < values; ++source)
    operands.sources[count++] =
        readLanes(wave, op.sources[source], selectOf(op, source), buffers[source]);
  if (op.instruction.form == Form::dpp)
    mask =
        applyDpp(wave, op.instruction.dpp, operands.sources[meaning.sources - values], buffers[0]);
  if (meaning.readsMask)
    operands.maskIn = op.hasMaskOperand ? readScalar(wave, op.sources[values]) : wave.vcc();
  meaning.compute(operands);
  if (meaning.resultIsFloat)
    modifyResult(wave, op, meaning.resultBits, result.wide.data());
  if (meaning.resultBits != 1) {
    if (meaning.resultBits != 64)
      placeResult(wave, op, result.narrow());
    writeLanes(wave, op.destination, mask, result.wide.data());
  }
  if (!meaning.writesMask)
    return;
  const LaneMask bits = operands.maskOut & mask;
  const Slot &destination = meaning.resultBits == 1 ? op.destination : op.scalarDestination;
  writeScalar(wave, destination, bits);
  if (op.writesExec)
    wave.setScalar64(execSlot, bits);
}

/// v_bitop3: the truth-table entry for three bits.
static void runBitop(Wave &wave, const Op &op) {
  LaneValues buffers[3], result;
  const u32 *sources[3];
  for (unsigned i = 0; i < 3; ++i)
    sources[i] =
        static_cast<const u32 *>(readLanes(wave, op.sources[i], selectOf(op, i), buffers[i]));
  for (unsigned lane = 0; lane < laneCount; ++lane) {
    const u32 a = sources[0][lane], b = sources[1][lane], c = sources[2][lane];
    u32 value = 0;
    for (unsigned entry = 0; entry < 8; ++entry)
      if ((op.instruction.truthTable >> entry & 1) != 0)
        value |=
            ((entry & 4) != 0 ? a : ~a) & ((entry & 2) != 0 ? b : ~b) & ((entry & 1) != 0 ? c : ~c);
    result.narrow()[lane] = value;
  }
  if (op.sources[0].bits == 16)
    insertPart(wave, op, (op.instruction.opSel & 8) != 0 ? 16 : 0, 16, keepsRest, result.narrow());
  writeLanes(wave, op.destination, wave.exec(), result.wide.data());
}

bool chooseVector(Op &op) {
  const Row &row = *op.instruction.row;
  if (row.has(flags::bitop)) {
    op.run = runBitop;
    return true;
  }
  std::string name(row.name);
  if (name.starts_with("v_cmpx_")) {
    name.erase(5, 1);
    op.writesExec = true;
  }
  const VectorMeaning *meaning = findVectorMeaning(name);
  // The bytes of gfx942 have no infinity and no -0.
  if (op.chip == Chip::gfx942)
    if (const VectorMeaning *special = findVectorMeaning(name + "_fnuz"))
      meaning = special;
  // Comparisons may also have clamp, which concerns only exceptions.
  if (meaning && op.instruction.clamp && !meaning->resultIsFloat && meaning->resultBits != 1)
    meaning = findVectorMeaning(name + "_clamp");
  if (!meaning)
    return false;
  op.meaning.vector = meaning;
  op.run = runVector;
  const OperandSpec *last = row.find(Field::source2);
  op.hasMaskOperand = last && last->kind == Kind::sgpr;
  const unsigned values = op.sourceCount - (op.hasMaskOperand ? 1 : 0);
  for (Slot &slot : op.sources)
    slot.flushes = slot.isNumber && name != "v_cndmask_b32";
  const Instruction &instruction = op.instruction;
  for (unsigned source = 0; source < values; ++source)
    if ((instruction.opSel >> source & 1) != 0 && op.sources[source].bits != 16)
      return false;
  if (instruction.omod != 0 && !meaning->resultIsFloat) // a pair of floats, as bits
    return false;
  if (meaning->resultBits == 64)
    op.destination.bits = 64;
  return meaning->sources == values || meaning->sources == values + 1;
}

} // namespace tilewright::vgpu::amdgcn
