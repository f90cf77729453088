// Instructions that read or write LDS or memory: DS, FLAT, MUBUF and MTBUF.
#include "tilewright/vgpu/amdgcn/DecodeState.h"

namespace tilewright::vgpu::amdgcn {

void decodeDs(DecodeState &state) {
  if (!state.takes(2))
    return;
  Instruction &instruction = state.instruction;
  const Row &row = *instruction.row;
  MemoryBits &memory = instruction.memory;
  const bool usesAgprs = state.bit(25);
  memory.gds = state.bit(16);
  // These chips have no GDS; only the semaphores of the global wave sync (ds_gws_*) set its bit.
  state.failIf(row.has(flags::gds) != memory.gds);
  if (row.has(flags::twoOffsets)) {
    memory.offset = static_cast<int32_t>(state.bits(7, 0));
    memory.offset1 = static_cast<uint8_t>(state.bits(15, 8));
  } else {
    memory.offset = static_cast<int32_t>(state.bits(15, 0));
  }
  struct Place {
    Field field;
    unsigned low;
  };
  constexpr Place places[] = {
      {Field::source0, 32}, {Field::source1, 40}, {Field::source2, 48}, {Field::destination, 56}};
  for (const OperandSpec &spec : row.operands())
    for (const Place &place : places)
      if (place.field == spec.field)
        state.vector(spec, state.bits(place.low + 7, place.low),
                     usesAgprs && spec.field != Field::source0);
  bool hasData = false;
  for (const Place &place : places) {
    if (!row.find(place.field))
      state.reserve(place.low + 7, place.low);
    else
      hasData |= place.field != Field::source0;
  }
  state.failIf(usesAgprs && !hasData);
}

// -- FLAT

static constexpr OperandSpec addressPair = {Field::source0, Kind::vgpr, 64},
                             addressOffset = {Field::source0, Kind::vgpr, 32},
                             scalarPair = {Field::scalarDestination, Kind::sgpr, 64},
                             scalarOffset = {Field::scalarDestination, Kind::sgpr, 32};

static Operand &addOff(Instruction &instruction, const OperandSpec &spec) {
  return instruction.add({.spec = &spec, .kind = OperandKind::absent});
}

static void addFlatAddress(DecodeState &state, unsigned segment, unsigned scalarCode) {
  const unsigned address = state.bits(39, 32);
  if (segment == 1 && !state.bit(13)) {
    state.failIf(address != 0);
    addOff(state.instruction, addressOffset);
  } else {
    const bool isPair = segment == 0 || (segment == 2 && scalarCode == noRegister);
    state.vector(isPair ? addressPair : addressOffset, address);
  }
}

void decodeFlat(DecodeState &state) {
  if (!state.takes(2))
    return;
  Instruction &instruction = state.instruction;
  const Row &row = *instruction.row;
  MemoryBits &memory = instruction.memory;
  const unsigned segment = state.bits(15, 14), scalarCode = state.bits(54, 48);
  constexpr uint32_t segments[] = {flags::flat, flags::scratch, flags::global};
  if (segment > 2 || !row.has(segments[segment]))
    return state.fail();
  memory.segment = static_cast<uint8_t>(segment);
  memory.sc0 = state.bit(16);
  memory.nt = state.bit(17);
  memory.sc1 = state.bit(25);
  // Only the flat segment has unsigned offsets.
  memory.offset = segment == 0 ? static_cast<int32_t>(state.bits(12, 0))
                               : static_cast<int32_t>(state.bits(12, 0) << 19) >> 19;
  state.failIf(segment != 1 && state.bit(13));
  const bool usesAgprs = state.bit(55);
  const OperandSpec *data = row.find(Field::source1), *destination = row.find(Field::destination);
  if (row.has(flags::atomic) && !memory.sc0)
    destination = nullptr;
  if (destination)
    state.vector(*destination, state.bits(63, 56), usesAgprs);
  else
    state.reserve(63, 56);
  addFlatAddress(state, segment, scalarCode);
  if (data)
    state.vector(*data, state.bits(47, 40), usesAgprs);
  else
    state.reserve(47, 40);
  state.failIf(usesAgprs && !data && !destination);
  state.failIf(usesAgprs && destination && row.has(flags::vgprResult));
  if (segment == 0)
    state.failIf(scalarCode != 0);
  else if (scalarCode == noRegister)
    addOff(instruction, scalarPair);
  else {
    state.failIf(scalarCode >= execCode);
    state.scalar(segment == 2 ? scalarPair : scalarOffset, scalarCode);
  }
}

// -- Buffers

static constexpr OperandSpec resource = {Field::source2, Kind::sgpr, 128},
                             offsetSource = {Field::offset, Kind::bits, 32};

void decodeBuffer(DecodeState &state) {
  if (!state.takes(2))
    return;
  Instruction &instruction = state.instruction;
  const Row &row = *instruction.row;
  MemoryBits &memory = instruction.memory;
  const bool isTyped = row.encoding == Encoding::mtbuf;
  state.literalAt = 0;
  memory.offset = static_cast<int32_t>(state.bits(11, 0));
  memory.offen = state.bit(12);
  memory.idxen = state.bit(13);
  memory.sc0 = state.bit(14);
  if (isTyped) {
    memory.format = static_cast<uint8_t>(state.bits(25, 19));
    memory.sc1 = state.bit(53);
    memory.nt = state.bit(54);
  } else {
    memory.sc1 = state.bit(15);
    memory.lds = state.bit(16);
    memory.nt = state.bit(17);
    state.reserve(25, 25);
    state.reserve(54, 53);
    state.failIf(memory.lds && !row.has(flags::lds));
  }
  if (row.has(flags::bare)) {
    state.reserve(13, 0);
    state.reserve(17, 17);
    state.reserve(63, 32);
    return;
  }
  if (!memory.lds)
    state.vector(*row.find(Field::source1), state.bits(47, 40), state.bit(55));
  else
    state.failIf(state.bits(47, 40) != 0 || state.bit(55));
  const unsigned address = state.bits(39, 32);
  if (memory.offen || memory.idxen)
    state.vector(memory.offen && memory.idxen ? addressPair : addressOffset, address);
  else {
    state.failIf(address != 0);
    addOff(instruction, addressOffset);
  }
  state.scalar(resource, state.bits(52, 48) << 2);
  state.source(offsetSource, state.bits(63, 56));
}

} // namespace tilewright::vgpu::amdgcn
