#include "tilewright/vgpu/machine/decode/Decode.h"

#include "tilewright/vgpu/machine/Externs.h"
#include "tilewright/vgpu/machine/decode/Decoder.h"
#include "tilewright/vgpu/machine/decode/RegisterSlots.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace tilewright::vgpu::machine {

using ptx::Handler;
using ptx::noIndex;
using ptx::SymbolKind;

unsigned registerBytes(Modifier type) {
  if (type == Modifier::pred)
    return 1;
  return std::max(2u, ptx::bitsOf(type) / 8);
}
bool isSignedType(Modifier type) {
  return ptx::categoryOf(type) == ptx::TypeCategory::signedInteger;
}
unsigned widthIndex(unsigned bytes) { return bytes <= 2 ? 0 : bytes == 4 ? 1 : 2; }

Decoder::Decoder(Program &program, DecodedFunction &function, const Layout &layout,
                 const DecodeOptions &options, const Run *handlers)
    : program(program), function(function), layout(layout), options(options), handlers(handlers),
      module(*program.module), source(*function.source) {}

// Frames.

void Decoder::layoutRegisters() { slots = assignSlots(module, source, frameBytes); }

static uint32_t alignUp(uint64_t value, uint32_t alignment) {
  return static_cast<uint32_t>((value + alignment - 1) / alignment * alignment);
}

void Decoder::layoutLocals() {
  auto place = [&](uint32_t index) {
    const ptx::Variable &variable = module.variables[index];
    const bool isParameter =
        variable.space == Modifier::param || variable.space == Modifier::paramFunc;
    if (variable.reg != noIndex || (variable.space != Modifier::local && !isParameter))
      return;
    const uint32_t alignment = std::max(variable.alignment, 1u);
    function.localBytes = alignUp(function.localBytes, alignment);
    locals[index] = function.localBytes;
    function.localBytes += static_cast<uint32_t>(variable.size());
  };
  if (!source.entry) {
    for (uint32_t index : source.returns)
      place(index);
    for (uint32_t index : source.parameters)
      place(index);
  }
  for (uint32_t index : source.variables)
    place(index);
  function.localBytes = alignUp(function.localBytes, 16);
}

CallValue Decoder::callValue(const ptx::Variable &variable) const {
  CallValue value;
  if (variable.reg != noIndex) {
    value.isRegister = true;
    value.slot = slots[variable.reg];
    value.bytes = registerBytes(source.registers[variable.reg].type);
    return value;
  }
  const auto index = static_cast<uint32_t>(&variable - module.variables.data());
  if (auto it = locals.find(index); it != locals.end())
    value.slot = it->second;
  value.bytes = static_cast<uint32_t>(variable.size());
  return value;
}

// Operands.

uint32_t Decoder::registerSlot(uint32_t reg, uint8_t component) const {
  const ptx::Register &declared = source.registers[reg];
  const uint32_t part = component == Operand::noComponent ? 0 : component;
  return slots[reg] + part * 32 * registerBytes(declared.type);
}
unsigned Decoder::bytesOf(const Operand &operand) const {
  return registerBytes(source.registers[operand.index].type);
}

uint32_t Decoder::constant(unsigned bytes, uint64_t value) {
  if (bytes == 1)
    value = value ? ~uint64_t(0) : 0;
  else if (bytes < 8)
    value &= (uint64_t(1) << (8 * bytes)) - 1;
  auto [it, isNew] = constants.try_emplace({bytes, value}, frameBytes);
  if (isNew) {
    const unsigned lane = bytes == 1 ? 2 : bytes == 16 ? 8 : bytes;
    function.constants.resize(frameBytes + 32 * (bytes == 16 ? 16 : lane));
    for (unsigned i = 0; i < 32; ++i)
      std::memcpy(function.constants.data() + frameBytes + i * lane, &value, lane);
    frameBytes += alignUp(32 * std::max(bytes, 2u), 64);
  }
  return it->second;
}
uint32_t Decoder::temporary(unsigned bytes) {
  const uint32_t slot = frameBytes;
  frameBytes += alignUp(32 * std::max(bytes, 2u), 64);
  return slot;
}

