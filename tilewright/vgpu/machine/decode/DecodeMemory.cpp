#include "tilewright/vgpu/machine/decode/Decoder.h"
#include "tilewright/vgpu/machine/memory/Multimem.h"
#include "tilewright/vgpu/machine/memory/Spaces.h"
#include "tilewright/vgpu/machine/memory/ValidMemory.h"

#include <bit>

namespace tilewright::vgpu::machine {

using ptx::Handler;
using ptx::ModifierKind;

Space spaceOf(Modifier modifier) {
  switch (modifier) {
  case Modifier::global:
    return Space::global;
  case Modifier::shared:
  case Modifier::sharedCta:
  case Modifier::sharedCluster:
    return Space::shared;
  case Modifier::local:
    return Space::local;
  case Modifier::constant:
    return Space::constant;
  case Modifier::param:
  case Modifier::paramEntry:
  case Modifier::paramFunc:
    return Space::param;
  default:
    return Space::generic;
  }
}

/// The upper 32 bits of all addresses of constants. Compilers that use short pointers keep only the
/// lower 32 bits in a register, so LoadedModule places all constants such that their upper bits are
/// equal.
uint64_t Decoder::constantBase() const {
  for (size_t i = 0; i < module.variables.size(); ++i)
    if (module.variables[i].space == Modifier::constant)
      return layout.addresses[i] & 0xffffffff00000000u;
  return 0;
}

Order orderOf(const Instruction &instruction) {
  switch (instruction.find(ModifierKind::order)) {
  case Modifier::relaxed:
  case Modifier::volatileAccess:
  case Modifier::mmio:
    return Order::relaxed;
  case Modifier::acquire:
    return Order::acquire;
  case Modifier::release:
    return Order::release;
  case Modifier::acqRel:
    return Order::acquireRelease;
  case Modifier::sc:
    return Order::sequential;
  default:
    return Order::weak;
  }
}
Scope scopeOf(const Instruction &instruction) {
  switch (instruction.find(ModifierKind::scope)) {
  case Modifier::cta:
    return Scope::cta;
  case Modifier::cluster:
    return Scope::cluster;
  case Modifier::gpu:
  case Modifier::gl:
    return Scope::gpu;
  case Modifier::sys:
    return Scope::sys;
  default:
    return Scope::none;
  }
}

const ObserveForm *Decoder::observe(const AddressForm &address, uint32_t bytes, AccessKind kind,
                                    const AccessForm *stored) {
  if (!options.observed)
    return nullptr;
  ObserveForm form;
  form.address = address;
  form.bytes = bytes;
  form.kind = kind;
  form.stored = stored;
  form.order = orderOf(*instruction);
  form.scope = scopeOf(*instruction);
  // volatile and mmio are relaxed accesses with system scope.
  if (form.order == Order::relaxed && form.scope == Scope::none)
    form.scope = Scope::sys;
  if (kind == AccessKind::atomic) {
    // An atomic without order and scope is relaxed with gpu scope.
    form.order = form.order == Order::weak ? Order::relaxed : form.order;
    form.scope = form.scope == Scope::none ? Scope::gpu : form.scope;
  }
  const ObserveForm *held = own<ObserveForm>(form);
  const bool isPlainShared = kind == AccessKind::read && form.order == Order::weak &&
                             address.space == Space::shared && address.bytes == 4;
  emit(isPlainShared ? Operation::observeShared : Operation::observe).extra = held;
  // One host thread runs all threads that share the shared memory.
  return form.order != Order::weak && kind != AccessKind::write && address.space != Space::shared
             ? held
             : nullptr;
}

void Decoder::observeRead(const ObserveForm *form) {
  if (form)
    emit(Operation::observeRead).extra = form;
}

namespace {
/// The operations of loads or of stores: the first of each family of fast operations in Memory.def,
/// and the general operation.
struct AccessFamilies {
  Operation global, generic, shared, any;
};
} // namespace

/// The fast operation for an access if there is one; otherwise the general operation.
static Operation accessOperation(const AccessForm &form, const AccessFamilies &families) {
  if (form.registerBytes != form.elementBytes || form.isStrong)
    return families.any;
  const AddressForm &address = form.address;
  Operation first = families.any;
  if (address.space == Space::global && address.bytes == 8)
    first = families.global;
  else if (address.space == Space::generic && address.bytes == 8)
    first = families.generic;
  else if (address.space == Space::shared && address.bytes == 4)
    first = families.shared;
  else
    return families.any;
  const unsigned bytes = form.elementBytes, count = form.count;
  if (count == 1 && bytes >= 2 && bytes <= 8)
    return plus(first, widthIndex(bytes));
  if (bytes == 4 && count == 2)
    return plus(first, 3);
  if (bytes == 4 && count == 4)
    return plus(first, 4);
  if (bytes == 8 && count == 2)
    return plus(first, 5);
  return families.any;
}

/// The slot in Warp::ranges of the last emitted operation. The last slot is reserved for
/// resolveGlobal().
uint32_t Decoder::rangeSlot() const {
  return static_cast<uint32_t>(function.code.size() % (validRangeSlots - 1));
}

unsigned Decoder::widthOfParts(std::span<const Operand> parts, Modifier type) const {
  unsigned bytes = registerBytes(type);
  for (const Operand &part : parts)
    if (part.kind == OperandKind::reg)
      bytes = bytesOf(part);
  return bytes;
}

Status Decoder::load() {
  const Modifier type = instruction->type();
  AccessForm form;
  form.elementBytes = static_cast<uint8_t>(ptx::bitsOf(type) / 8);
  form.count = static_cast<uint8_t>(instruction->vectorLength());
  form.signExtended = isSignedType(type);
  form.isStrong = orderOf(*instruction) != Order::weak;
  const std::span<const Operand> parts = partsOf(operands[0]);
  form.registerBytes = static_cast<uint8_t>(widthOfParts(parts, type));
  for (size_t k = 0; k < parts.size(); ++k)
    form.slots[k] = write(parts[k], form.registerBytes);

  const Operand &place = operands[1];
  const Operand &base = source.elementsOf(place)[0];
  const Space space = spaceOf(instruction->find(ModifierKind::space));
  if (space == Space::param && base.kind == OperandKind::symbol)
    if (const ptx::Variable *variable = variableOf(base))
      if (const std::optional<size_t> position = kernelParameter(*variable))
        return loadParameter(form, *position, base.value + place.value);
  form.address = address(place, space);
  // Parameters addressed through a register are accessed as host memory.
  if (form.address.space == Space::param)
    form.address.space = source.entry ? Space::global : Space::local;
  if (form.address.space == Space::constant) {
    form.address.space = Space::global;
    if (form.address.bytes == 4) {
      const uint32_t whole = temporary(8);
      Op &op = emitUnguarded(Operation::fromWindow);
      op.d = whole, op.a = form.address.slot, op.b = 4, op.imm = constantBase();
      form.address.slot = whole;
      form.address.bytes = 8;
    }
  }
  const ObserveForm *strong =
      observe(form.address, uint32_t(form.elementBytes) * form.count, AccessKind::read);

  const Operation operation = accessOperation(form, {.global = Operation::ldGlobal16,
                                                     .generic = Operation::ldGeneric16,
                                                     .shared = Operation::ldShared16,
                                                     .any = Operation::loadAny});
  const AccessForm *held = own<AccessForm>(form);
  Op &op = emit(operation);
  op.d = form.slots[0], op.b = form.slots[1], op.c = form.slots[2], op.e = form.slots[3];
  op.a = form.address.slot;
  op.imm = static_cast<uint64_t>(form.address.offset);
  op.extra = held;
  if (operation != Operation::loadAny && form.address.space != Space::shared)
    op.f = rangeSlot();
  observeRead(strong);
  if (operation == Operation::ldShared32 && base.kind == OperandKind::reg && op.d != op.a &&
      form.address.offset >= 0 && form.address.offset % 4 == 0)
    learnShared(function.code.size() - 1, base);
  return Status();
}

Status Decoder::loadParameter(const AccessForm &form, size_t position, uint64_t offset) {
  if (offset + size_t(form.elementBytes) * form.count > program.parameterSizes[position])
    return Status(Error::vgpuAccess,
                  concat("line ", instruction->position.line, ": ld.param reads ",
                         form.elementBytes * form.count, " bytes at offset ", offset,
                         " of a parameter of ", program.parameterSizes[position], " bytes"));
  const AccessForm *held = own<AccessForm>(form);
  Op &op = emit(Operation::loadParameter);
  op.extra = held;
  op.imm = program.parameterOffsets[position] + offset;
  return Status();
}

/// If several loads use the same address register, makes the first load compute a SharedFact, which
/// the other loads use.
void Decoder::learnShared(size_t load, const Operand &base) {
  auto [it, isFirst] = knownAddresses.try_emplace(base.index, KnownAddress{load});
  if (isFirst)
    return;
  KnownAddress &known = it->second;
  if (known.slot == 0) {
    known.slot = frameBytes;
    frameBytes += sizeof(SharedFact);
    Op &first = function.code[known.load];
    first.run = handlers[static_cast<size_t>(Operation::ldSharedLearn)];
    first.e = known.slot;
  }
  Op &op = function.code[load];
  op.run = handlers[static_cast<size_t>(Operation::ldSharedKnown)];
  op.e = known.slot;
}

/// Fuses runs of `load a, load b, c = a * b + c`, the inner loop of tiled matrix products, into one
/// operation. The original operations stay in place, for jumps into the run and for warps that
/// cannot execute the run as a whole. If the launch is observed, an operation that notifies the
/// observer precedes each load.
void Decoder::fuse() {
  const size_t told = options.observed ? 1 : 0;
  const size_t atA = told, atB = atA + told + 1, atSum = atB + 1, step = atSum + 1;
  std::vector<Op> &code = function.code;
  auto is = [&](const Op &op, Operation operation) {
    return op.run == handlers[static_cast<size_t>(operation)] && op.guard == alwaysSlot &&
           op.flip == 0;
  };
  auto isRound = [&](size_t i) {
    if (i + step >= code.size())
      return false;
    const Op &a = code[i + atA], &b = code[i + atB], &fma = code[i + atSum];
    if (told && (!is(code[i], Operation::observeShared) ||
                 !is(code[i + atB - 1], Operation::observeShared)))
      return false;
    return is(a, Operation::ldSharedKnown) && is(b, Operation::ldSharedKnown) &&
           is(fma, Operation::fmaF32) && a.d != b.d &&
           ((fma.a == a.d && fma.b == b.d) || (fma.a == b.d && fma.b == a.d)) && fma.c != a.d &&
           fma.c != b.d && b.a != a.d && fma.d != a.a && fma.d != b.a;
  };
  for (size_t i = 0; i < code.size(); ++i) {
    if (!isRound(i))
      continue;
    Op &firstA = code[i + atA], &firstB = code[i + atB];
    size_t end = i + step;
    while (isRound(end) && code[end + atA].e == firstA.e && code[end + atB].e == firstB.e &&
           code[end + atSum].c == code[end - 1].d)
      end += step;
    code[i].run =
        handlers[static_cast<size_t>(told ? Operation::observedRun : Operation::ldSharedRun)];
    code[i].b = static_cast<uint32_t>((end - i) / step);
    for (size_t op = i; op < end; ++op) {
      const size_t at = (op - i) % step;
      if (at != atA && at != atB && at != atSum)
        continue;
      // Only the run itself reads its intermediate results, so a value that a later operation of
      // the run overwrites need not be written to the frame.
      code[op].f = 1;
      for (size_t later = op + 1; later < end; ++later)
        if (code[later].d == code[op].d)
          code[op].f = 0;
      if (at != atSum)
        code[i + at].c = std::max(code[i + at].c, static_cast<uint32_t>(code[op].imm));
    }
    i = end - 1;
  }
}

Status Decoder::store() {
  const Modifier type = instruction->type();
  AccessForm form;
  form.elementBytes = static_cast<uint8_t>(ptx::bitsOf(type) / 8);
  form.count = static_cast<uint8_t>(instruction->vectorLength());
  form.isStrong = orderOf(*instruction) != Order::weak;
  const std::span<const Operand> parts = partsOf(operands[1]);
  form.registerBytes = static_cast<uint8_t>(widthOfParts(parts, type));
  for (size_t k = 0; k < parts.size(); ++k) {
    const uint64_t bits =
        parts[k].kind == OperandKind::immediate ? immediateBits(parts[k], type) : 0;
    form.slots[k] = parts[k].kind == OperandKind::immediate
                        ? constant(form.registerBytes, bits)
                        : readBytes(parts[k], form.registerBytes);
  }
  form.address = address(operands[0], spaceOf(instruction->find(ModifierKind::space)));
  if (form.address.space == Space::param)
    form.address.space = Space::local;
  const AccessForm *held = own<AccessForm>(form);
  observe(form.address, uint32_t(form.elementBytes) * form.count, AccessKind::write, held);

  const Operation operation = accessOperation(form, {.global = Operation::stGlobal16,
                                                     .generic = Operation::stGlobal16,
                                                     .shared = Operation::stShared16,
                                                     .any = Operation::storeAny});
  Op &op = emit(operation);
  op.b = form.slots[0], op.c = form.slots[1], op.e = form.slots[2], op.f = form.slots[3];
  op.a = form.address.slot;
  op.imm = static_cast<uint64_t>(form.address.offset);
  op.extra = held;
  if (operation != Operation::storeAny && form.address.space != Space::shared)
    op.d = rangeSlot();
  return Status();
}

std::optional<AtomicType> atomicTypeOf(Modifier type) {
  switch (type) {
  case Modifier::b32:
  case Modifier::u32:
    return AtomicType::u32;
  case Modifier::s32:
    return AtomicType::s32;
  case Modifier::b64:
  case Modifier::u64:
    return AtomicType::u64;
  case Modifier::s64:
    return AtomicType::s64;
  case Modifier::f32:
    return AtomicType::f32;
  case Modifier::f64:
    return AtomicType::f64;
  case Modifier::f16:
    return AtomicType::f16;
  case Modifier::f16x2:
    return AtomicType::f16x2;
  case Modifier::bf16:
    return AtomicType::bf16;
  case Modifier::bf16x2:
    return AtomicType::bf16x2;
  case Modifier::b16:
    return AtomicType::b16;
  case Modifier::b128:
    return AtomicType::b128;
  default:
    return std::nullopt;
  }
}
std::optional<AtomicOperation> atomicOperationOf(const Instruction &instruction) {
  static constexpr std::pair<Modifier, AtomicOperation> table[] = {
      {Modifier::add, AtomicOperation::add},       {Modifier::min, AtomicOperation::min},
      {Modifier::max, AtomicOperation::max},       {Modifier::inc, AtomicOperation::inc},
      {Modifier::dec, AtomicOperation::dec},       {Modifier::opAnd, AtomicOperation::bitAnd},
      {Modifier::opOr, AtomicOperation::bitOr},    {Modifier::opXor, AtomicOperation::bitXor},
      {Modifier::exch, AtomicOperation::exchange}, {Modifier::cas, AtomicOperation::cas},
  };
  for (auto [modifier, operation] : table)
    if (instruction.has(modifier))
      return operation;
  return std::nullopt;
}

Status Decoder::atomic() {
  const Modifier type = instruction->type();
  const std::optional<AtomicType> atomType = atomicTypeOf(type);
  const std::optional<AtomicOperation> operation = atomicOperationOf(*instruction);
  if (!atomType || !operation)
    return unsupported("");
  AtomicForm form;
  form.type = *atomType;
  form.operation = *operation;
  form.bytes = static_cast<uint8_t>(registerBytes(type));
  form.count = static_cast<uint8_t>(instruction->vectorLength());
  size_t next = 0;
  if (handler != Handler::red) {
    const std::span<const Operand> parts = partsOf(operands[next++]);
    form.returns = parts[0].kind == OperandKind::reg;
    for (size_t k = 0; k < parts.size() && form.returns; ++k)
      form.d[k] = write(parts[k], form.bytes);
  }
  form.address = address(operands[next++], spaceOf(instruction->find(ModifierKind::space)));
  const std::span<const Operand> parts = partsOf(operands[next++]);
  for (size_t k = 0; k < parts.size(); ++k)
    form.b[k] = read(parts[k], type);
  if (handler == Handler::atomCas)
    form.c = read(operands[next++], type);
  const ObserveForm *strong =
      observe(form.address, uint32_t(form.bytes) * form.count, AccessKind::atomic);
  const AtomicForm *held = own<AtomicForm>(form);
  emit(Operation::atomic).extra = held;
  observeRead(strong);
  return Status();
}

Status Decoder::multimem() {
  const std::string_view opcode = ptx::rowOf(*instruction).opcode;
  const Modifier type = instruction->type();
  const std::optional<AtomicType> elementType = atomicTypeOf(type);
  const bool isStore = opcode == "multimem.st";
  const std::optional<AtomicOperation> operation =
      isStore ? AtomicOperation::exchange : atomicOperationOf(*instruction);
  if (!elementType || !operation)
    return unsupported("");
  MultimemForm multimem;
  multimem.head.function = runMultimem;
  multimem.accumulatesInFloat = instruction->has(Modifier::accF32);
  multimem.order = orderOf(*instruction);
  multimem.scope = scopeOf(*instruction);
  AtomicForm &form = multimem.form;
  form.type = *elementType;
  form.operation = *operation;
  form.bytes = static_cast<uint8_t>(registerBytes(type));
  form.count = static_cast<uint8_t>(instruction->vectorLength());
  if (opcode == "multimem.ld_reduce") {
    const std::span<const Operand> parts = partsOf(operands[0]);
    form.address = address(operands[1], Space::global);
    for (size_t k = 0; k < parts.size(); ++k)
      form.d[k] = write(parts[k], form.bytes);
  } else {
    multimem.kind = isStore ? AccessKind::write : AccessKind::atomic;
    form.address = address(operands[0], Space::global);
    const std::span<const Operand> parts = partsOf(operands[1]);
    for (size_t k = 0; k < parts.size(); ++k)
      form.b[k] = read(parts[k], type);
  }
  // A reduction without order and scope is relaxed with system scope.
  if (multimem.kind == AccessKind::atomic && multimem.order == Order::weak)
    multimem.order = Order::relaxed;
  if (multimem.order != Order::weak && multimem.scope == Scope::none)
    multimem.scope = Scope::sys;
  return emitExternal(own<MultimemForm>(multimem));
}

Status Decoder::addressConversion() {
  const Modifier spaceWord = instruction->find(ModifierKind::space);
  const Space space = spaceOf(spaceWord);
  const Modifier type = instruction->type();
  switch (handler) {
  case Handler::cvta: {
    if (ptx::bitsOf(type) != 64)
      return unsupported("32-bit generic addresses");
    const bool hasWindow = space == Space::shared || space == Space::local;
    const unsigned bytes = operands[1].kind == OperandKind::reg ? bytesOf(operands[1]) : 8;
    const uint32_t a = readBytes(operands[1], bytes);
    const uint32_t d = write(operands[0], 8);
    const bool isParameter = space == Space::param && source.entry;
    Op &op = emit(isParameter ? Operation::fromParameters : Operation::fromWindow);
    op.d = d, op.a = a, op.b = bytes;
    op.imm = space == Space::constant ? constantBase()
             : !hasWindow             ? 0
             : space == Space::shared ? sharedWindow
                                      : localWindow;
    return Status();
  }
  case Handler::cvtaTo: {
    if (ptx::bitsOf(type) != 64)
      return unsupported("32-bit generic addresses");
    const uint32_t a = readBytes(operands[1], 8);
    const uint32_t d = write(operands[0], 8);
    Op &op = emit(space == Space::shared || space == Space::local ? Operation::toWindow
                                                                  : Operation::mov64);
    op.d = d, op.a = a;
    return Status();
  }
  case Handler::isspacep: {
    if (space == Space::constant || space == Space::param || space == Space::global) {
      SpaceForm form;
      form.head.function = runIsSpace;
      form.space = space;
      form.a = readBytes(operands[1], 8);
      form.d = writePredicate(operands[0]);
      for (size_t i = 0; i < module.variables.size(); ++i)
        if (module.variables[i].space == Modifier::constant)
          form.constants.emplace_back(layout.addresses[i],
                                      layout.addresses[i] + module.variables[i].size());
      return emitExternal(own<SpaceForm>(std::move(form)));
    }
    const uint32_t a = readBytes(operands[1], 8);
    Op &op = emit(Operation::isSpace);
    op.d = writePredicate(operands[0]), op.a = a;
    op.imm = space == Space::shared ? sharedWindow : space == Space::local ? localWindow : 0;
    if (spaceWord == Modifier::shared || spaceWord == Modifier::sharedCta)
      op.imm |= 1;
    return Status();
  }
  default: {
    const bool isMap = handler == Handler::mapa;
    const unsigned bytes = registerBytes(type);
    const uint32_t a = readBytes(operands[1], bytes);
    const uint32_t b = isMap ? readBytes(operands[2], 4) : a;
    const uint32_t d = write(operands[0], isMap ? bytes : 4);
    Op &op = emit(isMap ? Operation::mapBlock : Operation::blockRank);
    op.d = d, op.a = a, op.b = b, op.imm = bytes;
    return Status();
  }
  }
}

} // namespace tilewright::vgpu::machine
