// Escapes the values of a summary, so that each fits on one line.
#include "tilewright/vgpu/driver/observe/Summary.h"

namespace tilewright::vgpu::driver {

std::string escaped(std::string_view text) {
  std::string out;
  for (char c : text)
    if (c == '\n')
      out += "\\n";
    else if (c == '\t')
      out += "\\t";
    else if (c == '\\')
      out += "\\\\";
    else
      out += c;
  return out;
}

std::string unescaped(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i)
    if (text[i] == '\\' && i + 1 < text.size()) {
      const char c = text[++i];
      out += c == 'n' ? '\n' : c == 't' ? '\t' : c;
    } else {
      out += text[i];
    }
  return out;
}

} // namespace tilewright::vgpu::driver
