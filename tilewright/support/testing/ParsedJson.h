// For tests: JSON that a program wrote, read again.
#ifndef TILEWRIGHT_SUPPORT_TESTING_PARSEDJSON_H
#define TILEWRIGHT_SUPPORT_TESTING_PARSEDJSON_H

#include <cctype>
#include <map>
#include <string>

namespace tilewright {

/// A minimal JSON parser that checks the syntax and finds values: "a.b[0].c".
class ParsedJson {
public:
  explicit ParsedJson(std::string text) : text(std::move(text)) {}
  bool parse() {
    at = 0;
    values.clear();
    return value("") && (space(), at == text.size());
  }
  std::map<std::string, std::string> values; // of numbers and strings

private:
  void space() {
    while (at < text.size() && std::isspace(static_cast<unsigned char>(text[at])))
      ++at;
  }
  bool take(char c) {
    space();
    if (at >= text.size() || text[at] != c)
      return false;
    ++at;
    return true;
  }
  bool string(std::string &into) {
    if (!take('"'))
      return false;
    while (at < text.size() && text[at] != '"') {
      if (static_cast<unsigned char>(text[at]) < 0x20)
        return false;
      if (text[at] == '\\')
        ++at;
      into += text[at++];
    }
    return take('"');
  }
  bool value(const std::string &path) {
    space();
    if (at >= text.size())
      return false;
    if (text[at] == '{') {
      ++at;
      for (bool isFirst = true; !take('}'); isFirst = false) {
        std::string name;
        if ((!isFirst && !take(',')) || !string(name) || !take(':') || !value(path + "." + name))
          return false;
      }
      return true;
    }
    if (text[at] == '[') {
      ++at;
      for (int i = 0; !take(']'); ++i)
        if ((i != 0 && !take(',')) || !value(path + "[" + std::to_string(i) + "]"))
          return false;
      return true;
    }
    if (text[at] == '"')
      return string(values[path]);
    const size_t begin = at;
    while (at < text.size() &&
           (std::isdigit(static_cast<unsigned char>(text[at])) || text[at] == '-'))
      ++at;
    values[path] = text.substr(begin, at - begin);
    return at != begin;
  }
  std::string text;
  size_t at = 0;
};

} // namespace tilewright

#endif // TILEWRIGHT_SUPPORT_TESTING_PARSEDJSON_H