uint64_t Decoder::immediateBits(const Operand &operand, Modifier type) const {
  const bool isFloatText =
      operand.number == ptx::NumberKind::f32 || operand.number == ptx::NumberKind::f64;
  if (!isFloatText)
    return operand.value;
  const double value = operand.number == ptx::NumberKind::f64
                           ? std::bit_cast<double>(operand.value)
                           : std::bit_cast<float>(static_cast<uint32_t>(operand.value));
  if (ptx::bitsOf(type) == 64)
    return std::bit_cast<uint64_t>(value);
  // The bits as written in the text, even if they are a NaN.
  return operand.number == ptx::NumberKind::f32
             ? operand.value
             : std::bit_cast<uint32_t>(static_cast<float>(value));
}

uint64_t Decoder::specialForm(const Operand &operand, unsigned bytes) {
  // %envreg1 stores its number in the field that holds the dimension of %tid.x.
  const bool isNumbered = operand.index == static_cast<uint32_t>(ptx::SpecialRegister::envreg);
  const uint64_t part = operand.component == Operand::noComponent ? 0 : operand.component;
  return operand.index | (isNumbered ? operand.value & 0xff : part) << 16 | uint64_t(bytes) << 24;
}

uint32_t Decoder::read(const Operand &operand, Modifier type) {
  const unsigned bytes = registerBytes(type);
  switch (operand.kind) {
  case OperandKind::reg:
    return registerSlot(operand.index, operand.component);
  case OperandKind::immediate:
    return constant(bytes, immediateBits(operand, type));
  case OperandKind::special: {
    const uint32_t slot = temporary(bytes);
    Op &op = emitUnguarded(Operation::special);
    op.d = slot;
    op.imm = specialForm(operand, bytes);
    return slot;
  }
  case OperandKind::symbol:
    return addressOf(operand, bytes);
  default:
    return constant(bytes, 0);
  }
}
uint32_t Decoder::readBytes(const Operand &operand, unsigned bytes) {
  return read(operand, bytes == 1   ? Modifier::pred
                       : bytes == 2 ? Modifier::b16
                       : bytes == 4 ? Modifier::b32
                       : bytes == 8 ? Modifier::b64
                                    : Modifier::b128);
}
uint32_t Decoder::predicate(const Operand &operand) { return read(operand, Modifier::pred); }
uint32_t Decoder::write(const Operand &operand, unsigned bytes) {
  if (operand.kind == OperandKind::reg)
    knownAddresses.erase(operand.index);
  return operand.kind == OperandKind::reg ? registerSlot(operand.index, operand.component)
                                          : temporary(bytes);
}
uint32_t Decoder::writePredicate(const Operand &operand) {
  return operand.kind == OperandKind::reg ? registerSlot(operand.index, operand.component)
                                          : temporary(2);
}

const ptx::Variable *Decoder::variableOf(const Operand &operand) const {
  const ptx::Symbol &symbol = module.symbols[module.resolveAlias(operand.index)];
  return symbol.kind == SymbolKind::variable ? &module.variables[symbol.index] : nullptr;
}
std::optional<size_t> Decoder::kernelParameter(const ptx::Variable &variable) const {
  const auto index = static_cast<uint32_t>(&variable - module.variables.data());
  const auto it = std::find(source.parameters.begin(), source.parameters.end(), index);
  if (!source.entry || it == source.parameters.end())
    return std::nullopt;
  return static_cast<size_t>(it - source.parameters.begin());
}

uint32_t Decoder::addressOf(const Operand &operand, unsigned bytes) {
  const ptx::Variable *variable = variableOf(operand);
  if (!variable)
    return constant(bytes, functionWindow | module.resolveAlias(operand.index));
  const auto index = static_cast<uint32_t>(variable - module.variables.data());
  switch (variable->space) {
  case Modifier::shared:
  case Modifier::sharedCta:
    return constant(bytes, layout.shared[index] + operand.value);
  case Modifier::global:
  case Modifier::constant:
    return constant(bytes, layout.addresses[index] + operand.value);
  default:
    break;
  }
  const uint32_t slot = temporary(bytes);
  if (const std::optional<size_t> position = kernelParameter(*variable)) {
    Op &op = emitUnguarded(Operation::parameterAddress);
    op.d = slot;
    op.b = bytes;
    op.imm = program.parameterOffsets[*position] + operand.value;
    return slot;
  }
  Op &op = emitUnguarded(Operation::localAddress);
  op.d = slot;
  op.b = bytes;
  op.imm = locals[index] + operand.value;
  return slot;
}

