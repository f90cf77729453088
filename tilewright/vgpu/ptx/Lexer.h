// PTX text as tokens. Tokens are views into the text; nothing is copied.
#ifndef TILEWRIGHT_VGPU_PTX_LEXER_H
#define TILEWRIGHT_VGPU_PTX_LEXER_H

#include "tilewright/support/Status.h"
#include "tilewright/vgpu/ptx/Module.h"

#include <string_view>

namespace tilewright::vgpu::ptx {

enum class TokenKind : uint8_t {
  end,
  identifier, // add, %r1, $L__BB0_1, _
  dotted,     // .global, .shared::cta, .2d; text is without the dot
  number,
  string, // text is what stands between the quotes
  punct,  // one character, in `text`
};

struct Token {
  TokenKind kind = TokenKind::end;
  NumberKind number = NumberKind::integer;
  std::string_view text;
  uint64_t value = 0; // bits of a number
  Position position;

  bool is(char punct) const { return kind == TokenKind::punct && text[0] == punct; }
  bool isDotted(std::string_view word) const { return kind == TokenKind::dotted && text == word; }
};

/// Reads one token at a time. The text outlives it.
class Lexer {
public:
  explicit Lexer(std::string_view text) : text(text) {}

  /// The next token; `end` again and again after the last.
  ///  - ptxToken: a character, number, string or comment that cannot be read.
  Status next(Token &token);

  /// The next character that is not space or comment, without taking it; 0 at
  /// the end.
  char peek();

  /// The character right behind the last token; 0 at the end.
  char follows() const { return at < text.size() ? text[at] : '\0'; }

  /// After an identifier: takes the dotted words that follow without a gap and
  /// returns the whole head, "ld.global.v4.f32".
  std::string_view takeHead(std::string_view identifier);

  /// Takes everything up to the brace that closes the one just taken, and it.
  ///  - ptxSyntax: there is none.
  Status takeBraced(std::string_view &content, Position &end);

  Position position() const { return {line, static_cast<uint32_t>(at - lineStart + 1)}; }

private:
  Status skipSpace();
  Status readNumber(Token &token);
  Status readString(Token &token);
  Status fail(Position position, std::string_view what) const;

  std::string_view text;
  size_t at = 0;
  size_t lineStart = 0;
  uint32_t line = 1;
};

/// "line 3, column 7: ", what every message begins with.
std::string describe(Position position);

/// A token for a message: "'add'" or "the end of the text".
std::string describe(const Token &token);

} // namespace tilewright::vgpu::ptx

#endif // TILEWRIGHT_VGPU_PTX_LEXER_H
