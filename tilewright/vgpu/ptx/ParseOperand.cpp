// Operands and constant expressions.
#include "tilewright/vgpu/ptx/ParserState.h"

#include <bit>
#include <charconv>
#include <cstring>

namespace tilewright::vgpu::ptx {

namespace {

struct SpecialInfo {
  std::string_view spelling;
  Modifier type;
  uint8_t components;
  uint16_t version, architecture;
};

constexpr SpecialInfo specials[] = {
#define PTX_SPECIAL(name, spelling, type, components, ptx, sm)                                     \
  {spelling, Modifier::type, components, ptx, sm},
#include "tilewright/vgpu/ptx/SpecialRegisters.def"
};

/// The index of component .x, .y, .z, .w or .r, .g, .b, .a; 0xff for other words.
uint8_t componentOf(std::string_view word) {
  if (word.size() != 1)
    return Operand::noComponent;
  size_t at = std::string_view("xyzwrgba").find(word[0]);
  return at == std::string_view::npos ? Operand::noComponent : static_cast<uint8_t>(at % 4);
}

bool isFloat(const Constant &constant) {
  return constant.kind == NumberKind::f32 || constant.kind == NumberKind::f64;
}

struct BinaryOperator {
  std::string_view text;
  unsigned precedence; // higher binds closer
};
// Longer spellings come before their prefixes.
constexpr BinaryOperator binaryOperators[] = {
    {"||", 1}, {"&&", 2}, {"==", 6}, {"!=", 6}, {"<=", 7}, {">=", 7},
    {"<<", 8}, {">>", 8}, {"|", 3},  {"^", 4},  {"&", 5},  {"<", 7},
    {">", 7},  {"+", 9},  {"-", 9},  {"*", 10}, {"/", 10}, {"%", 10},
};

} // namespace

Modifier typeOfSpecial(SpecialRegister special) {
  return specials[static_cast<size_t>(special)].type;
}

std::string_view spellingOf(SpecialRegister special) {
  return specials[static_cast<size_t>(special)].spelling;
}

uint32_t ParserState::store(const Operand &operand) {
  uint32_t index = static_cast<uint32_t>(function->operands.size());
  if (operand.kind == OperandKind::label)
    pending.push_back({index, operand.index, scope});
  function->operands.push_back(operand);
  return index;
}

bool ParserState::findRegister(std::string_view name, uint32_t &reg) const {
  Binding best = names.find(module.strings.find(name));
  if (best.kind == BindingKind::reg)
    reg = best.index;
  else if (best.kind != BindingKind::none && best.depth > 0)
    return false; // a variable of this function
  // %r12 may be register 12 of %r<…>, or register 2 of %r1<…>.
  char prefix[64];
  for (size_t digits = name.size(); digits > 1 && digits < sizeof prefix;) {
    char c = name[digits - 1];
    if (c < '0' || c > '9')
      break;
    --digits;
    size_t length = name.size() - digits;
    if (length > 7 || (c == '0' && length > 1))
      continue; // numbers have no leading zeros
    std::memcpy(prefix, name.data(), digits);
    prefix[digits] = '<';
    uint32_t number = 0;
    std::from_chars(name.data() + digits, name.data() + name.size(), number);
    // An inner %r<3> hides %r0 to %r2 of an outer %r<9>, but not %r5.
    Binding binding = names.find(
        module.strings.find(std::string_view(prefix, digits + 1)),
        [&](const Binding &group) { return number < function->groups[group.index].count; });
    if (binding.kind == BindingKind::group && binding.depth > best.depth) {
      best = binding;
      best.kind = BindingKind::reg;
      reg = function->groups[binding.index].first + number;
    }
  }
  return best.kind == BindingKind::reg;
}

Status ParserState::parseSpecial(std::string_view name, Operand &operand, bool &found) {
  found = false;
  size_t index = 0;
  for (; index < std::size(specials); ++index) {
    if (name == specials[index].spelling)
      break;
    auto special = static_cast<SpecialRegister>(index);
    if ((special == SpecialRegister::pm || special == SpecialRegister::envreg) &&
        name.starts_with(specials[index].spelling)) {
      std::string_view digits = name.substr(specials[index].spelling.size());
      bool wide = special == SpecialRegister::pm && digits.ends_with("_64");
      if (wide)
        digits.remove_suffix(3);
      uint32_t number = 0;
      auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
      if (error == std::errc() && end == digits.data() + digits.size() && number < 32) {
        operand.value = number | (wide ? 0x100u : 0u);
        break;
      }
    }
  }
  if (index == std::size(specials))
    return Status();
  found = true;
  const SpecialInfo &info = specials[index];
  operand.kind = OperandKind::special;
  operand.index = static_cast<uint32_t>(index);
  if (info.architecture > module.target.architecture || info.version > module.version)
    return fail(Error::ptxRequirement, operand.position, "'", name, "' requires PTX ",
                info.version / 10, ".", info.version % 10, " and sm_", info.architecture,
                ", but the module has version ", module.version / 10, ".", module.version % 10,
                " and target sm_", module.target.architecture);
  if (info.components > 1) {
    if (token.kind != TokenKind::dotted || componentOf(token.text) == Operand::noComponent)
      return fail(Error::ptxSyntax, token.position, "'", name,
                  "' is a vector; expected .x, .y or .z after it, got ", describe(token));
    operand.component = componentOf(token.text);
    TILEWRIGHT_TRY(advance());
  }
  return Status();
}

bool ParserState::atConstant() const {
  return token.kind == TokenKind::number || at('-') || at('+') || at('~') || at('(') || at('!') ||
         (token.kind == TokenKind::identifier && token.text == "WARP_SZ");
}

Status ParserState::parseOperand(Operand &operand, unsigned depth) {
  operand.position = token.position;
  if (at('[') && depth == 0)
    return parseAddress(operand);
  if (at('{') && depth < 2)
    return parseBraced(operand, '}', OperandKind::vector, depth);
  if (at('(') && depth == 0)
    return parseParenthesized(operand);
  if (at('!')) {
    TILEWRIGHT_TRY(advance());
    if (token.kind == TokenKind::identifier && token.text != "WARP_SZ") {
      TILEWRIGHT_TRY(parseName(operand));
      operand.negated = true;
      return Status();
    }
    Constant constant;
    TILEWRIGHT_TRY(parseUnary(constant, 0));
    operand.kind = OperandKind::immediate;
    operand.value = constant.bits == 0;
    return Status();
  }
  if (atConstant()) {
    Constant constant;
    TILEWRIGHT_TRY(parseConstant(constant));
    operand.kind = OperandKind::immediate;
    operand.number = constant.kind;
    operand.value = constant.bits;
    return Status();
  }
  TILEWRIGHT_TRY(parseName(operand));
  if (at('|') && depth == 0) {
    Operand second;
    TILEWRIGHT_TRY(advance());
    second.position = token.position;
    TILEWRIGHT_TRY(parseName(second));
    Operand pair;
    pair.position = operand.position;
    pair.kind = OperandKind::pair;
    pair.first = store(operand);
    pair.count = 2;
    store(second);
    operand = pair;
  }
  return Status();
}

/// `(a, b)` of a call, or a constant expression.
Status ParserState::parseParenthesized(Operand &operand) {
  if (inCall)
    return parseBraced(operand, ')', OperandKind::list, 1);
  Constant constant;
  TILEWRIGHT_TRY(parseConstant(constant));
  operand.kind = OperandKind::immediate;
  operand.number = constant.kind;
  operand.value = constant.bits;
  return Status();
}

Status ParserState::parseBraced(Operand &operand, char close, OperandKind kind, unsigned depth) {
  operand.kind = kind;
  TILEWRIGHT_TRY(advance());
  std::vector<Operand> elements;
  while (!at(close)) {
    if (elements.size() == 0xffff)
      return fail(Error::ptxLimit, token.position, "a list has too many elements");
    TILEWRIGHT_TRY(parseOperand(elements.emplace_back(), depth + 1));
    if (!at(','))
      break;
    TILEWRIGHT_TRY(advance());
  }
  if (!at(close))
    return fail(Error::ptxSyntax, token.position, "expected ',' or '", close, "', got ",
                describe(token));
  operand.first = static_cast<uint32_t>(function->operands.size());
  operand.count = static_cast<uint32_t>(elements.size());
  for (const Operand &element : elements)
    store(element);
  return advance();
}

Status ParserState::parseAddress(Operand &operand) {
  operand.kind = OperandKind::address;
  TILEWRIGHT_TRY(advance());
  Operand base;
  base.position = token.position;
  if (atConstant()) {
    Constant constant;
    TILEWRIGHT_TRY(parseConstant(constant));
    if (isFloat(constant))
      return fail(Error::ptxOperandKind, base.position, "an address cannot be a float");
    base.kind = OperandKind::immediate;
    base.number = NumberKind::unsignedInteger;
    base.value = constant.bits;
  } else {
    TILEWRIGHT_TRY(parseName(base));
    if (base.kind == OperandKind::symbol) {
      operand.value = base.value;
      base.value = 0;
    }
    if (base.kind == OperandKind::reg)
      TILEWRIGHT_TRY(parseOffset(operand.value));
    if (base.kind == OperandKind::label)
      return fail(Error::ptxUndefined, base.position, "'", module.name(base.index),
                  "' is neither a register nor a variable that is declared here");
    if (base.kind != OperandKind::reg && base.kind != OperandKind::symbol)
      return fail(Error::ptxOperandKind, base.position,
                  "an address must begin with a register, a variable or a number");
  }
  std::vector<Operand> coordinates;
  if (at(',')) {
    TILEWRIGHT_TRY(advance());
    if (!at('{'))
      return fail(Error::ptxSyntax, token.position,
                  "expected '{' before the coordinates of a tensor, got ", describe(token));
    do {
      TILEWRIGHT_TRY(advance());
      if (coordinates.size() == 16)
        return fail(Error::ptxOperandKind, token.position,
                    "a tensor can have at most 5 coordinates");
      TILEWRIGHT_TRY(parseOperand(coordinates.emplace_back(), 2));
    } while (at(','));
    TILEWRIGHT_TRY(expect('}', "after coordinates"));
    operand.kind = OperandKind::tensor;
  }
  TILEWRIGHT_TRY(expect(']', "after an address"));
  if (token.isDotted("unified")) {
    operand.unified = true;
    TILEWRIGHT_TRY(advance());
  }
  operand.first = store(base);
  operand.count = 1 + static_cast<uint32_t>(coordinates.size());
  for (const Operand &coordinate : coordinates)
    store(coordinate);
  return Status();
}

Status ParserState::parseOffset(uint64_t &offset) {
  while (at('+') || at('-')) {
    bool minus = at('-');
    TILEWRIGHT_TRY(advance());
    Position position = token.position;
    Constant constant;
    TILEWRIGHT_TRY(parseBinary(constant, 10, 0));
    if (isFloat(constant))
      return fail(Error::ptxConstant, position, "an offset must be an integer");
    offset += minus ? 0 - constant.bits : constant.bits;
  }
  return Status();
}

Status ParserState::parseName(Operand &operand) {
  operand.position = token.position;
  if (token.kind != TokenKind::identifier)
    return fail(Error::ptxSyntax, token.position, "expected an operand, got ", describe(token));
  std::string_view name = token.text;
  TILEWRIGHT_TRY(advance());
  if (name == "_") {
    operand.kind = OperandKind::sink;
    return Status();
  }
  if (findRegister(name, operand.index)) {
    operand.kind = OperandKind::reg;
    unsigned length = function->registers[operand.index].vector;
    if (token.kind == TokenKind::dotted && length > 1) {
      operand.component = componentOf(token.text);
      if (operand.component >= length)
        return fail(Error::ptxOperandKind, token.position, "'", name, "' has ", length,
                    " elements, so it has no ", describe(token));
      TILEWRIGHT_TRY(advance());
    }
    return Status();
  }
  if (name.front() == '%') {
    bool found = false;
    TILEWRIGHT_TRY(parseSpecial(name, operand, found));
    if (!found)
      return fail(Error::ptxUndefined, operand.position, "the register '", name,
                  "' is neither declared here nor a special register of PTX");
    return Status();
  }
  Binding binding = names.find(module.strings.find(name));
  if (binding.kind == BindingKind::symbol) {
    operand.kind = OperandKind::symbol;
    operand.index = binding.index;
    return parseOffset(operand.value);
  }
  // A label, or an undefined name: decided at the end of the function.
  operand.kind = OperandKind::label;
  operand.index = module.strings.intern(name);
  return Status();
}

Status ParserState::parseConstant(Constant &constant, unsigned depth) {
  TILEWRIGHT_TRY(parseBinary(constant, 1, depth));
  if (!at('?'))
    return Status();
  TILEWRIGHT_TRY(advance());
  if (depth > maxDepth)
    return fail(Error::ptxLimit, token.position, "a constant is nested too deeply");
  Constant yes, no;
  TILEWRIGHT_TRY(parseConstant(yes, depth + 1));
  TILEWRIGHT_TRY(expect(':', "between the two values of a choice"));
  TILEWRIGHT_TRY(parseConstant(no, depth + 1));
  constant = constant.bits != 0 ? yes : no;
  return Status();
}

Status ParserState::parseBinary(Constant &left, unsigned precedence, unsigned depth) {
  TILEWRIGHT_TRY(parseUnary(left, depth));
  while (token.kind == TokenKind::punct) {
    char first = token.text[0];
    char second =
        first == '|' || first == '&' || first == '=' || first == '!' || first == '<' || first == '>'
            ? lexer.follows()
            : '\0';
    const BinaryOperator *found = nullptr;
    for (const BinaryOperator &candidate : binaryOperators) {
      if (candidate.text[0] == first &&
          (candidate.text.size() == 1 || candidate.text[1] == second)) {
        found = &candidate;
        break;
      }
    }
    if (!found || found->precedence < precedence)
      return Status();
    Position position = token.position;
    TILEWRIGHT_TRY(advance());
    if (found->text.size() == 2)
      TILEWRIGHT_TRY(advance());
    Constant right;
    TILEWRIGHT_TRY(parseBinary(right, found->precedence + 1, depth));
    if (isFloat(left) || isFloat(right))
      return fail(Error::ptxConstant, position, "'", found->text,
                  "' is not defined for float constants");
    TILEWRIGHT_TRY(combine(left, found->text, right, position));
  }
  return Status();
}

Status ParserState::combine(Constant &left, std::string_view op, const Constant &right,
                            Position position) const {
  bool isUnsigned =
      left.kind == NumberKind::unsignedInteger || right.kind == NumberKind::unsignedInteger;
  uint64_t a = left.bits, b = right.bits;
  auto sa = static_cast<int64_t>(a), sb = static_cast<int64_t>(b);
  NumberKind kind = isUnsigned ? NumberKind::unsignedInteger : NumberKind::integer;
  auto truth = [&](bool value) {
    left = {NumberKind::integer, value ? 1u : 0u};
    return Status();
  };
  if (op == "||")
    return truth(a || b);
  if (op == "&&")
    return truth(a && b);
  if (op == "==")
    return truth(a == b);
  if (op == "!=")
    return truth(a != b);
  if (op == "<")
    return truth(isUnsigned ? a < b : sa < sb);
  if (op == "<=")
    return truth(isUnsigned ? a <= b : sa <= sb);
  if (op == ">")
    return truth(isUnsigned ? a > b : sa > sb);
  if (op == ">=")
    return truth(isUnsigned ? a >= b : sa >= sb);
  if (op == "/" || op == "%") {
    if (b == 0)
      return fail(Error::ptxConstant, position, "division by zero in a constant");
    bool divide = op == "/";
    if (isUnsigned)
      left.bits = divide ? a / b : a % b;
    else if (sb == -1) // the only case in which the quotient may overflow
      left.bits = divide ? 0 - a : 0;
    else
      left.bits = static_cast<uint64_t>(divide ? sa / sb : sa % sb);
  } else if (op == "<<") {
    kind = left.kind;
    left.bits = b < 64 ? a << b : 0;
  } else if (op == ">>") {
    kind = left.kind;
    if (left.kind == NumberKind::unsignedInteger)
      left.bits = b < 64 ? a >> b : 0;
    else
      left.bits = static_cast<uint64_t>(sa >> (b < 63 ? b : 63));
  } else {
    left.bits = op == "|"   ? a | b
                : op == "^" ? a ^ b
                : op == "&" ? a & b
                : op == "+" ? a + b
                : op == "-" ? a - b
                            : a * b;
  }
  left.kind = kind;
  return Status();
}

Status ParserState::parseUnary(Constant &constant, unsigned depth) {
  Position position = token.position;
  if (depth > maxDepth)
    return fail(Error::ptxLimit, position, "a constant is nested deeper than ", maxDepth);
  if (at('-') || at('+') || at('~') || at('!')) {
    char op = token.text[0];
    TILEWRIGHT_TRY(advance());
    TILEWRIGHT_TRY(parseUnary(constant, depth + 1));
    if (op == '-' && constant.kind == NumberKind::f32)
      constant.bits ^= 0x80000000u;
    else if (op == '-' && constant.kind == NumberKind::f64)
      constant.bits ^= uint64_t(1) << 63;
    else if (isFloat(constant) && op != '+')
      return fail(Error::ptxConstant, position, "'", op, "' is not defined for floats");
    else if (op == '-')
      constant = {NumberKind::integer, 0 - constant.bits};
    else if (op == '~')
      constant.bits = ~constant.bits;
    else if (op == '!')
      constant = {NumberKind::integer, constant.bits == 0};
    return Status();
  }
  if (at('(')) {
    TILEWRIGHT_TRY(advance());
    if (token.isDotted("s64") || token.isDotted("u64")) {
      NumberKind kind = token.text == "s64" ? NumberKind::integer : NumberKind::unsignedInteger;
      TILEWRIGHT_TRY(advance());
      TILEWRIGHT_TRY(expect(')', "after a cast"));
      TILEWRIGHT_TRY(parseUnary(constant, depth + 1));
      if (isFloat(constant))
        return fail(Error::ptxConstant, position, "a float cannot be cast in a constant");
      constant.kind = kind;
      return Status();
    }
    TILEWRIGHT_TRY(parseConstant(constant, depth + 1));
    return expect(')', "in a constant");
  }
  if (token.kind == TokenKind::number) {
    constant = {token.number, token.value};
    return advance();
  }
  if (token.kind == TokenKind::identifier && token.text == "WARP_SZ") {
    constant = {NumberKind::integer, 32};
    return advance();
  }
  return fail(Error::ptxSyntax, position, "expected a constant, got ", describe(token));
}

} // namespace tilewright::vgpu::ptx