AddressForm Decoder::address(const Operand &operand, Space space) {
  const Operand &base = source.elementsOf(operand)[0];
  AddressForm form;
  form.space = space;
  form.offset = static_cast<int64_t>(operand.value);
  if (base.kind == OperandKind::reg) {
    form.slot = registerSlot(base.index, base.component);
    form.bytes = static_cast<uint8_t>(bytesOf(base));
    // In a device function, parameters are in local memory.
    if (space == Space::param && source.entry) {
      const uint32_t slot = temporary(8);
      Op &op = emitUnguarded(Operation::fromParameters);
      op.d = slot, op.a = form.slot, op.b = form.bytes;
      form.slot = slot;
      form.bytes = 8;
    }
    return form;
  }
  form.bytes = space == Space::shared ? 4 : 8;
  if (base.kind == OperandKind::symbol) {
    const ptx::Variable *variable = variableOf(base);
    // A generic access may name a variable of any space.
    if (space == Space::generic && variable) {
      if (variable->space == Modifier::shared || variable->space == Modifier::sharedCta) {
        form.space = Space::shared;
        form.bytes = 4;
      } else if (variable->space == Modifier::local) {
        form.space = Space::local;
      } else {
        form.space = Space::global;
      }
    }
    if (form.space == Space::param && variable)
      form.space = kernelParameter(*variable) ? Space::global : Space::local;
  }
  form.slot = readBytes(base, form.bytes);
  return form;
}

// Operations.

Op &Decoder::emitUnguarded(Operation operation) {
  Op op;
  op.run = handlers[static_cast<size_t>(operation)];
  function.code.push_back(op);
  function.instructions.push_back(
      instruction ? static_cast<uint32_t>(instruction - source.instructions.data()) : noIndex);
  return function.code.back();
}
Op &Decoder::emit(Operation operation) {
  Op &op = emitUnguarded(operation);
  if (instruction->guarded) {
    op.guard = slots[instruction->guard];
    op.flip = instruction->guardNegated ? ~0u : 0;
  }
  return op;
}

Status Decoder::emitOperands(Operation operation, const OperandBytes &bytes, uint64_t imm) {
  const uint32_t a = readBytes(operands[1], bytes.a);
  const uint32_t b = operands.size() > 2 ? readBytes(operands[2], bytes.b) : a;
  const uint32_t c = operands.size() > 3 ? readBytes(operands[3], bytes.c) : a;
  const uint32_t d = bytes.d == 1 ? writePredicate(operands[0]) : write(operands[0], bytes.d);
  Op &op = emit(operation);
  op.d = d, op.a = a, op.b = b, op.c = c, op.imm = imm;
  return Status();
}
Status Decoder::emitExternal(const void *form) {
  emit(Operation::external).extra = form;
  return Status();
}

Status Decoder::unsupported(std::string_view why) const {
  std::string name(ptx::rowOf(*instruction).opcode);
  for (Modifier modifier : instruction->mods())
    name += "." + ptx::spellingOf(modifier);
  return Status(Error::vgpuUnimplemented,
                concat("line ", instruction->position.line, ": ", name, " is not implemented yet",
                       why.empty() ? "" : ": ", why));
}

/// Whether control can reach the next instruction from this one.
static bool fallsThrough(const Instruction &instruction) {
  const Handler handler = ptx::rowOf(instruction).handler;
  const bool leaves = handler == Handler::bra || handler == Handler::brx ||
                      handler == Handler::ret || handler == Handler::exit ||
                      handler == Handler::trap;
  return !leaves || instruction.guarded;
}

/// Whether the result may depend on the order in which warps execute this instruction.
static bool isPreempted(const Instruction &instruction) {
  switch (ptx::rowOf(instruction).klass) {
  case ptx::InstructionClass::memory:
  case ptx::InstructionClass::atomic:
  case ptx::InstructionClass::asyncCopy:
  case ptx::InstructionClass::barrier:
  case ptx::InstructionClass::matrix:
    return true;
  default:
    return false;
  }
}

/// Whether the access is atomic or ordered, with a scope wider than the block and the cluster.
static bool readsOfOtherBlocks(const Instruction &instruction, Handler handler) {
  const Order order = orderOf(instruction);
  const Scope scope = scopeOf(instruction);
  return handler == Handler::atom || handler == Handler::atomCas ||
         (order != Order::weak && order != Order::release && scope != Scope::cta &&
          scope != Scope::cluster);
}

