// mbarriers, asynchronous copies and their groups, and the barriers of clusters.
#include "tilewright/vgpu/machine/LaunchControl.h"
#include "tilewright/vgpu/machine/async/Async.h"
#include "tilewright/vgpu/machine/async/AsyncQueue.h"
#include "tilewright/vgpu/machine/decode/Decoder.h"

namespace tilewright::vgpu::machine {

using ptx::Handler;
using ptx::ModifierKind;

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
  const Space space = spaceOf(spaceWord(*instruction, 0));
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

/// The reduction that a copy or a store performs, if any. A tensor copy reads the element type from
/// the tensor map, so its `type` is none.
static std::optional<AtomicForm> reductionOf(const Instruction &instruction, Modifier type) {
  const std::optional<AtomicOperation> operation = atomicOperationOf(instruction);
  if (!operation)
    return std::nullopt;
  AtomicForm form;
  form.operation = *operation;
  if (const std::optional<AtomicType> known = atomicTypeOf(type)) {
    form.type = *known;
    form.bytes = static_cast<uint8_t>(registerBytes(type));
  }
  return form;
}

Status Decoder::asyncCopy() {
  CopyForm form;
  form.head.function = runCpAsync;
  form.to = address(operands[0], spaceOf(spaceWord(*instruction, 0)));
  form.from = address(operands[1], spaceOf(spaceWord(*instruction, 1)));
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
  return emitExternal(own<CopyForm>(form));
}

void Decoder::readMulticast(CopyForm &form, size_t position) {
  form.isMulticast = instruction->has(Modifier::multicastCluster);
  if (form.isMulticast)
    form.multicast = readBytes(operands[position], 2);
}

Status Decoder::bulkCopy() {
  CopyForm form;
  form.head.function = runBulk;
  form.to = address(operands[0], spaceOf(spaceWord(*instruction, 0)));
  form.from = address(operands[1], spaceOf(spaceWord(*instruction, 1)));
  form.sizeSlot = readBytes(operands[2], 4);
  form.hasMbarrier = instruction->has(Modifier::mbarrierCompleteTx);
  if (form.hasMbarrier)
    form.mbarrier = address(operands[3], Space::shared);
  readMulticast(form, 4);
  if (handler == Handler::cpReduce)
    form.reduction = reductionOf(*instruction, instruction->type());
  return emitExternal(own<CopyForm>(form));
}

Status Decoder::tensorCopy() {
  CopyForm form;
  form.head.function = runTensor;
  form.isStore = handler == Handler::cpTensorStore;
  const Operand &tensor = operands[form.isStore ? 0 : 1];
  const std::span<const Operand> parts = source.elementsOf(tensor);
  const AddressForm map = address(tensor, Space::generic);
  form.coordinateCount = static_cast<unsigned>(parts.size() - 1);
  for (unsigned i = 0; i < form.coordinateCount; ++i)
    form.coordinates[i] = readBytes(parts[i + 1], 4);
  form.choosesRows =
      instruction->has(Modifier::tileGather4) || instruction->has(Modifier::tileScatter4);
  form.rank = form.choosesRows ? 2 : form.coordinateCount;
  form.mode = instruction->has(Modifier::im2colW)      ? TensorMode::im2colW
              : instruction->has(Modifier::im2colW128) ? TensorMode::im2colW128
              : instruction->has(Modifier::im2col) || instruction->has(Modifier::im2colNoOffs)
                  ? TensorMode::im2col
                  : TensorMode::tile;
  if (form.isStore) {
    form.to = map;
    form.from = address(operands[1], Space::shared);
    form.reduction = reductionOf(*instruction, Modifier::none);
  } else {
    form.from = map;
    form.to = address(operands[0], Space::shared);
    form.hasMbarrier = true;
    form.mbarrier = address(operands[2], Space::shared);
    form.isPair = instruction->has(Modifier::ctaGroup2);
    const bool hasOffsets = form.mode != TensorMode::tile;
    if (hasOffsets)
      for (const Operand &offset : partsOf(operands[3]))
        form.offsets[form.offsetCount++] = readBytes(offset, 2);
    readMulticast(form, hasOffsets ? 4 : 3);
  }
  return emitExternal(own<CopyForm>(form));
}

Status Decoder::asyncStore() {
  CopyForm form;
  form.head.function = runStAsync;
  form.to = address(operands[0], Space::shared);
  form.mbarrier = address(operands[2], Space::shared);
  form.hasMbarrier = true;
  const Modifier type = instruction->type();
  const std::span<const Operand> parts = partsOf(operands[1]);
  form.values.elementBytes = static_cast<uint8_t>(registerBytes(type));
  form.values.count = static_cast<uint8_t>(parts.size());
  for (size_t i = 0; i < parts.size(); ++i)
    form.values.slots[i] = read(parts[i], type);
  if (handler == Handler::redAsync)
    form.reduction = reductionOf(*instruction, type);
  return emitExternal(own<CopyForm>(form));
}

Status Decoder::bulkStore() {
  if (operands[2].value != 0)
    return unsupported("the value of st.bulk must be 0");
  CopyForm form;
  form.head.function = runStBulk;
  form.to = address(operands[0], spaceOf(instruction->find(ModifierKind::space)));
  form.sizeSlot = readBytes(operands[1], 8);
  return emitExternal(own<CopyForm>(form));
}

Status Decoder::replaceTensorMap() {
  static constexpr Modifier fields[] = {Modifier::globalAddress,   Modifier::rank,
                                        Modifier::boxDim,          Modifier::globalDim,
                                        Modifier::globalStride,    Modifier::elementStride,
                                        Modifier::elemtype,        Modifier::interleaveLayout,
                                        Modifier::swizzleMode,     Modifier::fillMode,
                                        Modifier::swizzleAtomicity};
  CopyForm form;
  form.head.function = runTensormapReplace;
  for (unsigned i = 0; i < std::size(fields); ++i)
    if (instruction->has(fields[i]))
      form.mapField = i;
  form.to = address(operands[0], spaceOf(spaceWord(*instruction, 0)));
  const bool hasOrdinal = operands.size() > 2;
  form.ordinal = hasOrdinal ? static_cast<unsigned>(operands[1].value) : 0;
  const Modifier field = fields[form.mapField];
  const bool isLong = field == Modifier::globalAddress || field == Modifier::globalStride;
  form.sizeSlot = readBytes(operands.back(), isLong ? 8 : 4);
  return emitExternal(own<CopyForm>(form));
}

Status Decoder::copyTensorMap() {
  CopyForm form;
  form.head.function = runTensormapCopy;
  form.to = address(operands[0], spaceOf(spaceWord(*instruction, 0)));
  form.from = address(operands[1], spaceOf(spaceWord(*instruction, 1)));
  form.scope = scopeOf(*instruction);
  form.head.converges = true;
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
  case Handler::tcgenWait:
    form.kind = ptx::rowOf(*instruction).opcode.ends_with("ld") ? GroupKind::tensorLoad
                                                                : GroupKind::tensorStore;
    form.head.converges = true;
    break;
  default:
    form.kind = GroupKind::matrix;
    form.head.converges = true;
    break;
  }
  const bool isWait = handler == Handler::cpAsyncWait || handler == Handler::cpBulkWait ||
                      handler == Handler::wgmmaWait || handler == Handler::tcgenWait;
  form.action = handler == Handler::wgmmaFence ? GroupAction::fence
                : !isWait                      ? GroupAction::commit
                : operands.empty()             ? GroupAction::waitAll
                                               : GroupAction::wait;
  if (!operands.empty())
    form.leave = static_cast<uint32_t>(operands[0].value);
  form.isReadOnly = instruction->has(Modifier::read);
  return emitExternal(own<GroupForm>(form));
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

Status Decoder::launchControl() {
  if (handler == Handler::launchCancel) {
    CopyForm form;
    form.head.function = runTryCancel;
    const Space space = spaceOf(instruction->find(ModifierKind::space));
    form.to = address(operands[0], space);
    form.mbarrier = address(operands[1], space);
    form.hasMbarrier = true;
    form.isMulticast = instruction->has(Modifier::multicastClusterAll);
    return emitExternal(own<CopyForm>(form));
  }
  LaunchQueryForm form;
  form.head.function = runQueryCancel;
  form.response = readBytes(operands[1], 16);
  form.isTest = instruction->type(0) == Modifier::pred;
  if (form.isTest) {
    form.predicate = writePredicate(operands[0]);
  } else {
    const std::span<const Operand> parts = partsOf(operands[0]);
    form.count = static_cast<unsigned>(parts.size());
    for (unsigned i = 0; i < form.count; ++i)
      form.slots[i] = write(parts[i], 4);
    form.first = instruction->row == ptx::RowId::launch_first_y   ? 1
                 : instruction->row == ptx::RowId::launch_first_z ? 2
                                                                  : 0;
  }
  return emitExternal(own<LaunchQueryForm>(form));
}

} // namespace tilewright::vgpu::machine
