// ldmatrix, stmatrix, movmatrix, mma, wmma, wgmma, and products with a sparse A.
#include "tilewright/vgpu/machine/decode/Decoder.h"
#include "tilewright/vgpu/machine/matrix/WarpMatrix.h"
#include "tilewright/vgpu/ptx/Fragment.h"

#include <cfenv>

namespace tilewright::vgpu::machine {

using ptx::Handler;
using ptx::ModifierKind;

std::vector<uint32_t> Decoder::slotsOf(const Operand &operand, unsigned bytes, bool isWritten) {
  std::vector<uint32_t> result;
  for (const Operand &part : partsOf(operand))
    result.push_back(isWritten ? write(part, bytes) : readBytes(part, bytes));
  return result;
}

static unsigned bytesOfElement(Modifier type) { return type == Modifier::f64 ? 8 : 4; }

static int hostRounding(Modifier rounding) {
  switch (rounding) {
  case Modifier::rz:
    return FE_TOWARDZERO;
  case Modifier::rm:
    return FE_DOWNWARD;
  case Modifier::rp:
    return FE_UPWARD;
  default:
    return FE_TONEAREST;
  }
}

static WmmaFragment fragmentFor(const Instruction &instruction, char matrix, ptx::Shape shape) {
  WmmaFragment result;
  const ptx::Fragment fragment = ptx::fragmentOf(instruction, matrix);
  result.type = fragment.type;
  result.rows = matrix == 'B' ? shape.k : shape.m;
  result.columns = matrix == 'A' ? shape.k : shape.n;
  result.isAccumulator = matrix == 'C' || matrix == 'D';
  const unsigned bits = ptx::bitsOf(result.type);
  result.perLane = fragment.count * (bits >= 32 ? 1 : 32 / bits);
  return result;
}

Status Decoder::moveMatrix() {
  MatrixMoveForm form;
  form.head.converges = true;
  form.transposed = instruction->has(Modifier::trans);
  const Space space = spaceOf(instruction->find(ModifierKind::space));
  const bool ofBytes = instruction->has(Modifier::b8) || instruction->has(Modifier::b8x16);
  form.isTall = ptx::shapeOf(instruction->find(ModifierKind::shape)).m == 16;
  form.paddedBits = instruction->has(Modifier::b4x16p64)   ? 4
                    : instruction->has(Modifier::b6x16p32) ? 6
                                                           : 0;
  if (handler == Handler::ldmatrix) {
    form.head.function = ofBytes ? runLdmatrixBytes : runLdmatrix;
    form.slots = slotsOf(operands[0], 4, true);
    form.address = address(operands[1], space);
  } else if (handler == Handler::stmatrix) {
    form.head.function = ofBytes ? runStmatrixBytes : runStmatrix;
    form.address = address(operands[0], space);
    form.slots = slotsOf(operands[1], 4, false);
  } else {
    form.head.function = runMovmatrix;
    form.slots = slotsOf(operands[0], 4, true);
    form.source = readBytes(operands[1], 4);
  }
  return emitExternal(own<MatrixMoveForm>(std::move(form)));
}

Status Decoder::moveWmma() {
  WmmaMoveForm form;
  form.head = {runWmmaMove, true};
  form.isStore = handler == Handler::wmmaStore;
  const ptx::Shape shape = ptx::shapeOf(instruction->find(ModifierKind::shape));
  const Modifier which = instruction->find(ModifierKind::matrix);
  const char matrix = which == Modifier::matrixA ? 'A' : which == Modifier::matrixB ? 'B' : 'D';
  form.fragment = fragmentFor(*instruction, matrix, shape);
  form.byColumns = instruction->find(ModifierKind::layout) == Modifier::col;
  const unsigned bytes = bytesOfElement(form.fragment.type);
  form.address =
      address(operands[form.isStore ? 0 : 1], spaceOf(instruction->find(ModifierKind::space)));
  form.slots = slotsOf(operands[form.isStore ? 1 : 0], bytes, !form.isStore);
  form.hasStride = operands.size() > 2;
  if (form.hasStride)
    form.stride = readBytes(operands[2], 4);
  return emitExternal(own<WmmaMoveForm>(std::move(form)));
}

MatrixForm Decoder::matrixForm() const {
  MatrixForm form;
  form.head.converges = true;
  const ptx::Shape shape = ptx::shapeOf(instruction->find(ModifierKind::shape));
  form.m = shape.m, form.n = shape.n, form.k = shape.k;
  form.dType = instruction->type(0), form.aType = instruction->type(1);
  form.bType = instruction->type(2), form.cType = instruction->type(3);
  form.saturates = instruction->has(Modifier::satfinite);
  form.isXor = instruction->has(Modifier::opXor);
  return form;
}

void Decoder::readFragments(MatrixForm &form) {
  form.a = slotsOf(operands[1], bytesOfElement(form.aType), false);
  form.b = slotsOf(operands[2], bytesOfElement(form.bType), false);
  form.c = slotsOf(operands[3], bytesOfElement(form.cType), false);
  form.d = slotsOf(operands[0], bytesOfElement(form.dType), true);
}

Status Decoder::readWgmmaOperands(MatrixForm &form, size_t scale) {
  if (operands[scale].negated)
    return unsupported("a negated scale predicate");
  form.aIsDescriptor = operands[1].kind != OperandKind::vector;
  if (form.aIsDescriptor)
    form.aDescriptor = readBytes(operands[1], 8);
  else
    form.a = slotsOf(operands[1], 4, false);
  form.bDescriptor = readBytes(operands[2], 8);
  form.scaleD = predicate(operands[scale]);
  auto immediate = [&](size_t i) {
    return i < operands.size() ? static_cast<int64_t>(operands[i].value) : 0;
  };
  form.negatesA = immediate(scale + 1) == -1;
  form.negatesB = immediate(scale + 2) == -1;
  // If A is in registers, only B can be transposed.
  form.transposesA = form.aIsDescriptor && immediate(scale + 3) != 0;
  form.transposesB = immediate(scale + (form.aIsDescriptor ? 4 : 3)) != 0;
  form.d = slotsOf(operands[0], 4, true);
  return Status();
}

Status Decoder::mma() {
  MatrixForm form = matrixForm();
  const bool isQuad = form.m == 8 && form.k == 4 && form.aType == Modifier::f16;
  const Modifier rounding = instruction->find(ModifierKind::rounding);
  const bool isRounded = rounding != Modifier::none && rounding != Modifier::rn;
  readFragments(form);
  if (!isQuad && !isRounded) {
    form.head.function = runMma;
    return emitExternal(own<MatrixForm>(std::move(form)));
  }
  form.head.function = form.dType == Modifier::f64 ? runRoundedMma : runQuadMma;
  WarpMatrixForm special;
  special.rounding = hostRounding(rounding);
  // The layouts of A and B, in that order.
  unsigned n = 0;
  for (Modifier modifier : instruction->mods())
    if (ptx::kindOf(modifier) == ModifierKind::layout)
      (n++ == 0 ? special.aByColumns : special.bByColumns) = modifier == Modifier::col;
  special.base = std::move(form);
  return emitExternal(own<WarpMatrixForm>(std::move(special)));
}

Status Decoder::narrowMma() {
  NarrowForm form;
  form.base = matrixForm();
  form.base.head.function = runNarrowMma;
  form.inBytes = form.base.k == 32;
  readFragments(form.base);
  if (instruction->has(Modifier::blockScale)) {
    // The number of scales per row, by kind: the defaults.
    const Modifier vector = instruction->find(ModifierKind::scaleVector);
    const unsigned count = vector == Modifier::scaleVec4   ? 4
                           : vector == Modifier::scaleVec2 ? 2
                           : vector == Modifier::scaleVec1 ? 1
                                                           : form.base.k / 32;
    form.block = form.base.k / count;
    form.hasE8Scales = instruction->type(4) == Modifier::ue8m0;
    form.scaleA = readBytes(partsOf(operands[4])[0], 4);
    form.byteA = readBytes(partsOf(operands[5])[0], 2);
    form.threadA = readBytes(partsOf(operands[5])[1], 2);
    form.scaleB = readBytes(partsOf(operands[6])[0], 4);
    form.byteB = readBytes(partsOf(operands[7])[0], 2);
    form.threadB = readBytes(partsOf(operands[7])[1], 2);
  }
  return emitExternal(own<NarrowForm>(std::move(form)));
}

Status Decoder::wmma() {
  WarpMatrixForm form;
  form.base = matrixForm();
  form.base.head.function = runWmma;
  form.rounding = hostRounding(instruction->find(ModifierKind::rounding));
  // If the instruction does not give the types of A and B, they are f16, and the two given types
  // are those of D and C.
  if (instruction->type(2) == Modifier::none) {
    form.base.cType = form.base.aType;
    form.base.aType = form.base.bType = Modifier::f16;
  }
  const ptx::Shape shape = ptx::shapeOf(instruction->find(ModifierKind::shape));
  form.a = fragmentFor(*instruction, 'A', shape), form.b = fragmentFor(*instruction, 'B', shape);
  form.c = fragmentFor(*instruction, 'C', shape), form.d = fragmentFor(*instruction, 'D', shape);
  readFragments(form.base);
  return emitExternal(own<WarpMatrixForm>(std::move(form)));
}

Status Decoder::sparseMma() {
  SparseForm form;
  form.base = matrixForm();
  form.base.head.function = runSparseMma;
  readFragments(form.base);
  form.metadata = readBytes(operands[4], 4);
  form.selector = static_cast<unsigned>(operands[5].value);
  return emitExternal(own<SparseForm>(std::move(form)));
}

Status Decoder::wgmma() {
  MatrixForm form = matrixForm();
  form.head.function = runWgmma;
  form.cType = form.dType;
  TILEWRIGHT_TRY(readWgmmaOperands(form, 3));
  return emitExternal(own<MatrixForm>(std::move(form)));
}

Status Decoder::sparseWgmma() {
  SparseForm form;
  form.base = matrixForm();
  form.base.head.function = runSparseWgmma;
  TILEWRIGHT_TRY(readWgmmaOperands(form.base, 5));
  form.metadata = readBytes(operands[3], 4);
  form.selector = static_cast<unsigned>(operands[4].value);
  return emitExternal(own<SparseForm>(std::move(form)));
}

void Decoder::findMatrixRegisters() {
  for (const Instruction &one : source.instructions) {
    const Handler kind = ptx::rowOf(one).handler;
    if (kind != Handler::wgmma && kind != Handler::wgmmaSparse && kind != Handler::tcgenLoad)
      continue;
    ofMatrices.resize(source.registers.size());
    const std::span<const Operand> parts = source.operandsOf(one);
    // The accumulators, and A if it is not a descriptor; the results of a load.
    for (const Operand *operand : {&parts[0], &parts[1]})
      if (operand->kind == OperandKind::vector ||
          (kind == Handler::tcgenLoad && operand->kind == OperandKind::reg))
        forRegisters(*operand, [&](uint32_t reg) { ofMatrices[reg] = true; });
  }
}

void Decoder::reportMatrixRegisters() {
  if (handler == Handler::wgmma || handler == Handler::wgmmaSparse || handler == Handler::tcgenLoad)
    return;
  RegisterAccessForm form;
  for (const Operand &operand : operands)
    forRegisters(operand, [&](uint32_t reg) {
      if (ofMatrices[reg])
        form.slots.push_back(slots[reg]);
    });
  if (form.slots.empty())
    return;
  const RegisterAccessForm *held = own<RegisterAccessForm>(std::move(form));
  emit(Operation::registerAccess).extra = held;
}

} // namespace tilewright::vgpu::machine
