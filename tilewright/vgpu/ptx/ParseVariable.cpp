// Declarations of variables and their initial values.
#include "tilewright/vgpu/ptx/ParserState.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

namespace tilewright::vgpu::ptx {

namespace {

std::optional<Linkage> linkageOf(std::string_view word) {
  if (word == "visible")
    return Linkage::visible;
  if (word == "extern")
    return Linkage::external;
  if (word == "weak")
    return Linkage::weak;
  if (word == "common")
    return Linkage::common;
  return std::nullopt;
}

bool isVariableSpace(Modifier space) {
  switch (space) {
  case Modifier::reg:
  case Modifier::constant:
  case Modifier::global:
  case Modifier::local:
  case Modifier::param:
  case Modifier::shared:
  case Modifier::sharedCta:
    return true;
  default:
    return false;
  }
}

/// The types that variables and registers may have: those with a representation in memory.
bool isVariableType(Modifier type) {
  unsigned bits = bitsOf(type);
  TypeCategory category = categoryOf(type);
  if (category == TypeCategory::bitsOfFloat || category == TypeCategory::packedInteger)
    return false;
  return type == Modifier::pred || (bits >= 8 && bits <= 128);
}

} // namespace

Status ParserState::parseDeclaration(Declaration &declaration) {
  while (token.kind == TokenKind::dotted) {
    std::string_view word = token.text;
    Position position = token.position;
    if (word == "entry" || word == "func")
      return Status();
    TILEWRIGHT_TRY(advance());
    if (std::optional<Linkage> linkage = linkageOf(word)) {
      if (declaration.linkageWritten)
        return fail(Error::ptxDirective, position,
                    "a declaration can have only one linkage, got a second one, '.", word, "'");
      declaration.linkage = *linkage;
      declaration.linkageWritten = true;
      continue;
    }
    if (word == "align") {
      if (token.kind != TokenKind::number || token.value == 0 || token.value > (1u << 30) ||
          !std::has_single_bit(token.value))
        return fail(Error::ptxVariable, position, "an alignment must be a power of two, got ",
                    describe(token));
      (declaration.pointer ? declaration.pointerAlignment : declaration.alignment) =
          static_cast<uint32_t>(token.value);
      TILEWRIGHT_TRY(advance());
      continue;
    }
    if (word == "ptr") {
      declaration.pointer = true;
      continue;
    }
    if (word == "attribute") {
      TILEWRIGHT_TRY(parseAttribute(declaration));
      continue;
    }
    if (word == "tex" || word == "texref" || word == "samplerref" || word == "surfref")
      return fail(
          Error::ptxUnsupportedInstruction, position, "'.", word,
          "' declares a texture, sampler or surface; textures and surfaces are not supported");
    if (word == "hidden")
      return fail(Error::ptxUnsupportedInstruction, position,
                  "'.hidden' declares a parameter that NVIDIA's driver fills in, such as a tensor "
                  "map of cuTile; only kernels without such parameters are supported: declare "
                  "arrays without divisible strides");
    std::optional<Modifier> modifier = findModifier(word);
    if (modifier && kindOf(*modifier) == ModifierKind::space && declaration.pointer &&
        declaration.pointerSpace == Modifier::none && *modifier != Modifier::reg) {
      declaration.pointerSpace = *modifier;
    } else if (modifier && isVariableSpace(*modifier) && declaration.space == Modifier::none) {
      declaration.space = *modifier;
    } else if (modifier && isType(*modifier) && declaration.type == Modifier::none) {
      if (!isVariableType(*modifier))
        return fail(Error::ptxVariable, position, "'.", word,
                    "' is only an instruction type; declare registers and variables that hold it "
                    "as .b8 to .b128");
      declaration.type = *modifier;
    } else if (modifier == Modifier::v2 || modifier == Modifier::v4 || modifier == Modifier::v8) {
      declaration.vector = modifier == Modifier::v2 ? 2 : modifier == Modifier::v4 ? 4 : 8;
    } else {
      return fail(Error::ptxDirective, position, "unknown directive '.", word,
                  "' in a declaration; expected linkage, space, .align, .v2, .v4, .ptr, "
                  ".attribute or a type");
    }
  }
  return Status();
}

Status ParserState::parseAttribute(Declaration &declaration) {
  TILEWRIGHT_TRY(expect('(', "after '.attribute'"));
  while (true) {
    if (token.isDotted("managed")) {
      declaration.managed = true;
      TILEWRIGHT_TRY(advance());
    } else if (token.isDotted("unified")) {
      TILEWRIGHT_TRY(advance());
      TILEWRIGHT_TRY(expect('(', "after '.unified'"));
      Constant first, second;
      TILEWRIGHT_TRY(parseConstant(first));
      TILEWRIGHT_TRY(expect(',', "between the two parts of '.unified'"));
      TILEWRIGHT_TRY(parseConstant(second));
      TILEWRIGHT_TRY(expect(')', "after '.unified'"));
      declaration.unified = {first.bits, second.bits};
    } else {
      return fail(Error::ptxDirective, token.position,
                  "expected attribute .managed or .unified, got ", describe(token));
    }
    if (!at(','))
      break;
    TILEWRIGHT_TRY(advance());
  }
  return expect(')', "after attributes");
}

Status ParserState::parseVariable(const Declaration &declaration, Variable &variable) {
  variable.position = token.position;
  std::string_view name;
  TILEWRIGHT_TRY(expectIdentifier("a variable's name", name));
  if (declaration.space == Modifier::none)
    return fail(Error::ptxVariable, variable.position, "'", name,
                "' must have a state space, such as .global or .shared");
  if (declaration.type == Modifier::none || declaration.type == Modifier::pred)
    return fail(Error::ptxVariable, variable.position, "'", name,
                "' must have a type that memory can hold");
  if (declaration.vector * bitsOf(declaration.type) > 256)
    return fail(Error::ptxVariable, variable.position, "a vector can have at most 256 bits");
  variable.name = module.strings.intern(name);
  variable.space = declaration.space;
  variable.type = declaration.type;
  variable.vector = declaration.vector;
  variable.linkage = declaration.linkage;
  variable.alignmentWritten = declaration.alignment != 0;
  variable.alignment =
      declaration.alignment ? declaration.alignment : static_cast<uint32_t>(variable.elementSize());
  variable.pointer = declaration.pointer;
  variable.pointerSpace = declaration.pointerSpace;
  variable.pointerAlignment = declaration.pointerAlignment;
  variable.managed = declaration.managed;
  variable.unified = declaration.unified;
  TILEWRIGHT_TRY(parseDimensions(variable));
  if (at('=')) {
    if (variable.space != Modifier::global && variable.space != Modifier::constant)
      return fail(Error::ptxVariable, token.position,
                  "only .global and .const variables can have initial values, but '", name,
                  "' is .", spellingOf(variable.space));
    TILEWRIGHT_TRY(advance());
    TILEWRIGHT_TRY(parseInitializer(variable));
  }
  return Status();
}

Status ParserState::parseDimensions(Variable &variable) {
  while (at('[')) {
    Position position = token.position;
    TILEWRIGHT_TRY(advance());
    uint64_t size = 0;
    if (!at(']')) {
      Constant constant;
      TILEWRIGHT_TRY(parseConstant(constant));
      if (constant.kind == NumberKind::f32 || constant.kind == NumberKind::f64 ||
          constant.bits >> 63)
        return fail(Error::ptxVariable, position, "a dimension must be an integer");
      size = constant.bits;
    } else if (!variable.dimensions.empty()) {
      return fail(Error::ptxVariable, position, "only the first dimension can be omitted");
    }
    TILEWRIGHT_TRY(expect(']', "after a dimension"));
    variable.dimensions.push_back(size);
  }
  uint64_t total = variable.elementSize();
  for (uint64_t size : variable.dimensions)
    if (__builtin_mul_overflow(total, std::max<uint64_t>(size, 1), &total) || total >> 48)
      return fail(Error::ptxVariable, variable.position, "'", module.name(variable.name),
                  "' exceeds the maximum size of 2^48 bytes");
  return Status();
}

Status ParserState::parseVariables(const Declaration &declaration) {
  if (!function && (declaration.space == Modifier::param || declaration.space == Modifier::reg))
    return fail(Error::ptxDirective, token.position, "'.", spellingOf(declaration.space),
                "' is allowed only in functions");
  while (true) {
    Variable variable;
    TILEWRIGHT_TRY(parseVariable(declaration, variable));
    uint32_t index = noIndex;
    TILEWRIGHT_TRY(declareVariable(std::move(variable), index));
    if (function) {
      function->variables.push_back(index);
      function->items.push_back({ItemKind::variable, index});
    } else {
      module.items.push_back({ModuleItemKind::variable, index});
    }
    if (!at(','))
      break;
    TILEWRIGHT_TRY(advance());
  }
  return expect(';', "after a declaration");
}

Status ParserState::declareVariable(Variable variable, uint32_t &index) {
  index = static_cast<uint32_t>(module.variables.size());
  variable.function = functionIndex;
  variable.scope = scope;
  Binding old = names.find(variable.name);
  if (!function && old.kind == BindingKind::symbol) {
    // A declaration and its definition may come in either order.
    Symbol &symbol = module.symbols[old.index];
    const Variable *before =
        symbol.kind == SymbolKind::variable ? &module.variables[symbol.index] : nullptr;
    bool declares = variable.linkage == Linkage::external;
    if (!before || (!declares && before->linkage != Linkage::external))
      return fail(Error::ptxRedefined, variable.position, "'", module.name(variable.name),
                  "' was already declared");
    if (before->type != variable.type || before->space != variable.space)
      return fail(Error::ptxRedefined, variable.position, "'", module.name(variable.name),
                  "' was already declared with another type or space");
    variable.symbol = old.index;
    if (!declares || before->linkage == Linkage::external)
      symbol.index = index;
    module.variables.push_back(std::move(variable));
    return Status();
  }
  variable.symbol = static_cast<uint32_t>(module.symbols.size());
  if (!names.add(variable.name, BindingKind::symbol, variable.symbol))
    return fail(Error::ptxRedefined, variable.position, "'", module.name(variable.name),
                "' was already declared in this scope");
  module.symbols.push_back({variable.name, SymbolKind::variable, index, noIndex});
  module.variables.push_back(std::move(variable));
  return Status();
}

Status ParserState::parseInitializer(Variable &variable) {
  variable.initialised = true;
  uint64_t offset = 0;
  if (variable.dimensions.empty() && variable.vector == 1)
    return parseInitializerValue(variable, 0);
  bool open = variable.isArray() && variable.dimensions[0] == 0;
  Position position = token.position;
  TILEWRIGHT_TRY(parseInitializerLevel(variable, 0, offset));
  if (open) {
    uint64_t inner = variable.elementSize();
    for (size_t i = 1; i < variable.dimensions.size(); ++i)
      inner *= variable.dimensions[i];
    if (inner == 0)
      return fail(Error::ptxVariable, position,
                  "the size of an array cannot be inferred from its values");
    variable.dimensions[0] = (variable.bytes.size() + inner - 1) / inner;
  } else if (variable.bytes.size() > variable.size()) {
    return fail(Error::ptxVariable, position, "the initializer of '", module.name(variable.name),
                "' has ", variable.bytes.size(), " bytes, but the variable has only ",
                variable.size());
  }
  return Status();
}

/// Parses `{ … }`. An inner brace begins at a multiple of the size of its row or vector.
Status ParserState::parseInitializerLevel(Variable &variable, size_t level, uint64_t &offset) {
  uint64_t scalar = (bitsOf(variable.type) + 7) / 8;
  uint64_t stride = variable.elementSize();
  if (level < variable.dimensions.size())
    for (size_t i = level + 1; i < variable.dimensions.size(); ++i)
      stride *= variable.dimensions[i];
  else
    stride = scalar;
  TILEWRIGHT_TRY(expect('{', "before initial values"));
  while (!at('}')) {
    if (at('{')) {
      if (level > variable.dimensions.size())
        return fail(Error::ptxVariable, token.position,
                    "braces are nested deeper than the array has dimensions");
      uint64_t inner = offset;
      TILEWRIGHT_TRY(parseInitializerLevel(variable, level + 1, inner));
      if (inner > offset + stride)
        return fail(Error::ptxVariable, token.position,
                    "a row has more initial values than elements");
      offset += stride;
    } else {
      TILEWRIGHT_TRY(parseInitializerValue(variable, offset));
      offset += scalar;
    }
    if (!at(','))
      break;
    TILEWRIGHT_TRY(advance());
  }
  return expect('}', "after initial values");
}

Status ParserState::parseInitializerValue(Variable &variable, uint64_t offset) {
  Position position = token.position;
  uint64_t width = (bitsOf(variable.type) + 7) / 8;
  if (width > 8)
    return fail(Error::ptxVariable, position,
                ".b128 variables cannot have initial values; use two .b64 elements");
  if (uint64_t end = offset + width; variable.bytes.size() < end) {
    initialTotal += end - variable.bytes.size();
    if (end > maxInitialBytes || initialTotal > maxInitialBytes)
      return fail(Error::ptxLimit, position, "initial values exceed ", maxInitialBytes, " bytes");
    variable.bytes.resize(end);
  }

  // An address: symbol, generic(symbol), or a masked one: 0xFF00(symbol).
  Relocation relocation;
  bool address = false;
  Constant constant;
  if (token.kind == TokenKind::identifier && token.text != "WARP_SZ") {
    address = true;
    if (token.text == "generic" && lexer.peek() == '(') {
      relocation.generic = true;
      TILEWRIGHT_TRY(advance());
      TILEWRIGHT_TRY(advance());
    }
  } else {
    TILEWRIGHT_TRY(parseConstant(constant));
    if (at('(')) {
      address = true;
      relocation.mask = constant.bits;
      TILEWRIGHT_TRY(advance());
      if (token.kind == TokenKind::identifier && token.text == "generic" && lexer.peek() == '(') {
        relocation.generic = true;
        TILEWRIGHT_TRY(advance());
        TILEWRIGHT_TRY(advance());
      }
    }
  }
  if (address) {
    std::string_view name;
    Position where = token.position;
    TILEWRIGHT_TRY(expectIdentifier("a variable or function", name));
    Binding binding = names.find(module.strings.find(name));
    if (binding.kind != BindingKind::symbol)
      return fail(Error::ptxUndefined, where, "'", name, "' is used before it is declared");
    relocation.symbol = binding.index;
    relocation.offset = offset;
    relocation.width = static_cast<uint8_t>(width);
    uint64_t addend = 0;
    bool closed = !relocation.generic;
    if (at(')') && relocation.generic) {
      TILEWRIGHT_TRY(advance());
      closed = true;
    }
    TILEWRIGHT_TRY(parseOffset(addend));
    relocation.addend = static_cast<int64_t>(addend);
    if (!closed)
      TILEWRIGHT_TRY(expect(')', "after generic(…"));
    if (relocation.mask)
      TILEWRIGHT_TRY(expect(')', "after a mask over an address"));
    if (!relocation.mask && width * 8 != module.addressSize && width != 4)
      return fail(Error::ptxVariable, position, "an address has ", module.addressSize,
                  " bits and does not fit in .", spellingOf(variable.type));
    variable.relocations.push_back(relocation);
    return Status();
  }

  uint64_t bits = constant.bits;
  bool isFloat = constant.kind == NumberKind::f32 || constant.kind == NumberKind::f64;
  double value = constant.kind == NumberKind::f32
                     ? double(std::bit_cast<float>(static_cast<uint32_t>(bits)))
                     : std::bit_cast<double>(bits);
  if (categoryOf(variable.type) == TypeCategory::floating) {
    if (!isFloat)
      value =
          constant.kind == NumberKind::integer ? double(static_cast<int64_t>(bits)) : double(bits);
    if (variable.type == Modifier::f64 && constant.kind != NumberKind::f64)
      bits = std::bit_cast<uint64_t>(value);
    else if (variable.type == Modifier::f32 && constant.kind != NumberKind::f32)
      bits = std::bit_cast<uint32_t>(static_cast<float>(value));
    else if (variable.type == Modifier::f16)
      return fail(Error::ptxVariable, position,
                  ".f16 variables cannot have initial values; use .b16");
  } else if (isFloat) {
    if (constant.kind == NumberKind::f64 && width != 8)
      return fail(Error::ptxVariable, position, "a float cannot be the initial value of .",
                  spellingOf(variable.type));
  }
  std::memcpy(variable.bytes.data() + offset, &bits, width);
  return Status();
}

} // namespace tilewright::vgpu::ptx
