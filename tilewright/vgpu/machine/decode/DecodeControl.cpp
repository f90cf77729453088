#include "tilewright/vgpu/machine/Externs.h"
#include "tilewright/vgpu/machine/decode/Decoder.h"

namespace tilewright::vgpu::machine {

using ptx::Handler;
using ptx::ModifierKind;
using ptx::SymbolKind;

Status Decoder::jump() {
  if (handler == Handler::brx) {
    const uint32_t a = readBytes(operands[0], 4);
    const uint32_t list = operands[1].index;
    const size_t count = source.branchTargets[list].targets.size();
    auto distances = std::make_unique<uint32_t[]>(count);
    indexedJumps.push_back(
        {function.code.size(), list, reinterpret_cast<int32_t *>(distances.get())});
    function.lists.push_back(std::move(distances));
    Op &op = emit(Operation::branchIndexed);
    op.a = a, op.imm = count;
    op.extra = function.lists.back().get();
    return Status();
  }
  jumps.push_back({function.code.size(), operands[0].index});
  emit(instruction->guarded ? Operation::branchIf : Operation::branch);
  return Status();
}

Status Decoder::call() {
  CallSite site;
  size_t next = 0;
  // A value is a .param variable of the caller, a register or an immediate.
  auto value = [&](const Operand &operand) {
    CallValue result;
    if (operand.kind == OperandKind::symbol) {
      if (const ptx::Variable *variable = variableOf(operand))
        return callValue(*variable);
      return result;
    }
    result.isRegister = true;
    if (operand.kind == OperandKind::reg) {
      result.slot = registerSlot(operand.index, operand.component);
      result.bytes = bytesOf(operand);
    } else {
      result.slot = constant(8, operand.value);
      result.bytes = 8;
    }
    return result;
  };
  if (operands[next].kind == OperandKind::list)
    for (const Operand &element : source.elementsOf(operands[next++]))
      site.results.push_back(value(element));
  const Operand &callee = operands[next++];
  if (next < operands.size() && operands[next].kind == OperandKind::list)
    for (const Operand &element : source.elementsOf(operands[next++]))
      site.arguments.push_back(value(element));
  uint32_t a = 0;
  if (callee.kind == OperandKind::symbol) {
    const uint32_t symbol = module.resolveAlias(callee.index);
    const ptx::Function &called = module.functions[module.symbols[symbol].index];
    if (const std::optional<Extern> which = externOf(module.name(called.name));
        which && !called.defined) {
      const ExternSignature signature = signatureOf(*which);
      if (site.arguments.size() != signature.arguments || site.results.size() > signature.results)
        return unsupported(concat("'", module.name(called.name), "' takes ", signature.arguments,
                                  " arguments, got ", site.arguments.size()));
      ExternForm form;
      form.head.function = runExtern;
      form.which = *which;
      form.site = std::move(site);
      return emitExternal(own<ExternForm>(std::move(form)));
    }
    site.target = program.bySymbol.at(symbol);
  } else {
    a = readBytes(callee, 8);
  }
  const CallSite *held = own<CallSite>(std::move(site));
  Op &op = emit(Operation::call);
  op.a = a, op.extra = held;
  return Status();
}

Status Decoder::control() {
  switch (handler) {
  case Handler::ret:
    emit(Operation::ret);
    return Status();
  case Handler::exit:
    emit(Operation::exit);
    return Status();
  case Handler::trap:
    emit(Operation::trap);
    return Status();
  case Handler::nanosleep:
    emitUnguarded(Operation::yield);
    return Status();
  case Handler::createpolicy: {
    // Only cache hints use a cache policy, and they have no effect, so its value does not matter.
    const uint32_t zero = constant(8, 0);
    Op &op = emit(Operation::mov64);
    op.d = write(operands[0], 8), op.a = zero;
    return Status();
  }
  case Handler::alloca: {
    const unsigned bytes = registerBytes(instruction->type());
    const uint32_t a = readBytes(operands[1], bytes);
    const uint64_t alignment = operands.size() > 2 ? operands[2].value : 8;
    Op &op = emit(Operation::alloca);
    op.d = write(operands[0], bytes), op.a = a, op.b = bytes, op.imm = alignment;
    return Status();
  }
  case Handler::stacksave: {
    const unsigned bytes = registerBytes(instruction->type());
    Op &op = emit(Operation::stackSave);
    op.d = write(operands[0], bytes), op.b = bytes;
    return Status();
  }
  case Handler::stackrestore: {
    const unsigned bytes = registerBytes(instruction->type());
    const uint32_t a = readBytes(operands[0], bytes);
    Op &op = emit(Operation::stackRestore);
    op.a = a, op.b = bytes;
    return Status();
  }
  default:
    return unsupported("");
  }
}

Status Decoder::fence() {
  const Modifier order = instruction->find(ModifierKind::order);
  const Modifier scope = instruction->find(ModifierKind::scope);
  FenceForm form;
  form.order = order == Modifier::sc        ? Order::sequential
               : order == Modifier::acquire ? Order::acquire
               : order == Modifier::release ? Order::release
                                            : Order::acquireRelease;
  form.scope = scope == Modifier::cta       ? Scope::cta
               : scope == Modifier::cluster ? Scope::cluster
               : scope == Modifier::sys     ? Scope::sys
                                            : Scope::gpu;
  const Modifier proxy = instruction->find(ModifierKind::proxy);
  form.isMbarrierInit = proxy == Modifier::mbarrierInit;
  form.isProxy = handler == Handler::fenceProxy;
  if (form.isProxy) {
    form.proxy = proxy == Modifier::tensormapGeneric ? Proxy::tensormap
                 : proxy == Modifier::alias          ? Proxy::generic
                                                     : Proxy::async;
    // A proxy fence without a scope orders only the thread's own accesses, so CTA scope is enough.
    if (scope == Modifier::none)
      form.scope = Scope::cta;
    form.space = spaceOf(instruction->find(ModifierKind::space));
    if (!operands.empty())
      form.address = address(operands[0], Space::generic);
    form.hasAddress = !operands.empty();
  }
  const FenceForm *held = own<FenceForm>(form);
  emit(Operation::fence).extra = held;
  return Status();
}

Status Decoder::barrier() {
  switch (handler) {
  case Handler::barWarp: {
    const uint32_t a = readBytes(operands[0], 4);
    emit(Operation::barWarp).a = a;
    return Status();
  }
  case Handler::barArrive: {
    const uint32_t a = readBytes(operands[0], 4), b = readBytes(operands[1], 4);
    Op &op = emit(Operation::barArrive);
    op.a = a, op.b = b;
    return Status();
  }
  case Handler::barSync: {
    const uint32_t a = readBytes(operands[0], 4);
    const bool isCounted = operands.size() > 1;
    const uint32_t b = isCounted ? readBytes(operands[1], 4) : a;
    Op &op = emit(Operation::barSync);
    op.a = a, op.b = b, op.imm = isCounted;
    return Status();
  }
  default: {
    // Operands: d, barrier, optional number of threads, predicate.
    const bool isCounted = operands.size() > 3;
    const Operand &vote = operands.back();
    const uint32_t a = readBytes(operands[1], 4);
    const uint32_t b = isCounted ? readBytes(operands[2], 4) : a;
    const uint32_t c = predicate(vote);
    Op &op = emit(Operation::barSync);
    op.a = a, op.b = b, op.c = c;
    op.imm = (isCounted ? 1 : 0) | 2 | (vote.negated ? 4 : 0);
    const bool isCount = instruction->has(Modifier::popc);
    const uint32_t d = isCount ? write(operands[0], 4) : writePredicate(operands[0]);
    Op &result = emit(Operation::barResult);
    result.d = d, result.a = a;
    result.imm = isCount ? 0 : instruction->has(Modifier::opAnd) ? 1 : 2;
    return Status();
  }
  }
}

Status Decoder::warpExchange() {
  const std::span<const Operand> results = partsOf(operands[0]);
  const uint32_t second = results.size() > 1 ? writePredicate(results[1]) : temporary(2);
  switch (handler) {
  case Handler::activemask: {
    Op &op = emit(Operation::activemask);
    op.d = write(operands[0], 4);
    return Status();
  }
  case Handler::shfl: {
    const uint32_t a = readBytes(operands[1], 4), b = readBytes(operands[2], 4),
                   c = readBytes(operands[3], 4), members = readBytes(operands[4], 4);
    Op &op = emit(Operation::shfl);
    op.d = write(results[0], 4), op.e = second;
    op.a = a, op.b = b, op.c = c, op.f = members;
    op.imm = instruction->has(Modifier::up)     ? 0
             : instruction->has(Modifier::down) ? 1
             : instruction->has(Modifier::bfly) ? 2
                                                : 3;
    return Status();
  }
  case Handler::vote: {
    const bool isBallot = instruction->has(Modifier::ballot);
    const uint32_t a = predicate(operands[1]), members = readBytes(operands[2], 4);
    Op &op = emit(Operation::vote);
    op.d = isBallot ? write(operands[0], 4) : writePredicate(operands[0]);
    op.a = a, op.f = members;
    op.imm = (instruction->has(Modifier::all)   ? 0
              : instruction->has(Modifier::any) ? 1
              : instruction->has(Modifier::uni) ? 2
                                                : 3) |
             (operands[1].negated ? 16 : 0);
    return Status();
  }
  case Handler::match: {
    const Modifier type = instruction->type();
    const uint32_t a = read(operands[1], type), members = readBytes(operands[2], 4);
    Op &op = emit(ptx::bitsOf(type) == 64 ? Operation::match64 : Operation::match32);
    op.d = write(results[0], 4), op.e = second, op.a = a, op.f = members;
    op.imm = ptx::rowOf(*instruction).opcode == "match.all.sync";
    return Status();
  }
  case Handler::redux: {
    const Modifier type = instruction->type();
    const uint32_t a = read(operands[1], type), members = readBytes(operands[2], 4);
    Op &op = emit(Operation::redux);
    op.d = write(operands[0], 4), op.a = a, op.f = members;
    op.imm = (instruction->has(Modifier::add)     ? 0
              : instruction->has(Modifier::min)   ? 1
              : instruction->has(Modifier::max)   ? 2
              : instruction->has(Modifier::opAnd) ? 3
              : instruction->has(Modifier::opOr)  ? 4
                                                  : 5) |
             (isSignedType(type) ? 16 : 0) | (type == Modifier::f32 ? 32 : 0) |
             (instruction->has(Modifier::absolute) ? 64 : 0) |
             (instruction->has(Modifier::nan) ? 128 : 0);
    return Status();
  }
  default: {
    const uint32_t members = readBytes(operands[1], 4);
    Op &op = emit(Operation::elect);
    op.d = write(results[0], 4), op.e = second, op.f = members;
    return Status();
  }
  }
}

} // namespace tilewright::vgpu::machine
