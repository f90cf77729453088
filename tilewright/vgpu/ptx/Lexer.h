// Splits PTX text into tokens. Tokens are views into the text; nothing is copied.
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
  string, // text is without the quotes
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

/// Reads one token at a time. The text must outlive it.
class Lexer {
public:
  explicit Lexer(std::string_view text) : text(text) {}

  /// Reads the next token; at the end of the text always `end`.
  ///  - ptxToken: an invalid character, number, string or comment.
  Status next(Token &token);

  /// The next character that is not space or comment, without consuming it; 0 at the end.
  char peek();

  /// The character directly after the last token; 0 at the end.
  char follows() const { return at < text.size() ? text[at] : '\0'; }

  /// After an identifier: consumes the dotted words that follow without a gap and returns the whole
  /// head, "ld.global.v4.f32".
  std::string_view takeHead(std::string_view identifier);

  /// Consumes everything up to and including the brace that closes the last consumed brace.
  ///  - ptxSyntax: the brace is not closed.
  Status takeBraced(std::string_view &content, Position &end);
  /// The same for text in another language, of which only braces and strings are recognised.
  Status skipBraced();

  /// Whether the last token is in inline assembly, which LLVM delimits with comments.
  bool isInAssembly() const { return isAssembly; }

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
  bool isAssembly = false;
};

/// The prefix of every message: "line 3, column 7: ".
std::string describe(Position position);

/// A token as quoted in messages: "'add'" or "the end of the text".
std::string describe(const Token &token);

} // namespace tilewright::vgpu::ptx

#endif // TILEWRIGHT_VGPU_PTX_LEXER_H
