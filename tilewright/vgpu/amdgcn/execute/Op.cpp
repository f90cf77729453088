#include "tilewright/vgpu/amdgcn/execute/Op.h"

#include "tilewright/support/Concat.h"

#include <bit>

namespace tilewright::vgpu::amdgcn {

// -- Operands

static constexpr unsigned sharedBaseCode = 235, sharedLimitCode = 236, privateBaseCode = 237,
                          privateLimitCode = 238, vcczCode = 251, execzCode = 252, sccCode = 253;

/// The bits of an inline constant for an operand of `bits` bits. Codes from 240 on are floats.
static uint64_t constantBits(unsigned code, unsigned bits, bool isBfloat) {
  if (code <= 192)
    return code - 128;
  if (code <= 208) {
    const int64_t value = 192 - static_cast<int64_t>(code);
    return bits == 64 ? static_cast<uint64_t>(value) : static_cast<uint32_t>(value);
  }
  constexpr float floats[] = {0.5f, -0.5f, 1, -1, 2, -2, 4, -4};
  constexpr uint16_t halves[] = {0x3800, 0xb800, 0x3c00, 0xbc00, 0x4000, 0xc000, 0x4400, 0xc400};
  const bool isInversePi = code == 248; // 1 / (2 pi), whose bits differ by more than rounding
  if (bits == 64)
    return isInversePi ? 0x3fc45f306dc9c882u
                       : std::bit_cast<uint64_t>(static_cast<double>(floats[code - 240]));
  const uint32_t single = isInversePi ? 0x3e22f983u : std::bit_cast<uint32_t>(floats[code - 240]);
  if (bits == 32)
    return single;
  if (isBfloat)
    return single >> 16;
  return isInversePi ? 0x3118 : halves[code - 240];
}

/// The number of bits of a constant that an operand reads.
static unsigned constantWidth(const OperandSpec &spec) {
  switch (spec.kind) {
  case Kind::half2:
  case Kind::bfloat2:
    return 16;
  case Kind::float2:
    return 32;
  default:
    return spec.bits > 64 ? 32 : spec.bits;
  }
}

static Slot makeSlot(const Operand &operand, std::string_view name) {
  const OperandSpec &spec = *operand.spec;
  Slot slot;
  slot.dwords = operand.dwords;
  slot.bits = static_cast<uint8_t>(std::min<unsigned>(spec.bits, 128));
  slot.isNumber = spec.kind == Kind::number || spec.kind == Kind::bfloat;
  slot.negated = operand.negated;
  slot.absolute = operand.absolute;
  slot.extended = operand.extended;
  slot.index = operand.code;
  switch (operand.kind) {
  case OperandKind::scalar:
    slot.kind = operand.code < scalarSlots ? SlotKind::scalar : SlotKind::special;
    break;
  case OperandKind::constant:
    slot.kind = SlotKind::value;
    slot.value = constantBits(operand.code, constantWidth(spec),
                              spec.kind == Kind::bfloat || spec.kind == Kind::bfloat2);
    break;
  case OperandKind::vgpr:
    slot.kind = SlotKind::vector;
    break;
  case OperandKind::agpr:
    slot.kind = SlotKind::vector;
    slot.index = static_cast<uint16_t>(firstAgprSlot + operand.code);
    break;
  case OperandKind::literal:
    slot.kind = SlotKind::value;
    slot.value = operand.value;
    // A literal is the upper half of an f64, and the lower half of an integer or of a mask.
    if (spec.bits == 64 && slot.isNumber)
      slot.value = uint64_t(operand.value) << 32;
    else if (spec.bits == 64 && name.find("_i64") != std::string_view::npos)
      slot.value = static_cast<uint64_t>(static_cast<int32_t>(operand.value));
    break;
  case OperandKind::immediate:
    slot.kind = SlotKind::value;
    slot.value = spec.kind == Kind::hex16 || spec.kind == Kind::label
                     ? static_cast<uint64_t>(static_cast<int16_t>(operand.value))
                     : operand.value;
    break;
  case OperandKind::absent:
    break;
  }
  return slot;
}

static uint64_t readSpecial(const Wave &wave, unsigned code) {
  switch (code) {
  case sharedBaseCode:
    return ldsAperture >> 32 << 32;
  case sharedLimitCode:
    return ldsAperture | 0xffffffffu;
  case privateBaseCode:
    return scratchAperture;
  case privateLimitCode:
    return scratchAperture | 0xffffffffu;
  case vcczCode:
    return wave.vcc() == 0;
  case execzCode:
    return wave.exec() == 0;
  case sccCode:
    return wave.scc;
  default:
    return 0;
  }
}

uint64_t readScalar(const Wave &wave, const Slot &slot) {
  switch (slot.kind) {
  case SlotKind::scalar:
    return slot.dwords == 2 ? wave.scalar64(slot.index) : wave.scalars[slot.index];
  case SlotKind::special: {
    const uint64_t value = readSpecial(wave, slot.index);
    // The apertures are the upper halves of addresses; the lower halves are 0.
    return slot.dwords == 1 && slot.index <= privateLimitCode ? value >> 32 : value;
  }
  case SlotKind::value:
    return slot.value;
  default:
    return 0;
  }
}

// -- Operations

std::string placeOf(const Op &op) {
  return concat("'", toText(op.instruction), "' at ", op.address, " of the code object");
}

static bool choose(Op &op) {
  switch (op.instruction.row->encoding) {
  case Encoding::sop1:
  case Encoding::sop2:
  case Encoding::sopk:
  case Encoding::sopc:
    return chooseScalar(op) || chooseControl(op);
  case Encoding::sopp:
    return chooseControl(op);
  case Encoding::smem:
    return chooseScalarMemory(op);
  case Encoding::vop1:
  case Encoding::vop2:
  case Encoding::vopc:
  case Encoding::vop3:
    return chooseCrossLane(op) || chooseVector(op);
  case Encoding::vop3p:
    return chooseMatrix(op) || choosePacked(op);
  case Encoding::ds:
    return chooseLds(op);
  case Encoding::flat:
    return chooseFlat(op);
  case Encoding::mubuf:
    return chooseBuffer(op);
  case Encoding::mtbuf:
    return false;
  }
  return false;
}

static unsigned memoryPlace(Field field) {
  switch (field) {
  case Field::source0:
    return 0;
  case Field::source1:
    return 1;
  case Field::offset:
    return 3;
  default:
    return 2;
  }
}

/// Sets the counter of a memory operation, and whether it has a result in registers.
static void setCounter(Op &op) {
  const Row &row = *op.instruction.row;
  const MemoryBits &bits = op.instruction.memory;
  op.writesRegisters = op.destination.kind != SlotKind::none;
  switch (row.encoding) {
  case Encoding::smem:
    op.counter = op.writesRegisters ? Counter::scalar : Counter::none;
    break;
  case Encoding::ds:
    op.counter = Counter::local;
    break;
  case Encoding::flat:
    op.counter = bits.segment == 0 ? Counter::flat : Counter::vector;
    break;
  case Encoding::mubuf: // the data, or the result, is a source
    op.counter = row.name == "buffer_inv" ? Counter::none : Counter::vector;
    op.writesRegisters = !row.has(flags::bare) && !bits.lds &&
                         (row.has(flags::atomic) ? bits.sc0 : row.name.starts_with("buffer_load"));
    break;
  default:
    break;
  }
}

Result<Op> makeOp(const Instruction &instruction, uint64_t address, Chip chip) {
  Op op;
  op.chip = chip;
  op.instruction = instruction;
  op.address = address;
  for (const Operand &operand : instruction.operands()) {
    const Slot slot = makeSlot(operand, instruction.row->name);
    if (operand.spec->field == Field::destination)
      op.destination = slot;
    else if (instruction.row->encoding >= Encoding::ds)
      op.sources[memoryPlace(operand.spec->field)] = slot;
    else if (operand.spec->field == Field::scalarDestination)
      op.scalarDestination = slot;
    else
      op.sources[op.sourceCount++] = slot;
  }
  setCounter(op);
  if (!choose(op))
    return Status(Error::vgpuUnimplemented,
                  concat("the virtual GPU cannot execute '", toText(instruction), "'"));
  return op;
}

} // namespace tilewright::vgpu::amdgcn
