// wmma, the four products of mma.m8n8k4 (Volta), and products with a sparse A.
#include "tilewright/vgpu/machine/decode/Decoder.h"
#include "tilewright/vgpu/machine/matrix/WarpMatrix.h"
#include "tilewright/vgpu/ptx/Fragment.h"

#include <cfenv>

namespace tilewright::vgpu::machine {

using ptx::Handler;
using ptx::ModifierKind;

std::vector<uint32_t> Decoder::slotsOf(const Operand &operand, unsigned bytes, bool isWritten) {
  const std::span<const Operand> parts = operand.kind == OperandKind::vector
                                             ? source.elementsOf(operand)
                                             : std::span<const Operand>(&operand, 1);
  std::vector<uint32_t> result;
  for (const Operand &part : parts)
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

Status Decoder::warpMatrix() {
  const ptx::Shape shape = ptx::shapeOf(instruction->find(ModifierKind::shape));
  if (handler == Handler::wmmaLoad || handler == Handler::wmmaStore) {
    WmmaMoveForm form;
    form.head = {runWmmaMove, true};
    form.isStore = handler == Handler::wmmaStore;
    const Modifier which = instruction->find(ModifierKind::matrix);
    const char matrix = which == Modifier::matrixA ? 'A' : which == Modifier::matrixB ? 'B' : 'D';
    form.fragment = fragmentFor(*instruction, matrix, shape);
    form.byColumns = instruction->find(ModifierKind::layout) == Modifier::col;
    const unsigned bytes = bytesOfElement(form.fragment.type);
    form.address = address(operands[form.isStore ? 0 : 1],
                           spaceOf(*instruction, instruction->find(ModifierKind::space)));
    form.slots = slotsOf(operands[form.isStore ? 1 : 0], bytes, !form.isStore);
    form.hasStride = operands.size() > 2;
    if (form.hasStride)
      form.stride = readBytes(operands[2], 4);
    return emitExternal(own<WmmaMoveForm>(std::move(form)));
  }

  MatrixForm base;
  base.head.converges = true;
  base.m = shape.m, base.n = shape.n, base.k = shape.k;
  base.saturates = instruction->has(Modifier::satfinite);
  base.isXor = instruction->has(Modifier::opXor);
  base.dType = instruction->type(0), base.aType = instruction->type(1);
  base.bType = instruction->type(2), base.cType = instruction->type(3);

  if (handler == Handler::mmaSparse) {
    SparseForm form;
    base.head.function = runSparseMma;
    base.a = slotsOf(operands[1], 4, false);
    base.b = slotsOf(operands[2], 4, false);
    base.c = slotsOf(operands[3], 4, false);
    form.metadata = readBytes(operands[4], 4);
    form.selector = static_cast<unsigned>(operands[5].value);
    base.d = slotsOf(operands[0], 4, true);
    form.base = std::move(base);
    return emitExternal(own<SparseForm>(std::move(form)));
  }
  if (handler == Handler::wgmmaSparse) {
    SparseForm form;
    base.head.function = runSparseWgmma;
    base.aIsDescriptor = operands[1].kind != OperandKind::vector;
    if (base.aIsDescriptor)
      base.aDescriptor = readBytes(operands[1], 8);
    else
      base.a = slotsOf(operands[1], 4, false);
    base.bDescriptor = readBytes(operands[2], 8);
    form.metadata = readBytes(operands[3], 4);
    form.selector = static_cast<unsigned>(operands[4].value);
    base.scaleD = predicate(operands[5]);
    auto immediate = [&](size_t i) {
      return i < operands.size() ? static_cast<int64_t>(operands[i].value) : 0;
    };
    base.negatesA = immediate(6) == -1;
    base.negatesB = immediate(7) == -1;
    base.transposesA = base.aIsDescriptor && immediate(8) != 0;
    base.transposesB = immediate(base.aIsDescriptor ? 9 : 8) != 0;
    base.d = slotsOf(operands[0], 4, true);
    form.base = std::move(base);
    return emitExternal(own<SparseForm>(std::move(form)));
  }

  WarpMatrixForm form;
  form.rounding = hostRounding(instruction->find(ModifierKind::rounding));
  if (handler == Handler::mma) {
    const bool isDouble = base.dType == Modifier::f64;
    base.head.function = isDouble ? runRoundedMma : runQuadMma;
    // The layouts of A and B, in that order.
    unsigned n = 0;
    for (Modifier modifier : instruction->mods())
      if (ptx::kindOf(modifier) == ModifierKind::layout)
        (n++ == 0 ? form.aByColumns : form.bByColumns) = modifier == Modifier::col;
  } else {
    base.head.function = runWmma;
    // If the instruction does not give the types of A and B, they are f16, and the two given types
    // are those of D and C.
    if (instruction->type(2) == Modifier::none) {
      base.cType = base.aType;
      base.aType = base.bType = Modifier::f16;
    }
    form.a = fragmentFor(*instruction, 'A', shape), form.b = fragmentFor(*instruction, 'B', shape);
    form.c = fragmentFor(*instruction, 'C', shape), form.d = fragmentFor(*instruction, 'D', shape);
  }
  base.a = slotsOf(operands[1], bytesOfElement(base.aType), false);
  base.b = slotsOf(operands[2], bytesOfElement(base.bType), false);
  base.c = slotsOf(operands[3], bytesOfElement(base.cType), false);
  base.d = slotsOf(operands[0], bytesOfElement(base.dType), true);
  form.base = std::move(base);
  return emitExternal(own<WarpMatrixForm>(std::move(form)));
}

} // namespace tilewright::vgpu::machine
