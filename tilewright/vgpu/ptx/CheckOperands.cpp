// Checks the operands of an instruction against the rules of its row.
#include "tilewright/support/Concat.h"
#include "tilewright/vgpu/ptx/Fragment.h"
#include "tilewright/vgpu/ptx/Lexer.h"
#include "tilewright/vgpu/ptx/ParserState.h"

namespace tilewright::vgpu::ptx {

namespace {

bool isInteger(TypeCategory category) {
  return category == TypeCategory::unsignedInteger || category == TypeCategory::signedInteger;
}

/// Whether a register declared as `have` can hold `want`. Untyped registers hold any type of their
/// size; integer registers hold both signed and unsigned integers; floats need float registers.
bool fits(Modifier have, Modifier want, bool mayBeWider) {
  TypeCategory haveCategory = categoryOf(have), wantCategory = categoryOf(want);
  if (haveCategory == TypeCategory::predicate || wantCategory == TypeCategory::predicate)
    return haveCategory == wantCategory;
  unsigned haveBits = bitsOf(have), wantBits = bitsOf(want);
  if (mayBeWider ? haveBits < wantBits : haveBits != wantBits)
    return false;
  if (haveCategory == TypeCategory::untyped)
    return true;
  switch (wantCategory) {
  case TypeCategory::untyped:
    return true;
  case TypeCategory::unsignedInteger:
  case TypeCategory::signedInteger:
  case TypeCategory::packedInteger:
    return isInteger(haveCategory);
  case TypeCategory::floating:
    return haveCategory == TypeCategory::floating && haveBits == wantBits;
  case TypeCategory::packedFloat:
    return haveCategory == TypeCategory::packedFloat;
  default:
    return false;
  }
}

/// The space without its '::' suffix.
Modifier plainSpace(Modifier space) {
  switch (space) {
  case Modifier::sharedCta:
  case Modifier::sharedCluster:
    return Modifier::shared;
  case Modifier::paramEntry:
  case Modifier::paramFunc:
    return Modifier::param;
  default:
    return space;
  }
}

std::string_view nameOf(OperandKind kind) {
  switch (kind) {
  case OperandKind::reg:
    return "a register";
  case OperandKind::special:
    return "a special register";
  case OperandKind::immediate:
    return "a constant";
  case OperandKind::symbol:
    return "a variable or function";
  case OperandKind::label:
    return "a label";
  case OperandKind::labels:
    return "a list of labels";
  case OperandKind::targets:
    return "a list of functions";
  case OperandKind::prototype:
    return "a prototype";
  case OperandKind::sink:
    return "'_'";
  case OperandKind::vector:
    return "a list in braces";
  case OperandKind::pair:
    return "a pair with '|'";
  case OperandKind::list:
    return "a list in parentheses";
  case OperandKind::address:
    return "an address in brackets";
  case OperandKind::tensor:
    return "a tensor with coordinates";
  case OperandKind::none:
    break;
  }
  return "nothing";
}

class Checker {
public:
  Checker(const Module &module, const Function &function, const Instruction &instruction)
      : module(module), function(function), instruction(instruction), row(rowOf(instruction)) {}

  Status check() const;

private:
  template <typename... Parts>
  Status fail(Error error, Position position, const Parts &...parts) const {
    return Status(error, concat(describe(position), parts...));
  }
  Status wrongKind(const Operand &operand, std::string_view name, std::string_view wanted) const {
    if (operand.kind == OperandKind::label && row.klass != InstructionClass::control)
      return fail(Error::ptxUndefined, operand.position, "'", module.name(operand.index),
                  "' is not declared here");
    return fail(Error::ptxOperandKind, operand.position, "operand ", name, " of '", row.opcode,
                "' must be ", wanted, ", got ", nameOf(operand.kind));
  }

