#include "tilewright/vgpu/machine/async/Async.h"
#include "tilewright/vgpu/machine/async/AsyncQueue.h"
#include "tilewright/vgpu/machine/decode/Decoder.h"
#include "tilewright/vgpu/machine/matrix/Matrix.h"
#include "tilewright/vgpu/ptx/Fragment.h"

namespace tilewright::vgpu::machine {

using ptx::Handler;
using ptx::ModifierKind;

Status Decoder::emitExternal(const void *form) {
  emit(Operation::external).extra = form;
  return Status();
}

/// The n-th state space among the modifiers; cp.async has two.
static Modifier spaceWord(const Instruction &instruction, unsigned n) {
  for (Modifier modifier : instruction.mods())
    if (ptx::kindOf(modifier) == ModifierKind::space && n-- == 0)
      return modifier;
  return Modifier::none;
}

Status Decoder::mbarrier() {
  MbarrierForm form;
  form.head.function = runMbarrier;
  const std::string_view opcode = ptx::rowOf(*instruction).opcode;
  const Order order = orderOf(*instruction);
  const Scope scope = scopeOf(*instruction);
  const bool isWait = handler == Handler::mbarrierWait;
  form.order = order != Order::weak ? order : isWait ? Order::acquire : Order::release;
  form.scope = scope; // none: not given
  const Space space = spaceOf(*instruction, spaceWord(*instruction, 0));
  switch (handler) {
  case Handler::mbarrierInit:
    form.operation = MbarrierOperation::init;
    form.address = address(operands[0], space);
    form.value = readBytes(operands[1], 4);
    break;
  case Handler::mbarrierInval:
    form.operation = MbarrierOperation::invalidate;
    form.address = address(operands[0], space);
    break;
  case Handler::mbarrierTx:
    form.operation = opcode == "mbarrier.expect_tx" ? MbarrierOperation::expectTx
                                                    : MbarrierOperation::completeTx;
    form.address = address(operands[0], space);
    form.value = readBytes(operands[1], 4);
    break;
  case Handler::mbarrierArrive:
    form.operation = MbarrierOperation::arrive;
    form.drops = opcode.find("arrive_drop") != opcode.npos;
    form.expects = opcode.find("expect_tx") != opcode.npos;
    form.noComplete = opcode.find("noComplete") != opcode.npos;
    form.address = address(operands[1], space);
    form.hasCount = operands.size() > 2;
    if (form.hasCount)
      form.value = readBytes(operands[2], 4);
    form.returns = operands[0].kind == OperandKind::reg;
    form.result = write(operands[0], 8);
    break;
  case Handler::mbarrierWait:
    form.operation = opcode.find("try_wait") != opcode.npos ? MbarrierOperation::tryWait
                                                            : MbarrierOperation::testWait;
    form.byParity = opcode.find("parity") != opcode.npos;
    form.address = address(operands[1], space);
    form.value = readBytes(operands[2], form.byParity ? 4 : 8);
    form.result = writePredicate(operands[0]);
    break;
  case Handler::cpAsyncMbarrier:
    form.head.function = runCpAsyncMbarrier;
    form.address = address(operands[0], space);
    form.isCounted = instruction->has(Modifier::noinc);
    break;
  default:
    form.operation = MbarrierOperation::pendingCount;
    form.value = readBytes(operands[1], 8);
    form.result = write(operands[0], 4);
    break;
  }
  return emitExternal(own<MbarrierForm>(form));
}

static std::optional<AtomicForm> reductionOf(const Instruction &instruction, Modifier type) {
  static constexpr std::pair<Modifier, AtomicOperation> table[] = {
      {Modifier::add, AtomicOperation::add},    {Modifier::min, AtomicOperation::min},
      {Modifier::max, AtomicOperation::max},    {Modifier::inc, AtomicOperation::inc},
      {Modifier::dec, AtomicOperation::dec},    {Modifier::opAnd, AtomicOperation::bitAnd},
      {Modifier::opOr, AtomicOperation::bitOr}, {Modifier::opXor, AtomicOperation::bitXor}};
  static constexpr std::pair<Modifier, AtomicType> types[] = {
      {Modifier::u32, AtomicType::u32}, {Modifier::b32, AtomicType::u32},
      {Modifier::s32, AtomicType::s32}, {Modifier::u64, AtomicType::u64},
      {Modifier::b64, AtomicType::u64}, {Modifier::s64, AtomicType::s64},
      {Modifier::f16, AtomicType::f16}, {Modifier::bf16, AtomicType::bf16},
      {Modifier::f32, AtomicType::f32}, {Modifier::f64, AtomicType::f64}};
  for (auto [word, operation] : table)
    if (instruction.has(word)) {
      AtomicForm form;
      form.operation = operation;
      for (auto [name, kind] : types)
        if (name == type) {
          form.type = kind;
          form.bytes = static_cast<uint8_t>(registerBytes(type));
        }
      return form;
    }
  return std::nullopt;
}

Status Decoder::asyncCopy() {
  CopyForm form;
  const Modifier type = instruction->type();
  auto space = [&](unsigned n) { return spaceOf(*instruction, spaceWord(*instruction, n)); };
  // The operand after the mbarrier is the CTA mask of a multicast. A cache policy is only a hint.
  auto multicast = [&](size_t position) {
    form.isMulticast = instruction->has(Modifier::multicastCluster);
    if (form.isMulticast)
      form.multicast = readBytes(operands[position], 2);
  };
  switch (handler) {
  case Handler::cpAsync:
    form.head.function = runCpAsync;
    form.to = address(operands[0], space(0));
    form.from = address(operands[1], space(1));
    form.bytes = static_cast<uint32_t>(operands[2].value);
    if (form.bytes != 4 && form.bytes != 8 && form.bytes != 16)
      return unsupported("cp.async copies 4, 8 or 16 bytes");
    if (operands.size() > 3u + (instruction->has(Modifier::l2CacheHint) ? 1 : 0)) {
      const Operand &size = operands[3];
      form.hasSourceSize = true;
      if (size.kind == OperandKind::reg && bytesOf(size) == 1) {
        form.sizeIsPredicate = true;
        form.sizeIsFlipped = size.negated;
        form.sizeSlot = predicate(size);
      } else {
        form.sizeSlot = readBytes(size, 4);
      }
    }
    break;
  case Handler::cpBulk:
  case Handler::cpReduce:
    form.head.function = runBulk;
    form.to = address(operands[0], space(0));
    form.from = address(operands[1], space(1));
    form.sizeSlot = readBytes(operands[2], 4);
    form.hasMbarrier = instruction->has(Modifier::mbarrierCompleteTx);
    if (form.hasMbarrier)
      form.mbarrier = address(operands[3], Space::shared);
    multicast(4);
    if (handler == Handler::cpReduce)
      form.reduction = reductionOf(*instruction, type);
    break;
  case Handler::cpTensorLoad:
  case Handler::cpTensorStore: {
    form.head.function = runTensor;
    form.isStore = handler == Handler::cpTensorStore;
    const Operand &tensor = operands[form.isStore ? 0 : 1];
    const std::span<const Operand> parts = source.elementsOf(tensor);
    AddressForm map = address(tensor, Space::generic);
    form.rank = static_cast<unsigned>(parts.size() - 1);
    for (unsigned i = 0; i < form.rank; ++i)
      form.coordinates[i] = readBytes(parts[i + 1], 4);
    if (form.isStore) {
      form.to = map;
      form.from = address(operands[1], Space::shared);
      form.reduction = reductionOf(*instruction, Modifier::none);
    } else {
      form.from = map;
      form.to = address(operands[0], Space::shared);
      form.hasMbarrier = true;
      form.mbarrier = address(operands[2], Space::shared);
      multicast(3);
    }
    break;
  }
  case Handler::stAsync:
  case Handler::redAsync: {
    form.head.function = runStAsync;
    form.to = address(operands[0], Space::shared);
    form.mbarrier = address(operands[2], Space::shared);
    form.hasMbarrier = true;
    const std::span<const Operand> parts = operands[1].kind == OperandKind::vector
                                               ? source.elementsOf(operands[1])
                                               : operands.subspan(1, 1);
    form.values.elementBytes = static_cast<uint8_t>(registerBytes(type));
    form.values.count = static_cast<uint8_t>(parts.size());
    for (size_t i = 0; i < parts.size(); ++i)
      form.values.slots[i] = read(parts[i], type);
    if (handler == Handler::redAsync)
      form.reduction = reductionOf(*instruction, type);
    break;
  }
  case Handler::tensormapReplace: {
    static constexpr Modifier fields[] = {Modifier::globalAddress, Modifier::rank,
                                          Modifier::boxDim,        Modifier::globalDim,
                                          Modifier::globalStride,  Modifier::elementStride,
                                          Modifier::elemtype,      Modifier::interleaveLayout,
                                          Modifier::swizzleMode,   Modifier::fillMode};
    form.head.function = runTensormapReplace;
    for (unsigned i = 0; i < std::size(fields); ++i)
      if (instruction->has(fields[i]))
        form.mapField = i;
    form.to = address(operands[0], space(0));
    const bool hasOrdinal = operands.size() > 2;
    form.ordinal = hasOrdinal ? static_cast<unsigned>(operands[1].value) : 0;
    const bool isLong = form.mapField == 0 || form.mapField == 4;
    form.sizeSlot = readBytes(operands.back(), isLong ? 8 : 4);
    break;
  }
  case Handler::tensormapFence:
    form.head.function = runTensormapCopy;
    form.to = address(operands[0], space(0));
    form.from = address(operands[1], space(1));
    form.scope = scopeOf(*instruction);
    form.head.converges = true;
    break;
  case Handler::cpAsyncCommit:
  case Handler::cpAsyncWait:
  case Handler::cpBulkCommit:
  case Handler::cpBulkWait:
    return asyncGroup();
  // Prefetches have no effect.
  default:
    return Status();
  }
  return emitExternal(own<CopyForm>(form));
}

/// Groups and fences of asynchronous operations. If operations complete at issue and there is no
/// observer, they are no-ops, except that the warps of a warpgroup wait for each other's wgmma.
Status Decoder::asyncGroup() {
  if (!isTracked() && handler != Handler::wgmmaCommit && handler != Handler::wgmmaWait)
    return Status();
  GroupForm form;
  form.head.function = runGroup;
  switch (handler) {
  case Handler::cpBulkCommit:
  case Handler::cpBulkWait:
    form.kind = GroupKind::bulk;
    break;
  case Handler::cpAsyncCommit:
  case Handler::cpAsyncWait:
    form.kind = GroupKind::copy;
    break;
  default:
    form.kind = GroupKind::matrix;
    form.head.converges = true;
    break;
  }
  const bool isWait = handler == Handler::cpAsyncWait || handler == Handler::cpBulkWait ||
                      handler == Handler::wgmmaWait;
  form.action = handler == Handler::wgmmaFence ? GroupAction::fence
                : !isWait                      ? GroupAction::commit
                : operands.empty()             ? GroupAction::waitAll
                                               : GroupAction::wait;
  if (!operands.empty())
    form.leave = static_cast<uint32_t>(operands[0].value);
  form.isReadOnly = instruction->has(Modifier::read);
  return emitExternal(own<GroupForm>(form));
}

void Decoder::findMatrixRegisters() {
  for (const Instruction &one : source.instructions) {
    if (ptx::rowOf(one).handler != Handler::wgmma &&
        ptx::rowOf(one).handler != Handler::wgmmaSparse)
      continue;
    ofMatrices.resize(source.registers.size());
    const std::span<const Operand> parts = source.operandsOf(one);
    // The accumulators, and A if it is not a descriptor.
    for (const Operand *operand : {&parts[0], &parts[1]})
      if (operand->kind == OperandKind::vector)
        forRegisters(*operand, [&](uint32_t reg) { ofMatrices[reg] = true; });
  }
}

void Decoder::reportMatrixRegisters() {
  if (handler == Handler::wgmma || handler == Handler::wgmmaSparse)
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

Status Decoder::cluster() {
  ClusterForm form;
  form.head.converges = true;
  form.order = orderOf(*instruction);
  if (form.order == Order::weak)
    form.order = handler == Handler::clusterArrive ? Order::release : Order::acquire;
  form.head.function = handler == Handler::clusterArrive ? runClusterArrive : runClusterWait;
  return emitExternal(own<ClusterForm>(form));
}

Status Decoder::matrix() {
  switch (handler) {
  case Handler::ldmatrix:
  case Handler::stmatrix:
  case Handler::movmatrix: {
    MatrixMoveForm form;
    form.head.converges = true;
    form.transposed = instruction->has(Modifier::trans);
    const Space space = spaceOf(*instruction, spaceWord(*instruction, 0));
    if (handler == Handler::ldmatrix) {
      form.head.function = runLdmatrix;
      form.slots = slotsOf(operands[0], 4, true);
      form.address = address(operands[1], space);
    } else if (handler == Handler::stmatrix) {
      form.head.function = runStmatrix;
      form.address = address(operands[0], space);
      form.slots = slotsOf(operands[1], 4, false);
    } else {
      form.head.function = runMovmatrix;
      form.slots = slotsOf(operands[0], 4, true);
      form.source = readBytes(operands[1], 4);
    }
    return emitExternal(own<MatrixMoveForm>(std::move(form)));
  }
  case Handler::mma: {
    MatrixForm form;
    form.head.function = runMma;
    form.head.converges = true;
    const ptx::Shape shape = ptx::shapeOf(instruction->find(ModifierKind::shape));
    form.m = shape.m, form.n = shape.n, form.k = shape.k;
    form.dType = instruction->type(0), form.aType = instruction->type(1);
    form.bType = instruction->type(2), form.cType = instruction->type(3);
    const bool isQuad = form.m == 8 && form.k == 4 && form.aType == Modifier::f16;
    const Modifier rounding = instruction->find(ModifierKind::rounding);
    if (isQuad || (rounding != Modifier::none && rounding != Modifier::rn))
      return warpMatrix();
    form.saturates = instruction->has(Modifier::satfinite);
    form.isXor = instruction->has(Modifier::opXor);
    auto bytes = [](Modifier type) { return type == Modifier::f64 ? 8u : 4u; };
    form.a = slotsOf(operands[1], bytes(form.aType), false);
    form.b = slotsOf(operands[2], bytes(form.bType), false);
    form.c = slotsOf(operands[3], bytes(form.cType), false);
    form.d = slotsOf(operands[0], bytes(form.dType), true);
    return emitExternal(own<MatrixForm>(std::move(form)));
  }
  case Handler::wgmma: {
    MatrixForm form;
    form.head.function = runWgmma;
    form.head.converges = true;
    const ptx::Shape shape = ptx::shapeOf(instruction->find(ModifierKind::shape));
    form.m = shape.m, form.n = shape.n, form.k = shape.k;
    form.dType = instruction->type(0), form.aType = instruction->type(1);
    form.bType = instruction->type(2);
    form.cType = form.dType;
    form.saturates = instruction->has(Modifier::satfinite);
    form.aIsDescriptor = operands[1].kind != OperandKind::vector;
    if (form.aIsDescriptor)
      form.aDescriptor = readBytes(operands[1], 8);
    else
      form.a = slotsOf(operands[1], 4, false);
    form.bDescriptor = readBytes(operands[2], 8);
    form.scaleD = predicate(operands[3]);
    if (operands[3].negated)
      return unsupported("a negated scale predicate");
    auto immediate = [&](size_t i) {
      return i < operands.size() ? static_cast<int64_t>(operands[i].value) : 0;
    };
    form.negatesA = immediate(4) == -1;
    form.negatesB = immediate(5) == -1;
    // If A is in registers, only B can be transposed.
    form.transposesA = form.aIsDescriptor && immediate(6) != 0;
    form.transposesB = immediate(form.aIsDescriptor ? 7 : 6) != 0;
    form.d = slotsOf(operands[0], 4, true);
    return emitExternal(own<MatrixForm>(std::move(form)));
  }
  case Handler::mmaSparse:
  case Handler::wgmmaSparse:
  case Handler::wmmaLoad:
  case Handler::wmmaStore:
  case Handler::wmmaMma:
    return warpMatrix();
  case Handler::wgmmaFence:
  case Handler::wgmmaCommit:
  case Handler::wgmmaWait:
    return asyncGroup();
  // setmaxnreg has no observable effect on the virtual GPU.
  case Handler::setmaxnreg:
  case Handler::griddepcontrol:
    return Status();
  default:
    return unsupported("");
  }
}

} // namespace tilewright::vgpu::machine