Status Decoder::run() {
  layoutRegisters();
  layoutLocals();
  for (uint32_t index : source.parameters)
    if (!source.entry)
      function.parameters.push_back(callValue(module.variables[index]));
  for (uint32_t index : source.returns)
    function.returns.push_back(callValue(module.variables[index]));

  const size_t count = source.instructions.size();
  joins.assign(count + 1, false);
  for (const Instruction &one : source.instructions) {
    const Handler kind = ptx::rowOf(one).handler;
    if (kind != Handler::bra && kind != Handler::brx)
      continue;
    for (const Operand &operand : source.operandsOf(one)) {
      if (operand.kind == OperandKind::label)
        joins[source.labels[operand.index].instruction] = true;
      if (operand.kind == OperandKind::labels)
        for (uint32_t label : source.branchTargets[operand.index].targets)
          joins[source.labels[label].instruction] = true;
    }
  }

  if (options.observed)
    findMatrixRegisters();
  starts.resize(count + 1);
  for (size_t i = 0; i < count; ++i) {
    instruction = &source.instructions[i];
    if (joins[i] && i > 0 && fallsThrough(source.instructions[i - 1]))
      emitUnguarded(Operation::join);
    starts[i] = static_cast<uint32_t>(function.code.size());
    operands = source.operandsOf(*instruction);
    handler = ptx::rowOf(*instruction).handler;
    program.mayPoll |= readsOfOtherBlocks(*instruction, handler);
    if (joins[i] || handler == Handler::call)
      knownAddresses.clear();
    if (options.preempted && isPreempted(*instruction))
      emitUnguarded(Operation::preempt);
    if (options.counted)
      emit(Operation::countOp).imm = function.firstInstruction + i;
    if (!ofMatrices.empty())
      reportMatrixRegisters();
    TILEWRIGHT_TRY(decodeInstruction());
  }
  if (count > 0 && joins[count] && fallsThrough(source.instructions[count - 1]))
    emitUnguarded(Operation::join);
  starts[count] = static_cast<uint32_t>(function.code.size());
  instruction = count ? &source.instructions[count - 1] : nullptr;
  emitUnguarded(Operation::ret);
  finishJumps();
  fuse();

  function.frameBytes = frameBytes;
  function.constants.resize(frameBytes);
  std::memset(function.constants.data() + alwaysSlot, 0xff, 64);
  return Status();
}

void Decoder::finishJumps() {
  auto distance = [&](size_t op, uint32_t label) {
    return static_cast<int64_t>(starts[source.labels[label].instruction]) -
           static_cast<int64_t>(op);
  };
  for (const Jump &jump : jumps)
    function.code[jump.op].imm = static_cast<uint64_t>(distance(jump.op, jump.label));
  for (const IndexedJump &jump : indexedJumps) {
    int32_t *next = jump.distances;
    for (uint32_t label : source.branchTargets[jump.list].targets)
      *next++ = static_cast<int32_t>(distance(jump.op, label));
  }
}

Status Decoder::decodeInstruction() {
  static constexpr Status (Decoder::*decoders[])() = {
#define PTX_HANDLER(name, decoder) &Decoder::decoder,
#include "tilewright/vgpu/ptx/Handlers.def"
  };
  return (this->*decoders[static_cast<size_t>(handler)])();
}

// Programs.

namespace {
/// All functions and shared variables that a kernel can reach.
struct Reach {
  std::vector<uint32_t> functions; // symbols, the kernel's first
  std::vector<bool> sharedUsed;    // by variable
};
} // namespace