  Status checkOne(const OperandRule &rule, const Operand &operand) const;
  Status checkScalar(const OperandRule &rule, const Operand &operand, Modifier type) const;
  Status checkRegister(const OperandRule &rule, const Operand &operand, Modifier type) const;
  Status checkVector(const OperandRule &rule, const Operand &operand, unsigned count,
                     Modifier type) const;
  Status checkFragment(const OperandRule &rule, const Operand &operand) const;
  Status checkAddress(const OperandRule &rule, const Operand &operand) const;
  Status checkSpace(const Operand &base) const;
  Status checkTensor(const OperandRule &rule, const Operand &operand) const;
  Status checkMove(const OperandRule &rule, const Operand &operand, const Operand &other) const;
  Status checkCall(std::span<const Operand> operands) const;
  Status checkArguments(const Operand &list, std::span<const uint32_t> parameters,
                        std::string_view what) const;
  Modifier typeOf(const OperandRule &rule) const;
  unsigned dimensions() const;

  const Module &module;
  const Function &function;
  const Instruction &instruction;
  const InstructionRow &row;
};

Status Checker::check() const {
  std::span<const Operand> operands = function.operandsOf(instruction);
  if (row.handler == Handler::call)
    return checkCall(operands);

  size_t needed = 0, possible = 0;
  for (const OperandRule &rule : row.operands) {
    if (rule.condition != Modifier::none && !instruction.has(rule.condition))
      continue;
    ++possible;
    needed += !rule.optional;
  }
  if (operands.size() < needed || operands.size() > possible)
    return fail(Error::ptxOperandCount, instruction.position, "'", row.opcode, "' takes ",
                needed == possible ? concat(needed) : concat(needed, " to ", possible),
                " operands (", row.signature, "), got ", operands.size());

  // Optional operands are assigned from the left.
  size_t spare = operands.size() - needed, next = 0;
  for (const OperandRule &rule : row.operands) {
    if (rule.condition != Modifier::none && !instruction.has(rule.condition))
      continue;
    if (rule.optional && spare == 0)
      continue;
    // Masks of lanes are in braces, so another operand in their place means that they are absent.
    if (rule.form == OperandForm::lanes && operands[next].kind != OperandKind::vector)
      continue;
    spare -= rule.optional;
    if (rule.architecture > module.target.architecture)
      return fail(Error::ptxRequirement, operands[next].position, "operand ", rule.name, " of '",
                  row.opcode, "' requires target sm_", unsigned(rule.architecture),
                  " or higher, but the module is for sm_", module.target.architecture);
    if (rule.form == OperandForm::move)
      TILEWRIGHT_TRY(checkMove(rule, operands[next], operands[1 - next]));
    else
      TILEWRIGHT_TRY(checkOne(rule, operands[next]));
    ++next;
  }
  return Status();
}

Modifier Checker::typeOf(const OperandRule &rule) const {
  Modifier type = rule.type != Modifier::none ? rule.type : instruction.type(rule.typeIndex);
  if (!rule.doubled)
    return type;
  switch (type) {
  case Modifier::u16:
    return Modifier::u32;
  case Modifier::s16:
    return Modifier::s32;
  case Modifier::u32:
    return Modifier::u64;
  default:
    return Modifier::s64;
  }
}

unsigned Checker::dimensions() const {
  return static_cast<unsigned>(instruction.find(ModifierKind::dimension)) -
         static_cast<unsigned>(Modifier::d1) + 1;
}

Status Checker::checkOne(const OperandRule &rule, const Operand &operand) const {
  if (operand.kind == OperandKind::pair) {
    if (!rule.second)
      return wrongKind(operand, rule.name, "one register");
    const Operand &first = function.elementsOf(operand)[0];
    const Operand &second = function.elementsOf(operand)[1];
    OperandRule plain = rule;
    plain.second = plain.secondNeeded = false;
    plain.sink = true;
    TILEWRIGHT_TRY(checkOne(plain, first));
    return checkScalar(plain, second, Modifier::pred);
  }
  if (rule.secondNeeded)
    return wrongKind(operand, rule.name, "a pair with a predicate, as %r1|%p1");
  if (operand.kind == OperandKind::sink && rule.sink)
    return Status();
  if (rule.sinkNeeded)
    return wrongKind(operand, rule.name, "'_', because a remote barrier returns no state");
  switch (rule.form) {
  case OperandForm::typed:
    return checkScalar(rule, operand, typeOf(rule));
  case OperandForm::vectorized:
    // Triton puts a single register into braces as well.
    if (instruction.vectorLength() > 1 || operand.kind == OperandKind::vector)
      return checkVector(rule, operand, instruction.vectorLength(), typeOf(rule));
    return checkScalar(rule, operand, typeOf(rule));
  case OperandForm::vector:
    if (rule.count == 1 && operand.kind != OperandKind::vector)
      return checkScalar(rule, operand, typeOf(rule));
    return checkVector(rule, operand, rule.count, typeOf(rule));
  case OperandForm::fragment:
    return checkFragment(rule, operand);
  case OperandForm::address:
    return checkAddress(rule, operand);
  case OperandForm::tensor:
    return checkTensor(rule, operand);
  case OperandForm::source:
    return operand.kind == OperandKind::address ? checkAddress(rule, operand)
                                                : checkScalar(rule, operand, Modifier::b64);
  case OperandForm::lanes:
    return checkVector(rule, operand, instruction.has(Modifier::ctaGroup2) ? 8 : 4, Modifier::b32);
  case OperandForm::offsets:
    return checkVector(rule, operand, instruction.has(Modifier::im2col) ? dimensions() - 2 : 2,
                       Modifier::b16);
  case OperandForm::immediate:
    if (operand.kind != OperandKind::immediate || operand.number == NumberKind::f32 ||
        operand.number == NumberKind::f64)
      return wrongKind(operand, rule.name, "a constant integer");
    return Status();
  case OperandForm::location:
    if (operand.kind == OperandKind::symbol)
      return Status();
    return checkScalar(rule, operand, instruction.type());
  case OperandForm::predicate:
    if (operand.kind == OperandKind::immediate)
      return Status();
    return checkRegister(rule, operand, Modifier::pred);
  case OperandForm::label:
    if (operand.kind != OperandKind::label)
      return wrongKind(operand, rule.name, "a label");
    return Status();
  case OperandForm::labels:
    if (operand.kind != OperandKind::labels)
      return wrongKind(operand, rule.name, "the name of a .branchtargets list");
    return Status();
  default:
    return Status();
  }
}

Status Checker::checkRegister(const OperandRule &rule, const Operand &operand,
                              Modifier type) const {
  if (operand.kind != OperandKind::reg)
    return wrongKind(operand, rule.name, "a register");
  const Register &reg = function.registers[operand.index];
  // The operand of cp.async is either the number of source bytes, or a predicate that disables the
  // source.
  if (row.handler == Handler::cpAsync && rule.name == "source" && reg.type == Modifier::pred)
    return Status();
  if (operand.negated && (type != Modifier::pred || rule.written))
    return fail(Error::ptxOperandKind, operand.position, "operand ", rule.name, " of '", row.opcode,
                "' cannot be negated with '!'");
  if (reg.vector > 1 && operand.component == Operand::noComponent)
    return fail(Error::ptxOperandKind, operand.position, "'",
                module.registerName(function, operand.index), "' is a vector; select one of its ",
                unsigned(reg.vector), " elements, for example .x");
  if (fits(reg.type, type, rule.mayBeWider))
    return Status();
  return fail(Error::ptxOperandType, operand.position, "operand ", rule.name, " of '", row.opcode,
              "' must be ", rule.mayBeWider ? "at least " : "", "a .", spellingOf(type),
              " register, but '", module.registerName(function, operand.index),
              "' is declared as .", spellingOf(reg.type));
}

Status Checker::checkScalar(const OperandRule &rule, const Operand &operand, Modifier type) const {
  if (operand.kind == OperandKind::reg)
    return checkRegister(rule, operand, type);
  if (rule.written) {
    if (operand.kind == OperandKind::sink && (rule.sink || rule.second))
      return Status();
    return wrongKind(operand, rule.name, "a register, because it is written");
  }
  if (operand.kind == OperandKind::special) {
    if (row.handler != Handler::mov && row.id != RowId::cvt_int)
      return wrongKind(operand, rule.name,
                       "a register or a constant; special registers are read by mov");
    Modifier have = typeOfSpecial(static_cast<SpecialRegister>(operand.index));
    if (fits(have, type, rule.mayBeWider))
      return Status();
    return fail(Error::ptxOperandType, operand.position, "operand ", rule.name, " of '", row.opcode,
                "' must be a .", spellingOf(type), ", but the special register is .",
                spellingOf(have));
  }
  if (operand.kind != OperandKind::immediate)
    return wrongKind(operand, rule.name, "a register or a constant");
  bool isFloat = operand.number == NumberKind::f32 || operand.number == NumberKind::f64;
  TypeCategory category = categoryOf(type);
  if (category == TypeCategory::packedFloat || category == TypeCategory::bitsOfFloat ||
      type == Modifier::f16)
    return wrongKind(operand, rule.name,
                     concat("a register, because .", spellingOf(type), " has no constants"));
  if (category == TypeCategory::floating ? !isFloat : isFloat && category != TypeCategory::untyped)
    return fail(Error::ptxOperandType, operand.position, "operand ", rule.name, " of '", row.opcode,
                "' must be a .", spellingOf(type), ", but the constant is ",
                isFloat ? "a float" : "an integer; write it as 0f… or 0d…");
  return Status();
}

Status Checker::checkVector(const OperandRule &rule, const Operand &operand, unsigned count,
                            Modifier type) const {
  if (operand.kind == OperandKind::reg && !operand.negated &&
      operand.component == Operand::noComponent) {
    const Register &reg = function.registers[operand.index];
    if (reg.vector > 1) {
      if (reg.vector == count && fits(reg.type, type, rule.mayBeWider))
        return Status();
      return fail(Error::ptxOperandType, operand.position, "operand ", rule.name, " of '",
                  row.opcode, "' must have ", count, " elements of .", spellingOf(type), ", but '",
                  module.registerName(function, operand.index), "' has ", unsigned(reg.vector),
                  " of .", spellingOf(reg.type));
    }
  }
  if (operand.kind != OperandKind::vector)
    return wrongKind(operand, rule.name, concat(count, " registers in braces"));
  if (operand.count != count)
    return fail(Error::ptxOperandCount, operand.position, "operand ", rule.name, " of '",
                row.opcode, "' must have ", count, " elements in braces, got ", operand.count);
  for (const Operand &element : function.elementsOf(operand)) {
    if (element.kind == OperandKind::sink && rule.written)
      continue;
    TILEWRIGHT_TRY(checkScalar(rule, element, type));
  }
  return Status();
}

Status Checker::checkFragment(const OperandRule &rule, const Operand &operand) const {
  // If A of wgmma is in shared memory, its operand is a descriptor.
  bool groups = row.handler == Handler::wgmma || row.handler == Handler::wgmmaSparse;
  if (groups && rule.matrix == 'A' && operand.kind == OperandKind::reg)
    return checkScalar(rule, operand, Modifier::b64);
  Fragment fragment = fragmentOf(instruction, rule.matrix);
  if (fragment.count == 1 && operand.kind == OperandKind::reg)
    return checkScalar(rule, operand, fragment.registers);
  return checkVector(rule, operand, fragment.count, fragment.registers);
}

Status Checker::checkAddress(const OperandRule &rule, const Operand &operand) const {
  if (operand.kind != OperandKind::address)
    return wrongKind(operand, rule.name, "an address in brackets");
  const Operand &base = function.elementsOf(operand)[0];
  if (base.kind == OperandKind::symbol)
    return checkSpace(base);
  if (base.kind != OperandKind::reg)
    return Status();
  const Register &reg = function.registers[base.index];
  unsigned bits = bitsOf(reg.type);
  TypeCategory category = categoryOf(reg.type);
  if ((category == TypeCategory::untyped || isInteger(category)) && (bits == 32 || bits == 64))
    return Status();
  return fail(Error::ptxOperandType, base.position,
              "an address register must have a 32-bit or 64-bit integer or untyped (.b32, .b64) "
              "type, but '",
              module.registerName(function, base.index), "' is declared as .",
              spellingOf(reg.type));
}

/// Checks that the state space of an instruction matches that of the variable it accesses.
Status Checker::checkSpace(const Operand &base) const {
  const Symbol &symbol = module.symbols[base.index];
  if (symbol.kind == SymbolKind::function)
    return wrongKind(base, "a", "in data memory");
  Modifier have = module.variables[symbol.index].space;
  // If an instruction names two spaces, the variable may be in either.
  unsigned spaces = 0;
  for (Modifier word : instruction.mods()) {
    if (kindOf(word) != ModifierKind::space)
      continue;
    ++spaces;
    if (word == have || plainSpace(word) == plainSpace(have))
      return Status();
  }
  if (spaces != 1 || row.klass == InstructionClass::asyncCopy)
    return Status();
  return fail(Error::ptxOperandKind, base.position, "'", module.name(symbol.name), "' is in .",
              spellingOf(have), ", but '", row.opcode, "' accesses .",
              spellingOf(instruction.find(ModifierKind::space)));
}

Status Checker::checkTensor(const OperandRule &rule, const Operand &operand) const {
  if (operand.kind != OperandKind::tensor)
    return wrongKind(operand, rule.name, "a tensor map with coordinates, as [%rd1, {%r1, %r2}]");
  const bool choosesRows =
      instruction.has(Modifier::tileGather4) || instruction.has(Modifier::tileScatter4);
  const unsigned expected = choosesRows ? 5 : dimensions(); // a column and four rows
  if (operand.count - 1 != expected)
    return fail(Error::ptxOperandCount, operand.position, "operand ", rule.name, " of '",
                row.opcode, "' must have ", expected, " coordinates, got ", operand.count - 1);
  for (const Operand &coordinate : function.elementsOf(operand).subspan(1))
    TILEWRIGHT_TRY(checkScalar(rule, coordinate, Modifier::b32));
  return Status();
}

/// Checks the operands of mov, which copies, takes addresses, packs and unpacks.
Status Checker::checkMove(const OperandRule &rule, const Operand &operand,
                          const Operand &other) const {
  Modifier type = instruction.type();
  if (operand.kind == OperandKind::vector) {
    if (other.kind == OperandKind::vector)
      return fail(Error::ptxOperandKind, operand.position,
                  "only one operand of mov can be in braces, to pack or to unpack");
    if (operand.count != 2 && operand.count != 4)
      return fail(Error::ptxOperandCount, operand.position,
                  "mov can pack or unpack 2 or 4 elements, got ", operand.count);
    unsigned bits = bitsOf(type) / operand.count;
    if (categoryOf(type) != TypeCategory::untyped || bits < 8)
      return fail(
          Error::ptxOperandType, operand.position, "mov.", spellingOf(type),
          " cannot pack or unpack ", operand.count,
          " elements; only .b types with elements of at least 8 bits can be packed or unpacked");
    Modifier part = bits == 8    ? Modifier::b8
                    : bits == 16 ? Modifier::b16
                    : bits == 32 ? Modifier::b32
                                 : Modifier::b64;
    for (const Operand &element : function.elementsOf(operand)) {
      if (element.kind == OperandKind::sink && rule.written)
        continue;
      TILEWRIGHT_TRY(checkScalar(rule, element, part));
    }
    return Status();
  }
  if (operand.kind == OperandKind::symbol && !rule.written) {
    if (bitsOf(type) != 32 && bitsOf(type) != 64)
      return fail(Error::ptxOperandType, operand.position,
                  "an address must have 32 or 64 bits, got .", spellingOf(type));
    return Status();
  }
  if (operand.kind == OperandKind::sink && rule.written && other.kind != OperandKind::vector)
    return wrongKind(operand, rule.name, "a register");
  return checkScalar(rule, operand, type);
}

Status Checker::checkArguments(const Operand &list, std::span<const uint32_t> parameters,
                               std::string_view what) const {
  std::span<const Operand> arguments = function.elementsOf(list);
  if (arguments.size() != parameters.size())
    return fail(Error::ptxCall, list.position, "the function has ", parameters.size(), " ", what,
                ", got ", arguments.size());
  for (size_t i = 0; i < arguments.size(); ++i) {
    const Variable &parameter = module.variables[parameters[i]];
    const Operand &argument = arguments[i];
    uint64_t size = parameter.size(), got = size;
    if (argument.kind == OperandKind::symbol &&
        module.symbols[argument.index].kind == SymbolKind::variable)
      got = module.variables[module.symbols[argument.index].index].size();
    else if (argument.kind == OperandKind::reg)
      got = std::max(1u, bitsOf(function.registers[argument.index].type) / 8);
    else if (argument.kind != OperandKind::immediate && argument.kind != OperandKind::sink)
      return fail(Error::ptxCall, argument.position,
                  "an argument must be a .param variable, a register or a constant, got ",
                  nameOf(argument.kind));
    if (got != size && size != 0 && parameter.type != Modifier::pred)
      return fail(Error::ptxCall, argument.position, "argument ", i, " of ", what, " has ", got,
                  " bytes, but the function expects ", size);
  }
  return Status();
}

Status Checker::checkCall(std::span<const Operand> operands) const {
  size_t next = 0;
  const Operand *returns = nullptr, *arguments = nullptr;
  if (!operands.empty() && operands[0].kind == OperandKind::list)
    returns = &operands[next++];
  if (next >= operands.size())
    return fail(Error::ptxOperandCount, instruction.position, "call does not name a function");
  const Operand &callee = operands[next++];
  if (next < operands.size() && operands[next].kind == OperandKind::list)
    arguments = &operands[next++];
  if (callee.kind == OperandKind::symbol) {
    const Symbol &symbol = module.symbols[callee.index];
    if (symbol.kind != SymbolKind::function)
      return fail(Error::ptxCall, callee.position, "'", module.name(symbol.name),
                  "' is a variable and cannot be called");
    if (next != operands.size())
      return fail(Error::ptxOperandCount, operands[next].position,
                  "unexpected operand after the arguments of a direct call");
    const Function &target = module.functions[symbol.index];
    Operand empty;
    empty.position = callee.position;
    TILEWRIGHT_TRY(checkArguments(returns ? *returns : empty, target.returns, "return values"));
    return checkArguments(arguments ? *arguments : empty, target.parameters, "parameters");
  }
  if (callee.kind != OperandKind::reg)
    return fail(Error::ptxCall, callee.position, "expected a function or a register to call, got ",
                nameOf(callee.kind));
  if (next + 1 != operands.size() || (operands[next].kind != OperandKind::prototype &&
                                      operands[next].kind != OperandKind::targets))
    return fail(Error::ptxCall, callee.position,
                "a call through a register must end with a .callprototype or .calltargets");
  if (operands[next].kind == OperandKind::prototype) {
    const Prototype &prototype = function.prototypes[operands[next].index];
    size_t given = arguments ? arguments->count : 0, returned = returns ? returns->count : 0;
    if (given != prototype.parameters.size() || returned != prototype.returns.size())
      return fail(Error::ptxCall, callee.position, "the prototype has ",
                  prototype.parameters.size(), " parameters and ", prototype.returns.size(),
                  " return values, got ", given, " and ", returned);
  }
  return Status();
}

} // namespace

Status checkOperands(const Module &module, const Function &function,
                     const Instruction &instruction) {
  return Checker(module, function, instruction).check();
}

} // namespace tilewright::vgpu::ptx
