// tcgen05: tensor memory, and products into it.
#include "tilewright/vgpu/machine/decode/Decoder.h"
#include "tilewright/vgpu/machine/tcgen05/TensorCopy.h"
#include "tilewright/vgpu/machine/tcgen05/TensorMemory.h"
#include "tilewright/vgpu/machine/tcgen05/TensorMove.h"
#include "tilewright/vgpu/machine/tcgen05/TensorPipe.h"
#include "tilewright/vgpu/machine/tcgen05/TensorProduct.h"

namespace tilewright::vgpu::machine {

using ptx::Handler;
using ptx::ModifierKind;

Status Decoder::tcgenAllocation() {
  TensorAllocForm form;
  form.head.converges = true;
  form.isPair = instruction->has(Modifier::ctaGroup2);
  if (handler == Handler::tcgenRelinquish) {
    form.head.function = runTensorRelinquish;
    return emitExternal(own<TensorAllocForm>(form));
  }
  form.columns = readBytes(operands[1], 4);
  if (handler == Handler::tcgenAlloc) {
    form.head.function = runTensorAlloc;
    form.address = address(operands[0], spaceOf(instruction->find(ModifierKind::space)));
  } else {
    form.head.function = runTensorFree;
    form.tensor = readBytes(operands[0], 4);
  }
  return emitExternal(own<TensorAllocForm>(form));
}

/// An address in tensor memory has 32 bits.
AddressForm Decoder::tensorAddress(const Operand &operand) {
  return address(operand, Space::shared);
}

Status Decoder::tcgenMove() {
  TensorMoveForm form;
  form.head.converges = true;
  switch (instruction->find(ModifierKind::tensorShape)) {
  case Modifier::shape16x64b:
    form.shape = TensorShape::bits64;
    break;
  case Modifier::shape16x128b:
    form.shape = TensorShape::bits128;
    break;
  case Modifier::shape16x256b:
    form.shape = TensorShape::bits256;
    break;
  case Modifier::shape16x32bx2:
    form.shape = TensorShape::split;
    break;
  default:
    form.shape = TensorShape::lanes32;
    break;
  }
  form.isPacked = instruction->find(ModifierKind::packing) != Modifier::none;
  const bool isSplit = form.shape == TensorShape::split;
  if (handler == Handler::tcgenStore) {
    form.head.function = runTensorStore;
    form.address = tensorAddress(operands[0]);
    if (isSplit)
      form.split = static_cast<uint32_t>(operands[1].value);
    form.slots = slotsOf(operands[isSplit ? 2 : 1], 4, false);
    return emitExternal(own<TensorMoveForm>(std::move(form)));
  }
  form.head.function = runTensorLoad;
  const bool isReduced = instruction->has(Modifier::min) || instruction->has(Modifier::max);
  const size_t from = isReduced ? 2 : 1;
  form.address = tensorAddress(operands[from]);
  if (isSplit)
    form.split = static_cast<uint32_t>(operands[from + 1].value);
  form.slots = slotsOf(operands[0], 4, true);
  if (isReduced) {
    using Type = TensorReduction::Type;
    const Modifier type = instruction->type();
    form.reduction = {type == Modifier::f32   ? Type::f32
                      : type == Modifier::u32 ? Type::u32
                                              : Type::s32,
                      instruction->has(Modifier::min), instruction->has(Modifier::absolute),
                      instruction->has(Modifier::nan), write(operands[1], 4)};
  }
  return emitExternal(own<TensorMoveForm>(std::move(form)));
}

Status Decoder::tcgenCommit() {
  TensorCommitForm form;
  form.head.function = runTensorCommit;
  form.mbarrier = address(operands[0], spaceOf(instruction->find(ModifierKind::space)));
  form.isMulticast = instruction->has(Modifier::multicastCluster);
  form.isPair = instruction->has(Modifier::ctaGroup2);
  if (form.isMulticast)
    form.multicast = readBytes(operands[1], 2);
  return emitExternal(own<TensorCommitForm>(form));
}

Status Decoder::tcgenCopy() {
  TensorCopyForm form;
  form.isPair = instruction->has(Modifier::ctaGroup2);
  form.to = tensorAddress(operands[0]);
  if (handler == Handler::tcgenShift) {
    form.head.function = runTensorShift;
    return emitExternal(own<TensorCopyForm>(form));
  }
  form.head.function = runTensorCopy;
  form.descriptor = readBytes(operands[1], 8);
  switch (instruction->find(ModifierKind::tensorShape)) {
  case Modifier::shape128x256b:
    form.rows = 128, form.chunks = 2;
    break;
  case Modifier::shape4x256b:
    form.rows = 4, form.chunks = 2, form.laneStep = 32;
    break;
  case Modifier::shape128x128b:
    form.rows = 128;
    break;
  case Modifier::shape64x128b:
    form.rows = 64, form.copies = 2;
    form.isInterleaved = instruction->has(Modifier::warpx2Half);
    break;
  default:
    form.rows = 32, form.copies = 4;
    break;
  }
  const Modifier format = instruction->find(ModifierKind::sourceFormat);
  form.format = format == Modifier::b4x16p64   ? PaddedFormat::bits4
                : format == Modifier::b6x16p32 ? PaddedFormat::bits6
                                               : PaddedFormat::none;
  return emitExternal(own<TensorCopyForm>(form));
}

static ProductKind productKindOf(Modifier kind) {
  switch (kind) {
  case Modifier::kindTf32:
    return ProductKind::tf32;
  case Modifier::kindF8f6f4:
    return ProductKind::f8f6f4;
  case Modifier::kindI8:
    return ProductKind::i8;
  case Modifier::kindMxf8f6f4:
    return ProductKind::mxf8f6f4;
  case Modifier::kindMxf4:
    return ProductKind::mxf4;
  case Modifier::kindMxf4nvf4:
    return ProductKind::mxf4nvf4;
  default:
    return ProductKind::f16;
  }
}

Status Decoder::tcgenMma() {
  TensorProductForm form;
  form.head.function = runTensorProduct;
  form.mode = {productKindOf(instruction->find(ModifierKind::product)),
               instruction->has(Modifier::ctaGroup2),
               ptx::rowOf(*instruction).opcode == "tcgen05.mma.ws"};
  form.shiftsA = instruction->has(Modifier::ashift);
  form.d = tensorAddress(operands[0]);
  form.aIsDescriptor = operands[1].kind != OperandKind::address;
  if (form.aIsDescriptor)
    form.aDescriptor = readBytes(operands[1], 8);
  else
    form.a = tensorAddress(operands[1]);
  if (form.shiftsA && form.aIsDescriptor)
    return unsupported(".ashift needs A in tensor memory");
  form.bDescriptor = readBytes(operands[2], 8);
  form.instruction = readBytes(operands[3], 4);
  size_t next = 4;
  if (isScaled(form.mode.kind)) {
    form.scaleA = tensorAddress(operands[4]);
    form.scaleB = tensorAddress(operands[5]);
    const Modifier vector = instruction->find(ModifierKind::scaleVector);
    form.block = vector == Modifier::scaleVec4 || vector == Modifier::block16 ? 16 : 32;
    next = 6;
  } else if (operands[4].kind == OperandKind::vector) {
    form.disabled = slotsOf(operands[4], 4, false);
    next = 5;
  }
  if (operands[next].negated)
    return unsupported("a negated predicate");
  form.enable = predicate(operands[next++]);
  if (next < operands.size()) {
    if (form.mode.isStationary) {
      form.hasZeroMask = true;
      form.zeroMask = readBytes(operands[next], 8);
    } else {
      form.scaleD = static_cast<unsigned>(operands[next].value);
      if (form.scaleD > 15)
        return unsupported("scale-input-d must be 0 to 15");
    }
  }
  return emitExternal(own<TensorProductForm>(std::move(form)));
}

} // namespace tilewright::vgpu::machine