static Result<Reach> findReach(const ptx::Module &module, const ptx::Function &kernel) {
  Reach reach;
  reach.sharedUsed.assign(module.variables.size(), false);
  std::vector<bool> seen(module.symbols.size(), false);
  bool tablesAdded = false;
  auto add = [&](uint32_t symbol) {
    symbol = module.resolveAlias(symbol);
    if (seen[symbol])
      return;
    seen[symbol] = true;
    if (module.symbols[symbol].kind == SymbolKind::function) {
      const ptx::Function &found = module.functions[module.symbols[symbol].index];
      // System calls have no body; a call to one is decoded as an operation.
      if (found.defined || !externOf(module.name(found.name)))
        reach.functions.push_back(symbol);
    } else if (const ptx::Variable &variable = module.variables[module.symbols[symbol].index];
               variable.space == Modifier::shared || variable.space == Modifier::sharedCta) {
      reach.sharedUsed[module.symbols[symbol].index] = true;
    }
  };
  add(kernel.symbol);
  for (size_t i = 0; i < reach.functions.size(); ++i) {
    const ptx::Symbol &symbol = module.symbols[reach.functions[i]];
    const ptx::Function &function = module.functions[symbol.index];
    if (!function.defined)
      return Status(Error::vgpuSymbol,
                    concat("function '", module.name(symbol.name),
                           "' is only declared; link the module that defines it"));
    for (const Operand &operand : function.operands)
      if (operand.kind == OperandKind::symbol)
        add(operand.index);
    for (const ptx::TargetList &list : function.callTargets)
      for (uint32_t target : list.targets)
        add(target);
    const bool callsIndirectly = std::any_of(
        function.instructions.begin(), function.instructions.end(), [&](const Instruction &one) {
          if (ptx::rowOf(one).handler != Handler::call)
            return false;
          for (const Operand &operand : function.operandsOf(one))
            if (operand.kind == OperandKind::reg)
              return true;
          return false;
        });
    // An indirect call may call any function whose address is in a table.
    if (callsIndirectly && !tablesAdded) {
      tablesAdded = true;
      for (const ptx::Variable &variable : module.variables)
        for (const ptx::Relocation &relocation : variable.relocations)
          if (module.symbols[module.resolveAlias(relocation.symbol)].kind == SymbolKind::function)
            add(relocation.symbol);
    }
  }
  return reach;
}

Result<std::unique_ptr<Program>> decode(const ptx::Module &module, const ptx::Function &kernel,
                                        std::span<const uint64_t> addresses,
                                        const DecodeOptions &options) {
  const Run *handlers = options.handlers.value_or(handlersForHost());
  if (!handlers)
    return Status(
        Error::vgpuHost,
        "the virtual GPU requires a CPU with AVX2 and FMA (x86-64-v3), which this CPU lacks");
  TILEWRIGHT_ASSIGN(Reach reach, findReach(module, kernel));
  auto program = std::make_unique<Program>();
  program->module = &module;

  Layout layout;
  layout.addresses = addresses;
  layout.shared.assign(module.variables.size(), noIndex);
  // First variables of known size, then dynamic shared memory, whose size is set at launch.
  for (bool isDynamic : {false, true})
    for (size_t i = 0; i < module.variables.size(); ++i) {
      const ptx::Variable &variable = module.variables[i];
      if (!reach.sharedUsed[i] || (variable.size() == 0) != isDynamic)
        continue;
      // Swizzles apply to absolute addresses, so dynamic shared memory is aligned to a whole
      // swizzle pattern.
      const uint32_t alignment = std::max(variable.alignment, isDynamic ? 1024u : 1u);
      program->staticSharedBytes = alignUp(program->staticSharedBytes, alignment);
      layout.shared[i] = program->staticSharedBytes;
      // Like ptxas, reject a kernel that needs more shared memory than a block of the chip can
      // have. Larger offsets would also not fit in a shared address.
      if (variable.size() > options.sharedLimit ||
          program->staticSharedBytes + variable.size() > options.sharedLimit)
        return Status(Error::ptxVariable,
                      concat("kernel '", module.name(kernel.name), "' uses ",
                             program->staticSharedBytes + variable.size(),
                             " bytes of static shared memory including '",
                             module.name(variable.name), "', but a block has at most ",
                             options.sharedLimit));
      program->staticSharedBytes += static_cast<uint32_t>(variable.size());
    }

  for (uint32_t index : kernel.parameters) {
    const ptx::Variable &variable = module.variables[index];
    program->parameterBytes = alignUp(program->parameterBytes, std::max(variable.alignment, 1u));
    program->parameterOffsets.push_back(program->parameterBytes);
    program->parameterSizes.push_back(static_cast<uint32_t>(variable.size()));
    program->parameterBytes += static_cast<uint32_t>(variable.size());
  }

  for (uint32_t symbol : reach.functions) {
    auto function = std::make_unique<DecodedFunction>();
    function->source = &module.functions[module.symbols[symbol].index];
    function->name = module.name(function->source->name);
    function->index = static_cast<uint32_t>(program->functions.size());
    program->bySymbol[symbol] = function.get();
    function->firstInstruction = program->instructionCount;
    program->instructionCount += static_cast<uint32_t>(function->source->instructions.size());
    program->functions.push_back(std::move(function));
  }
  for (std::unique_ptr<DecodedFunction> &function : program->functions)
    TILEWRIGHT_TRY(Decoder(*program, *function, layout, options, handlers).run());
  return program;
}

} // namespace tilewright::vgpu::machine
