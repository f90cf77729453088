// Directives outside of functions, and helpers for all parts of the parser.
#include "tilewright/vgpu/ptx/Parser.h"
#include "tilewright/vgpu/ptx/ParserState.h"

#include <algorithm>
#include <charconv>

namespace tilewright::vgpu::ptx {

namespace {

constexpr unsigned architectures[] = {50, 52, 53, 60, 61,  62,  70,  72,  75,  80, 86,
                                      87, 88, 89, 90, 100, 101, 103, 110, 120, 121};

} // namespace

Result<Module> parse(std::string_view text) {
  constexpr size_t maxBytes = size_t(1) << 30;
  // cuModuleLoadData passes C strings, so the text ends at the first zero.
  text = text.substr(0, text.find('\0'));
  if (text.size() > maxBytes)
    return Status(Error::ptxLimit, concat("the text has ", text.size(),
                                          " bytes, more than the maximum of ", maxBytes));
  return ParserState(text).run();
}

Result<Module> ParserState::run() {
  TILEWRIGHT_TRY(advance());
  TILEWRIGHT_TRY(parseHeader());
  while (token.kind != TokenKind::end)
    TILEWRIGHT_TRY(parseTopLevel());
  nameInlinedFunctions();
  return std::move(module);
}

Status ParserState::expect(char punct, std::string_view after) {
  if (!at(punct))
    return fail(Error::ptxSyntax, token.position, "expected '", punct, "' ", after, ", got ",
                describe(token));
  return advance();
}

Status ParserState::expectIdentifier(std::string_view what, std::string_view &name) {
  if (token.kind != TokenKind::identifier)
    return fail(Error::ptxSyntax, token.position, "expected ", what, ", got ", describe(token));
  name = token.text;
  return advance();
}

Status ParserState::parseNumber(std::string_view what, uint32_t &number) {
  Position position = token.position;
  if (!atConstant())
    return fail(Error::ptxSyntax, position, "expected ", what, ", got ", describe(token));
  Constant constant;
  TILEWRIGHT_TRY(parseConstant(constant));
  if (constant.kind == NumberKind::f32 || constant.kind == NumberKind::f64 ||
      constant.bits > 0xffffffffu)
    return fail(Error::ptxConstant, position, what, " must be an integer below 2^32");
  number = static_cast<uint32_t>(constant.bits);
  return Status();
}

Status ParserState::parseHeader() {
  if (!token.isDotted("version"))
    return fail(Error::ptxSyntax, token.position,
                "expected '.version' at the beginning of a PTX module, as in '.version 8.0', got ",
                describe(token));
  TILEWRIGHT_TRY(advance());
  // The lexer reads "7.8" as a float; parse its text, which is exact.
  unsigned major = 0, minor = 0;
  size_t dot = token.text.find('.');
  if (token.kind != TokenKind::number || dot == token.text.npos || dot != 1 ||
      token.text.size() != 3)
    return fail(Error::ptxVersion, token.position, "expected a version such as '8.0', got ",
                describe(token));
  major = static_cast<unsigned>(token.text[0] - '0');
  minor = static_cast<unsigned>(token.text[2] - '0');
  module.version = major * 10 + minor;
  if (major < 6 || major > 9)
    return fail(Error::ptxVersion, token.position,
                "PTX ISA versions 6.0 to 9.9 are supported, got ", major, ".", minor);
  TILEWRIGHT_TRY(advance());
  if (!token.isDotted("target"))
    return fail(Error::ptxSyntax, token.position, "expected '.target' after '.version', got ",
                describe(token));
  TILEWRIGHT_TRY(parseTarget());
  if (token.isDotted("address_size")) {
    TILEWRIGHT_TRY(advance());
    Position position = token.position;
    uint32_t bits = 0;
    TILEWRIGHT_TRY(parseNumber("an address size", bits));
    if (bits != 32 && bits != 64)
      return fail(Error::ptxDirective, position, "addresses must have 32 or 64 bits, got ", bits);
    module.addressSize = bits;
  }
  return Status();
}

Status ParserState::parseTarget() {
  Position position = token.position;
  do {
    TILEWRIGHT_TRY(advance());
    position = token.position;
    std::string_view word;
    TILEWRIGHT_TRY(expectIdentifier("a target such as sm_90a", word));
    if (!word.starts_with("sm_")) {
      module.target.debug |= word == "debug";
      module.target.options.push_back(module.strings.intern(word));
      continue;
    }
    unsigned architecture = 0;
    auto [end, error] = std::from_chars(word.data() + 3, word.data() + word.size(), architecture);
    std::string_view suffix(end, static_cast<size_t>(word.data() + word.size() - end));
    bool known = error == std::errc() &&
                 std::find(std::begin(architectures), std::end(architectures), architecture) !=
                     std::end(architectures) &&
                 (suffix.empty() || ((suffix == "a" || suffix == "f") && architecture >= 90));
    if (!known || (suffix == "f" && architecture < 100))
      return fail(Error::ptxVersion, position, "unknown target '", word,
                  "'; known targets are sm_50 to sm_121, with the suffix 'a' allowed from sm_90 "
                  "and 'f' from sm_100");
    module.target.architecture = static_cast<uint16_t>(architecture);
    module.target.suffix = suffix.empty() ? 0 : suffix[0];
  } while (at(','));
  if (module.target.architecture == 0)
    return fail(Error::ptxVersion, position, "'.target' does not name a chip, such as sm_90a");
  return Status();
}

Status ParserState::parseTopLevel() {
  if (at(';'))
    return advance();
  if (token.kind != TokenKind::dotted)
    return fail(Error::ptxSyntax, token.position,
                "only directives, which begin with a dot, are allowed outside of functions, got ",
                describe(token));
  std::string_view word = token.text;
  if (word == "file")
    return parseFile();
  if (word == "section")
    return parseSection();
  if (word == "nv_intermediate_source_section") { // cuTile: the program in the tile compiler's IR
    TILEWRIGHT_TRY(advance());
    if (!at('{'))
      return fail(Error::ptxSyntax, token.position,
                  "expected '{' after '.nv_intermediate_source_section', got ", describe(token));
    TILEWRIGHT_TRY(lexer.skipBraced());
    return advance();
  }
  if (word == "alias")
    return parseAlias();
  if (word == "pragma") {
    StringId pragma = noString;
    TILEWRIGHT_TRY(parsePragma(pragma));
    module.items.push_back({ModuleItemKind::pragma, pragma});
    return Status();
  }
  if (word == "loc") {
    SourceLocation unused;
    return parseLocation(unused);
  }
  if (word == "version" || word == "target" || word == "address_size")
    return fail(Error::ptxDirective, token.position, "'.", word,
                "' is allowed only once, at the beginning");
  Declaration declaration;
  TILEWRIGHT_TRY(parseDeclaration(declaration));
  if (token.isDotted("entry") || token.isDotted("func"))
    return parseFunction(declaration, token.text == "entry");
  return parseVariables(declaration);
}

Status ParserState::parseFile() {
  TILEWRIGHT_TRY(advance());
  SourceFile file;
  TILEWRIGHT_TRY(parseNumber("a file number", file.number));
  if (token.kind != TokenKind::string)
    return fail(Error::ptxSyntax, token.position, "expected a file name in quotes, got ",
                describe(token));
  file.name = module.strings.intern(token.text);
  TILEWRIGHT_TRY(advance());
  for (std::optional<uint64_t> *number : {&file.timestamp, &file.size}) {
    if (!at(','))
      break;
    TILEWRIGHT_TRY(advance());
    Constant constant;
    TILEWRIGHT_TRY(parseConstant(constant));
    *number = constant.bits;
  }
  module.items.push_back({ModuleItemKind::file, static_cast<uint32_t>(module.files.size())});
  module.files.push_back(file);
  return Status();
}

Status ParserState::parseSection() {
  Section section;
  section.position = token.position;
  TILEWRIGHT_TRY(advance());
  if (token.kind != TokenKind::dotted && token.kind != TokenKind::identifier)
    return fail(Error::ptxSyntax, token.position, "expected a section's name, got ",
                describe(token));
  bool strings = token.text == "debug_str";
  section.name = module.strings.intern(token.kind == TokenKind::dotted ? concat(".", token.text)
                                                                       : std::string(token.text));
  TILEWRIGHT_TRY(advance());
  if (!at('{'))
    return fail(Error::ptxSyntax, token.position, "expected '{' after a section's name, got ",
                describe(token));
  std::string_view content;
  TILEWRIGHT_TRY(lexer.takeBraced(content, section.end));
  section.text = content;
  if (strings) {
    // Parse the names of inlined functions: `$L__info_string0: .b8 102, .b8 0`.
    Lexer inner(content);
    Token word;
    std::string label, bytes;
    while (inner.next(word).isOk() && word.kind != TokenKind::end) {
      if (word.kind == TokenKind::identifier) {
        label = word.text;
        bytes.clear();
      } else if (word.kind == TokenKind::number && !label.empty()) {
        if (word.value != 0) {
          bytes.push_back(static_cast<char>(word.value));
        } else {
          debugStrings.emplace(std::move(label), bytes);
          label.clear();
        }
      }
    }
  }
  module.items.push_back({ModuleItemKind::section, static_cast<uint32_t>(module.sections.size())});
  module.sections.push_back(std::move(section));
  return advance();
}

Status ParserState::parseAlias() {
  TILEWRIGHT_TRY(advance());
  uint32_t symbols[2] = {};
  for (unsigned i = 0; i < 2; ++i) {
    if (i == 1)
      TILEWRIGHT_TRY(expect(',', "between an alias and the function it stands for"));
    Position position = token.position;
    std::string_view name;
    TILEWRIGHT_TRY(expectIdentifier("a function's name", name));
    Binding binding = names.find(module.strings.find(name));
    if (binding.kind != BindingKind::symbol ||
        module.symbols[binding.index].kind != SymbolKind::function)
      return fail(Error::ptxUndefined, position, "'", name,
                  "' is not a previously declared function");
    symbols[i] = binding.index;
  }
  module.symbols[symbols[0]].aliasOf = symbols[1];
  module.items.push_back({ModuleItemKind::alias, symbols[0]});
  return expect(';', "after '.alias'");
}

Status ParserState::parsePragma(StringId &pragma) {
  TILEWRIGHT_TRY(advance());
  if (token.kind != TokenKind::string)
    return fail(Error::ptxSyntax, token.position, "expected a pragma in quotes, got ",
                describe(token));
  std::string joined(token.text);
  TILEWRIGHT_TRY(advance());
  while (at(',')) {
    TILEWRIGHT_TRY(advance());
    if (token.kind != TokenKind::string)
      return fail(Error::ptxSyntax, token.position, "expected a pragma in quotes, got ",
                  describe(token));
    joined += concat("\", \"", token.text);
    TILEWRIGHT_TRY(advance());
  }
  pragma = module.strings.intern(joined);
  return expect(';', "after '.pragma'");
}

Status ParserState::parseLocation(SourceLocation &location) {
  TILEWRIGHT_TRY(advance());
  TILEWRIGHT_TRY(parseNumber("a file number", location.file));
  TILEWRIGHT_TRY(parseNumber("a line number", location.line));
  TILEWRIGHT_TRY(parseNumber("a column number", location.column));
  while (at(',')) {
    TILEWRIGHT_TRY(advance());
    Position position = token.position;
    std::string_view word;
    TILEWRIGHT_TRY(expectIdentifier("'function_name' or 'inlined_at'", word));
    if (word == "function_name") {
      std::string_view label;
      TILEWRIGHT_TRY(expectIdentifier("a label", label));
      location.functionLabel = module.strings.intern(label);
      if (at('+')) {
        TILEWRIGHT_TRY(advance());
        TILEWRIGHT_TRY(parseNumber("an offset", location.functionOffset));
      }
    } else if (word == "inlined_at") {
      location.inlined = true;
      TILEWRIGHT_TRY(parseNumber("a file number", location.inlinedFile));
      TILEWRIGHT_TRY(parseNumber("a line number", location.inlinedLine));
      TILEWRIGHT_TRY(parseNumber("a column number", location.inlinedColumn));
    } else {
      return fail(Error::ptxSyntax, position,
                  "expected 'function_name' or 'inlined_at' in '.loc', got '", word, "'");
    }
  }
  return Status();
}

void ParserState::nameInlinedFunctions() {
  for (SourceLocation &location : module.locations) {
    if (location.functionLabel == noString)
      continue;
    auto found = debugStrings.find(std::string(module.name(location.functionLabel)));
    if (found != debugStrings.end())
      location.function = module.strings.intern(found->second);
  }
}

} // namespace tilewright::vgpu::ptx
