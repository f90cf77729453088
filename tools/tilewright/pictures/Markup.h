// Escapes text for SVG and HTML.
#ifndef TOOLS_TILEWRIGHT_PICTURES_MARKUP_H
#define TOOLS_TILEWRIGHT_PICTURES_MARKUP_H

#include <string>
#include <string_view>

namespace tilewright::tools {

/// Replaces characters with a special meaning in markup; control characters become blanks.
inline std::string escaped(std::string_view text) {
  std::string out;
  for (char c : text) {
    if (c == '<')
      out += "&lt;";
    else if (c == '>')
      out += "&gt;";
    else if (c == '&')
      out += "&amp;";
    else if (c == '"')
      out += "&quot;";
    else
      out += static_cast<unsigned char>(c) < 0x20 && c != '\n' ? ' ' : c;
  }
  return out;
}

} // namespace tilewright::tools

#endif // TOOLS_TILEWRIGHT_PICTURES_MARKUP_H
