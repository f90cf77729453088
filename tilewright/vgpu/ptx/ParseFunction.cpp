// Functions: signatures, performance directives, and bodies without their instructions.
#include "tilewright/vgpu/ptx/ParserState.h"

namespace tilewright::vgpu::ptx {

namespace {

/// Labels, target lists and prototypes belong to their block scope.
uint64_t blockKey(uint32_t scope, StringId name) { return uint64_t(scope) << 32 | name; }

} // namespace

Status ParserState::parseFunction(const Declaration &declaration, bool entry) {
  Position position = token.position;
  if (declaration.space != Modifier::none || declaration.type != Modifier::none)
    return fail(Error::ptxDirective, position, "a function cannot have a state space or a type");
  TILEWRIGHT_TRY(advance());
  functionIndex = static_cast<uint32_t>(module.functions.size());
  function = &module.functions.emplace_back();
  function->entry = entry;
  function->linkage = declaration.linkage;
  function->position = position;
  function->scopes.push_back({noIndex, position});
  scope = 0;
  location = noIndex;
  pending.clear();
  blockNames.clear();

  if (token.isDotted("attribute")) {
    TILEWRIGHT_TRY(advance());
    Declaration ignored;
    TILEWRIGHT_TRY(parseAttribute(ignored));
  }
  names.enter(); // one scope for parameters and the body
  if (at('(')) {
    if (entry)
      return fail(Error::ptxSyntax, token.position, "a kernel cannot return values");
    TILEWRIGHT_TRY(parseParameters(entry, /*returns=*/true, function->returns));
  }
  Position namePosition = token.position;
  std::string_view name;
  TILEWRIGHT_TRY(expectIdentifier("a function's name", name));
  function->name = module.strings.intern(name);
  if (at('('))
    TILEWRIGHT_TRY(parseParameters(entry, /*returns=*/false, function->parameters));
  for (bool found = true; found;)
    TILEWRIGHT_TRY(parsePerformance(function->performance, found));
  bool body = at('{');
  if (!body && !at(';'))
    return fail(Error::ptxSyntax, token.position,
                "expected directives, '{' or ';' after the parameters of a function, got ",
                describe(token));

  // Add the symbol before the body, because a function may call itself. The symbol belongs to the
  // module scope, not to the function's own scope.
  Binding old = names.find(function->name);
  if (old.kind == BindingKind::symbol && old.depth == 0) {
    Symbol &symbol = module.symbols[old.index];
    if (symbol.kind != SymbolKind::function)
      return fail(Error::ptxRedefined, namePosition, "'", name, "' was declared as a variable");
    const Function &before = module.functions[symbol.index];
    if (before.defined && body)
      return fail(Error::ptxRedefined, namePosition, "'", name, "' already has a body, at line ",
                  before.position.line);
    TILEWRIGHT_TRY(sameSignature(before, *function, namePosition));
    function->symbol = old.index;
    if (!before.defined)
      symbol.index = functionIndex;
  } else {
    function->symbol = static_cast<uint32_t>(module.symbols.size());
    module.symbols.push_back({function->name, SymbolKind::function, functionIndex, noIndex});
    if (!names.addOuter(function->name, BindingKind::symbol, function->symbol))
      return fail(Error::ptxRedefined, namePosition, "'", name, "' is also a parameter");
  }
  module.items.push_back({ModuleItemKind::function, functionIndex});

  if (body) {
    function->defined = true;
    TILEWRIGHT_TRY(parseBody());
    TILEWRIGHT_TRY(finishFunction());
  }
  names.leave();
  function = nullptr;
  functionIndex = noIndex;
  return body ? Status() : advance();
}

Status ParserState::sameSignature(const Function &older, const Function &newer,
                                  Position position) const {
  auto same = [this](const std::vector<uint32_t> &left, const std::vector<uint32_t> &right) {
    if (left.size() != right.size())
      return false;
    for (size_t i = 0; i < left.size(); ++i)
      if (module.variables[left[i]].size() != module.variables[right[i]].size())
        return false;
    return true;
  };
  if (older.entry != newer.entry || !same(older.parameters, newer.parameters) ||
      !same(older.returns, newer.returns))
    return fail(Error::ptxRedefined, position, "'", module.name(newer.name),
                "' has different parameters than in its declaration at line ", older.position.line);
  return Status();
}

Status ParserState::parseParameters(bool entry, bool returns, std::vector<uint32_t> &into) {
  TILEWRIGHT_TRY(advance());
  while (!at(')')) {
    Declaration declaration;
    TILEWRIGHT_TRY(parseDeclaration(declaration));
    Position position = token.position;
    if (declaration.space != Modifier::param && declaration.space != Modifier::reg)
      return fail(Error::ptxSyntax, position, "expected .param or .reg before a parameter");
    if (declaration.space == Modifier::reg && entry)
      return fail(Error::ptxVariable, position, "kernel parameters must be .param, got .reg");
    uint32_t index = static_cast<uint32_t>(module.variables.size());
    if (declaration.space == Modifier::reg) {
      std::string_view name;
      TILEWRIGHT_TRY(expectIdentifier("a parameter's name", name));
      if (declaration.type == Modifier::none)
        return fail(Error::ptxVariable, position, "'", name, "' has no type");
      Variable variable;
      variable.name = module.strings.intern(name);
      variable.space = Modifier::reg;
      variable.type = declaration.type;
      variable.vector = declaration.vector;
      variable.alignment = static_cast<uint32_t>(variable.elementSize());
      variable.function = functionIndex;
      variable.reg = static_cast<uint32_t>(function->registers.size());
      variable.position = position;
      if (!names.add(variable.name, BindingKind::reg, variable.reg))
        return fail(Error::ptxRedefined, position, "'", name, "' is already a parameter");
      function->groups.push_back(
          {variable.name, variable.type, variable.vector, false, variable.reg, 1, 0, position});
      function->registers.push_back(
          {variable.type, variable.vector, static_cast<uint32_t>(function->groups.size() - 1)});
      module.variables.push_back(std::move(variable));
    } else if (token.kind == TokenKind::identifier && token.text == "_") {
      // An unnamed parameter of a declaration.
      Variable variable;
      TILEWRIGHT_TRY(parseVariable(declaration, variable));
      variable.function = functionIndex;
      module.variables.push_back(std::move(variable));
    } else {
      Variable variable;
      TILEWRIGHT_TRY(parseVariable(declaration, variable));
      TILEWRIGHT_TRY(declareVariable(std::move(variable), index));
    }
    into.push_back(index);
    if (!at(','))
      break;
    TILEWRIGHT_TRY(advance());
  }
  return expect(')', returns ? "after the return values of a function" : "after parameters");
}

Status ParserState::parsePerformance(Performance &performance, bool &found) {
  found = token.kind == TokenKind::dotted;
  if (!found)
    return Status();
  std::string_view word = token.text;
  Position position = token.position;
  auto triple = [&](std::array<uint32_t, 3> &values) -> Status {
    TILEWRIGHT_TRY(advance());
    values = {1, 1, 1};
    for (size_t i = 0; i < 3; ++i) {
      TILEWRIGHT_TRY(parseNumber("a dimension", values[i]));
      if (!at(',') || i == 2)
        break;
      TILEWRIGHT_TRY(advance());
    }
    return Status();
  };
  auto single = [&](uint32_t &value) -> Status {
    TILEWRIGHT_TRY(advance());
    return parseNumber("a number", value);
  };
  if (word == "maxntid")
    return triple(performance.maxntid);
  if (word == "reqntid")
    return triple(performance.reqntid);
  if (word == "reqnctapercluster")
    return triple(performance.reqnctapercluster);
  if (word == "minnctapersm")
    return single(performance.minnctapersm);
  if (word == "maxnctapersm")
    return single(performance.maxnctapersm);
  if (word == "maxnreg")
    return single(performance.maxnreg);
  if (word == "maxclusterrank")
    return single(performance.maxclusterrank);
  if (word == "explicitcluster") {
    performance.explicitcluster = true;
    return advance();
  }
  if (word == "blocksareclusters") {
    performance.blocksareclusters = true;
    return advance();
  }
  if (word == "noreturn") {
    performance.noreturn = true;
    return advance();
  }
  if (word == "abi_preserve" || word == "abi_preserve_control") {
    uint32_t value = 0;
    TILEWRIGHT_TRY(single(value));
    (word == "abi_preserve" ? performance.abiPreserve : performance.abiPreserveControl) = value;
    return Status();
  }
  if (word == "language") { // of the source, by number: cuTile writes it, and it changes nothing
    uint32_t language = 0;
    return single(language);
  }
  if (word == "pragma") {
    StringId pragma = noString;
    TILEWRIGHT_TRY(parsePragma(pragma));
    performance.pragmas.push_back(pragma);
    return Status();
  }
  return fail(Error::ptxDirective, position, "unknown function directive '.", word,
              "'; expected .maxntid, .reqntid, .minnctapersm, "
              ".maxnctapersm, .maxnreg, .noreturn, .explicitcluster, .reqnctapercluster, "
              ".maxclusterrank, .blocksareclusters, .abi_preserve, .language or .pragma");
}

Status ParserState::parseBody() {
  Position begin = token.position;
  TILEWRIGHT_TRY(advance());
  uint32_t depth = 1;
  while (true) {
    if (at('{')) {
      if (++depth > maxDepth || function->scopes.size() >= maxScopes)
        return fail(Error::ptxLimit, token.position, "blocks are nested deeper than ", maxDepth,
                    ", or a function has more than ", maxScopes, " blocks");
      names.enter();
      uint32_t inner = static_cast<uint32_t>(function->scopes.size());
      function->scopes.push_back({scope, token.position});
      function->items.push_back({ItemKind::scopeBegin, inner});
      scope = inner;
      TILEWRIGHT_TRY(advance());
    } else if (at('}')) {
      if (--depth == 0) {
        function->end = token.position;
        return advance();
      }
      names.leave();
      function->items.push_back({ItemKind::scopeEnd, scope});
      scope = function->scopes[scope].parent;
      TILEWRIGHT_TRY(advance());
    } else if (token.kind == TokenKind::end) {
      return fail(Error::ptxSyntax, token.position, "the body that begins at line ", begin.line,
                  " is not closed by '}'");
    } else {
      TILEWRIGHT_TRY(parseStatement());
    }
  }
}

Status ParserState::parseStatement() {
  if (token.kind == TokenKind::dotted)
    return parseScopedDirective();
  return parseInstruction();
}

Status ParserState::parseScopedDirective() {
  std::string_view word = token.text;
  if (word == "loc") {
    // LLVM counts one source line for each line of inline assembly, even for assembly that a
    // compiler generated, such as the two lines of a Triton load. Attribute all of them to the line
    // of the statement.
    const bool isCounted = lexer.isInAssembly() && location != noIndex;
    SourceLocation parsed;
    TILEWRIGHT_TRY(parseLocation(parsed));
    if (isCounted)
      return Status();
    location = static_cast<uint32_t>(module.locations.size());
    module.locations.push_back(parsed);
    function->items.push_back({ItemKind::location, location});
    return Status();
  }
  if (word == "loc_intermediate") { // a position in the tile compiler's own language
    SourceLocation unused;
    return parseLocation(unused);
  }
  if (word == "reg")
    return parseRegisters();
  if (word == "pragma") {
    StringId pragma = noString;
    TILEWRIGHT_TRY(parsePragma(pragma));
    function->items.push_back({ItemKind::pragma, pragma});
    return Status();
  }
  if (word == "file")
    return parseFile();
  if (word == "section")
    return parseSection();
  Declaration declaration;
  Position position = token.position;
  TILEWRIGHT_TRY(parseDeclaration(declaration));
  if (token.isDotted("entry") || token.isDotted("func"))
    return fail(Error::ptxSyntax, token.position,
                "a function begins inside another function; a '}' may be missing before it");
  if (declaration.space == Modifier::none)
    return fail(Error::ptxDirective, position, "directive '.", word,
                "' is not allowed in a function");
  return parseVariables(declaration);
}

Status ParserState::parseRegisters() {
  Declaration declaration;
  TILEWRIGHT_TRY(parseDeclaration(declaration));
  if (declaration.type == Modifier::none)
    return fail(Error::ptxVariable, token.position,
                "registers must have a type, as in '.reg .b32 %r'");
  unsigned bits = bitsOf(declaration.type);
  if (declaration.type != Modifier::pred && bits < 16 && bits != 8)
    return fail(Error::ptxVariable, token.position, "registers must have 8 to 128 bits, got .",
                spellingOf(declaration.type), " of ", bits, " bits");
  while (true) {
    Position position = token.position;
    std::string_view name;
    TILEWRIGHT_TRY(expectIdentifier("a register's name", name));
    RegisterGroup group;
    group.type = declaration.type;
    group.vector = declaration.vector;
    group.first = static_cast<uint32_t>(function->registers.size());
    group.count = 1;
    group.scope = scope;
    group.position = position;
    group.name = module.strings.intern(name);
    if (at('<')) {
      TILEWRIGHT_TRY(advance());
      // Do not parse a constant expression, in which '>' would be a comparison.
      if (token.kind != TokenKind::number || token.value > maxRegisters)
        return fail(Error::ptxLimit, token.position, "a register group can have at most ",
                    maxRegisters, " registers, got ", describe(token));
      group.parametrised = true;
      group.count = static_cast<uint32_t>(token.value);
      TILEWRIGHT_TRY(advance());
      TILEWRIGHT_TRY(expect('>', "after the number of registers"));
    }
    registerTotal += group.count;
    if (function->registers.size() + group.count > maxRegisters ||
        registerTotal > maxModuleRegisters)
      return fail(Error::ptxLimit, position, "a function can have at most ", maxRegisters,
                  " registers, and a module at most ", maxModuleRegisters);
    uint32_t index = static_cast<uint32_t>(function->groups.size());
    StringId key = group.parametrised ? module.strings.intern(concat(name, "<")) : group.name;
    if (!names.add(key, group.parametrised ? BindingKind::group : BindingKind::reg,
                   group.parametrised ? index : group.first))
      return fail(Error::ptxRedefined, position, "'", name, "' was already declared in this scope");
    function->registers.resize(function->registers.size() + group.count,
                               {group.type, group.vector, index});
    function->items.push_back({ItemKind::registers, index});
    function->groups.push_back(group);
    if (!at(','))
      break;
    TILEWRIGHT_TRY(advance());
  }
  return expect(';', "after registers");
}

Status ParserState::parseLabel(std::string_view name, Position position) {
  StringId id = module.strings.intern(name);
  if (token.isDotted("branchtargets") || token.isDotted("calltargets"))
    return parseTargetList(id, position, token.text == "calltargets");
  if (token.isDotted("callprototype"))
    return parsePrototype(id, position);
  uint32_t index = static_cast<uint32_t>(function->labels.size());
  if (!blockNames.emplace(blockKey(scope, id), Binding{BindingKind::label, index}).second)
    return fail(Error::ptxRedefined, position, "the label '", name,
                "' was already defined in this scope");
  function->labels.push_back(
      {id, scope, static_cast<uint32_t>(function->instructions.size()), position});
  function->items.push_back({ItemKind::label, index});
  return Status();
}

Status ParserState::parseTargetList(StringId name, Position position, bool calls) {
  std::vector<TargetList> &lists = calls ? function->callTargets : function->branchTargets;
  uint32_t index = static_cast<uint32_t>(lists.size());
  TargetList list;
  list.name = name;
  list.scope = scope;
  list.position = position;
  if (!blockNames
           .emplace(blockKey(scope, name),
                    Binding{calls ? BindingKind::callTargets : BindingKind::branchTargets, index})
           .second)
    return fail(Error::ptxRedefined, position, "'", module.name(name),
                "' was already defined in this scope");
  do {
    TILEWRIGHT_TRY(advance());
    Position where = token.position;
    std::string_view target;
    TILEWRIGHT_TRY(expectIdentifier(calls ? "a function" : "a label", target));
    if (calls) {
      Binding binding = names.find(module.strings.find(target));
      if (binding.kind != BindingKind::symbol ||
          module.symbols[binding.index].kind != SymbolKind::function)
        return fail(Error::ptxUndefined, where, "'", target,
                    "' is not a previously declared function");
      list.targets.push_back(binding.index);
    } else {
      // Store the name; it is resolved at the end of the function.
      list.targets.push_back(module.strings.intern(target));
    }
  } while (at(','));
  lists.push_back(std::move(list));
  function->items.push_back({calls ? ItemKind::callTargets : ItemKind::branchTargets, index});
  return expect(';', "after a list of targets");
}

Status ParserState::parsePrototype(StringId name, Position position) {
  Prototype prototype;
  prototype.name = name;
  prototype.scope = scope;
  prototype.position = position;
  TILEWRIGHT_TRY(advance());
  auto parameters = [&](std::vector<Variable> &into) -> Status {
    TILEWRIGHT_TRY(advance());
    while (!at(')')) {
      Declaration declaration;
      TILEWRIGHT_TRY(parseDeclaration(declaration));
      Variable variable;
      TILEWRIGHT_TRY(parseVariable(declaration, variable));
      into.push_back(std::move(variable));
      if (!at(','))
        break;
      TILEWRIGHT_TRY(advance());
    }
    return expect(')', "after parameters");
  };
  if (at('('))
    TILEWRIGHT_TRY(parameters(prototype.returns));
  std::string_view placeholder;
  TILEWRIGHT_TRY(expectIdentifier("'_' in place of the function's name", placeholder));
  if (at('('))
    TILEWRIGHT_TRY(parameters(prototype.parameters));
  Performance performance;
  for (bool found = true; found;)
    TILEWRIGHT_TRY(parsePerformance(performance, found));
  prototype.noreturn = performance.noreturn;
  uint32_t index = static_cast<uint32_t>(function->prototypes.size());
  if (!blockNames.emplace(blockKey(scope, name), Binding{BindingKind::prototype, index}).second)
    return fail(Error::ptxRedefined, position, "'", module.name(name),
                "' was already defined in this scope");
  function->prototypes.push_back(std::move(prototype));
  function->items.push_back({ItemKind::prototype, index});
  return expect(';', "after '.callprototype'");
}

Status ParserState::finishFunction() {
  auto find = [this](uint32_t from, StringId name) -> Binding {
    for (uint32_t at = from; at != noIndex; at = function->scopes[at].parent)
      if (auto found = blockNames.find(blockKey(at, name)); found != blockNames.end())
        return found->second;
    return {};
  };
  for (TargetList &list : function->branchTargets) {
    for (uint32_t &target : list.targets) {
      Binding binding = find(list.scope, target);
      if (binding.kind != BindingKind::label)
        return fail(Error::ptxUndefined, list.position, "the label '", module.name(target),
                    "' is not in the scope of this list");
      target = binding.index;
    }
  }
  for (const PendingName &name : pending) {
    Operand &operand = function->operands[name.operand];
    Binding binding = find(name.scope, name.name);
    switch (binding.kind) {
    case BindingKind::label:
      operand.kind = OperandKind::label;
      break;
    case BindingKind::branchTargets:
      operand.kind = OperandKind::labels;
      break;
    case BindingKind::callTargets:
      operand.kind = OperandKind::targets;
      break;
    case BindingKind::prototype:
      operand.kind = OperandKind::prototype;
      break;
    default:
      return fail(Error::ptxUndefined, operand.position, "'", module.name(name.name),
                  "' is neither a label in scope nor a register, variable or function");
    }
    operand.index = binding.index;
  }
  // Check control flow now that every name is resolved.
  for (const Instruction &instruction : function->instructions) {
    InstructionClass klass = rowOf(instruction).klass;
    if (klass == InstructionClass::control)
      TILEWRIGHT_TRY(checkOperands(module, *function, instruction));
  }
  return Status();
}

} // namespace tilewright::vgpu::ptx
