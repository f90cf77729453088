#include "tilewright/vgpu/ptx/Lexer.h"

#include "tilewright/support/Concat.h"

#include <array>
#include <bit>
#include <charconv>
#include <cstdlib>

namespace tilewright::vgpu::ptx {

namespace {

enum : uint8_t { isSpace = 1, isWord = 2, isStart = 4, isDigit = 8, isHex = 16 };

constexpr std::array<uint8_t, 256> classes = [] {
  std::array<uint8_t, 256> table{};
  for (char c : {' ', '\t', '\r', '\n', '\v', '\f'})
    table[static_cast<uint8_t>(c)] = isSpace;
  for (int c = 'a'; c <= 'z'; ++c) {
    table[c] = isWord | isStart;
    table[c - 'a' + 'A'] = isWord | isStart;
  }
  for (int c = '0'; c <= '9'; ++c)
    table[c] = isWord | isDigit | isHex;
  for (int c = 'a'; c <= 'f'; ++c) {
    table[c] |= isHex;
    table[c - 'a' + 'A'] |= isHex;
  }
  table['_'] = isWord | isStart;
  table['$'] = isWord | isStart;
  table['%'] = isStart;
  return table;
}();

bool is(char c, uint8_t mask) { return classes[static_cast<uint8_t>(c)] & mask; }

/// The end of the dotted words that begin at `at`, just after a dot, such as "shared::cta".
size_t dottedEnd(std::string_view text, size_t at) {
  while (true) {
    while (at < text.size() && is(text[at], isWord))
      ++at;
    if (at + 2 >= text.size() || text[at] != ':' || text[at + 1] != ':' ||
        !is(text[at + 2], isWord))
      return at;
    at += 2;
  }
}

} // namespace

std::string describe(Position position) {
  return concat("line ", position.line, ", column ", position.column, ": ");
}

std::string describe(const Token &token) {
  switch (token.kind) {
  case TokenKind::end:
    return "the end of the text";
  case TokenKind::dotted:
    return concat("'.", token.text.substr(0, 60), "'");
  case TokenKind::string:
    return concat("\"", token.text.substr(0, 60), "\"");
  default:
    return concat("'", token.text.substr(0, 60), "'");
  }
}

Status Lexer::fail(Position position, std::string_view what) const {
  return Status(Error::ptxToken, concat(describe(position), what));
}

Status Lexer::skipSpace() {
  while (at < text.size()) {
    char c = text[at];
    if (c == '\n') {
      ++at;
      ++line;
      lineStart = at;
    } else if (is(c, isSpace)) {
      ++at;
    } else if (c == '/' && at + 1 < text.size() && text[at + 1] == '/') {
      const size_t end = std::min(text.find('\n', at), text.size());
      const std::string_view comment = text.substr(at, end - at);
      if (comment.starts_with("// begin inline asm"))
        isAssembly = true;
      else if (comment.starts_with("// end inline asm"))
        isAssembly = false;
      at = end;
    } else if (c == '/' && at + 1 < text.size() && text[at + 1] == '*') {
      Position begin = position();
      size_t close = text.find("*/", at + 2);
      if (close == text.npos)
        return fail(begin, "unterminated comment: '/*' without '*/'");
      for (; at < close + 2; ++at) {
        if (text[at] == '\n') {
          ++line;
          lineStart = at + 1;
        }
      }
    } else if (c == '#' && text.substr(lineStart, at - lineStart).find_first_not_of(" \t") ==
                               std::string_view::npos) {
      // A line that a preprocessor left, such as `# 12 "kernel.cu"`.
      at = std::min(text.find('\n', at), text.size());
    } else {
      break;
    }
  }
  return Status();
}

char Lexer::peek() {
  // An unterminated comment is reported when the next token is read.
  if (!skipSpace().isOk())
    return '/';
  return at < text.size() ? text[at] : '\0';
}

std::string_view Lexer::takeHead(std::string_view identifier) {
  size_t begin = static_cast<size_t>(identifier.data() - text.data());
  size_t end = begin + identifier.size();
  while (end + 1 < text.size() && text[end] == '.' && is(text[end + 1], isWord))
    end = dottedEnd(text, end + 1);
  at = std::max(at, end);
  return text.substr(begin, end - begin);
}

Status Lexer::takeBraced(std::string_view &content, Position &end) {
  Position begin = position();
  size_t first = at;
  unsigned depth = 1;
  Token token;
  while (true) {
    TILEWRIGHT_TRY(next(token));
    if (token.kind == TokenKind::end)
      return Status(Error::ptxSyntax, concat(describe(begin), "unmatched '{'"));
    if (token.is('{'))
      ++depth;
    if (token.is('}') && --depth == 0)
      break;
  }
  content = text.substr(first, at - 1 - first);
  end = token.position;
  return Status();
}

Status Lexer::skipBraced() {
  const Position begin = position();
  bool isInString = false;
  for (unsigned depth = 1; at < text.size();) {
    const char c = text[at++];
    if (c == '\n') {
      ++line;
      lineStart = at;
    }
    if (c == '"')
      isInString = !isInString;
    if (isInString)
      continue;
    if (c == '{')
      ++depth;
    if (c == '}' && --depth == 0)
      return Status();
  }
  return Status(Error::ptxSyntax, concat(describe(begin), "unmatched '{'"));
}

Status Lexer::next(Token &token) {
  TILEWRIGHT_TRY(skipSpace());
  token.position = position();
  token.value = 0;
  if (at >= text.size()) {
    token.kind = TokenKind::end;
    token.text = {};
    return Status();
  }
  size_t begin = at;
  char c = text[at];
  if (is(c, isStart)) {
    ++at;
    while (at < text.size() && is(text[at], isWord))
      ++at;
    token.kind = at - begin == 1 && c == '%' ? TokenKind::punct : TokenKind::identifier;
  } else if (c == '.' && at + 1 < text.size() && is(text[at + 1], isWord)) {
    at = dottedEnd(text, at + 1);
    token.kind = TokenKind::dotted;
    token.text = text.substr(begin + 1, at - begin - 1);
    return Status();
  } else if (is(c, isDigit)) {
    return readNumber(token);
  } else if (c == '"') {
    return readString(token);
  } else if (c > ' ' && c < 0x7f) {
    ++at;
    token.kind = TokenKind::punct;
  } else {
    return fail(token.position, concat("the byte ", int(static_cast<uint8_t>(c)),
                                       " is not allowed in PTX outside of comments and strings"));
  }
  token.text = text.substr(begin, at - begin);
  return Status();
}

Status Lexer::readString(Token &token) {
  size_t begin = ++at;
  while (at < text.size() && text[at] != '"' && text[at] != '\n')
    at += text[at] == '\\' && at + 1 < text.size() && text[at + 1] != '\n' ? 2 : 1;
  if (at >= text.size() || text[at] != '"')
    return fail(token.position, "unterminated string; a string must end on the line it begins on");
  token.kind = TokenKind::string;
  token.text = text.substr(begin, at - begin);
  ++at;
  return Status();
}

Status Lexer::readNumber(Token &token) {
  size_t begin = at;
  token.kind = TokenKind::number;
  token.number = NumberKind::integer;
  char second = at + 1 < text.size() ? text[at + 1] : '\0';
  bool zero = text[at] == '0';
  int base = 10;
  // 0f3F800000 and 0d3FF0000000000000: the bits of a float.
  if (zero && (second == 'f' || second == 'F' || second == 'd' || second == 'D')) {
    bool single = second == 'f' || second == 'F';
    size_t digits = single ? 8 : 16;
    at += 2;
    size_t first = at;
    while (at < text.size() && is(text[at], isHex))
      ++at;
    token.text = text.substr(begin, at - begin);
    if (at - first != digits || (at < text.size() && is(text[at], isWord)))
      return fail(token.position,
                  concat("expected ", digits, " hexadecimal digits after ", token.text.substr(0, 2),
                         ", got '", token.text.substr(0, 60), "'"));
    std::from_chars(text.data() + first, text.data() + at, token.value, 16);
    token.number = single ? NumberKind::f32 : NumberKind::f64;
    return Status();
  }
  if (zero && (second == 'x' || second == 'X')) {
    base = 16;
    at += 2;
  } else if (zero && (second == 'b' || second == 'B')) {
    base = 2;
    at += 2;
  }
  size_t first = at;
  while (at < text.size() && is(text[at], base == 16 ? isHex : isDigit))
    ++at;
  if (base == 10 && at + 1 < text.size() &&
      ((text[at] == '.' && is(text[at + 1], isDigit)) || text[at] == 'e' || text[at] == 'E')) {
    if (text[at] == '.') {
      ++at;
      while (at < text.size() && is(text[at], isDigit))
        ++at;
    }
    if (at < text.size() && (text[at] == 'e' || text[at] == 'E')) {
      ++at;
      if (at < text.size() && (text[at] == '+' || text[at] == '-'))
        ++at;
      while (at < text.size() && is(text[at], isDigit))
        ++at;
    }
    token.text = text.substr(begin, at - begin);
    double value = 0;
    auto [end, error] =
        std::from_chars(token.text.data(), token.text.data() + token.text.size(), value);
    if (end != token.text.data() + token.text.size() ||
        (error != std::errc() && error != std::errc::result_out_of_range))
      return fail(token.position, concat("'", token.text.substr(0, 60), "' is not a number"));
    token.number = NumberKind::f64;
    token.value = std::bit_cast<uint64_t>(value);
    return Status();
  }
  if (base == 10 && zero && at - first > 1)
    base = 8;
  auto [end, error] = std::from_chars(text.data() + first, text.data() + at, token.value, base);
  bool whole = first < at && end == text.data() + at && error == std::errc();
  if (at < text.size() && text[at] == 'U') {
    ++at;
    token.number = NumberKind::unsignedInteger;
  }
  token.text = text.substr(begin, at - begin);
  if (!whole || (at < text.size() && is(text[at], isWord)))
    return fail(token.position,
                concat("'", token.text.substr(0, 60),
                       error == std::errc::result_out_of_range
                           ? "' does not fit in 64 bits"
                           : "' is not a PTX number; expected decimal, 0x, 0b, octal, 0f or 0d"));
  if (token.value >> 63)
    token.number = NumberKind::unsignedInteger;
  return Status();
}

} // namespace tilewright::vgpu::ptx
