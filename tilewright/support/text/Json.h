// JsonWriter: writes JSON as a stream of values.
#ifndef TILEWRIGHT_SUPPORT_TEXT_JSON_H
#define TILEWRIGHT_SUPPORT_TEXT_JSON_H

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>

namespace tilewright {

/// Writes JSON and inserts the commas. The caller must close what it opens.
///
///   JsonWriter json;
///   json.open('{').key("rank").number(3).key("names").open('[').text("a").close(']').close('}');
///   return std::move(json).take();
///
/// Strings: escapes quotes, backslashes and control characters; bytes above 127 are UTF-8 and stay
/// unchanged. Numbers: integers are exact, floating-point numbers have the fewest digits that read
/// back as the same value; JSON has no infinity and no NaN, so both become null. No spaces.
class JsonWriter {
public:
  JsonWriter &open(char bracket) {
    separate();
    out += bracket;
    isFirst = true;
    return *this;
  }
  JsonWriter &close(char bracket) {
    breakLine();
    out += bracket;
    isFirst = false;
    return *this;
  }
  JsonWriter &key(std::string_view name) {
    text(name);
    out += ':';
    isFirst = true; // the value follows without a comma
    return *this;
  }
  JsonWriter &text(std::string_view value);
  template <std::integral Number> JsonWriter &number(Number value) {
    separate();
    out += std::to_string(value);
    return *this;
  }
  JsonWriter &number(double value);
  /// Writes nanoseconds as microseconds, the unit of trace files.
  JsonWriter &microseconds(int64_t nanoseconds);
  JsonWriter &boolean(bool value) { return raw(value ? "true" : "false"); }
  /// Writes text that is already JSON: a value, or values with commas between them.
  JsonWriter &raw(std::string_view value) {
    separate();
    out += value;
    return *this;
  }
  /// The next value, closing bracket or the end is on a new line.
  JsonWriter &line() {
    isLineEnd = true;
    return *this;
  }
  std::string take() && {
    breakLine();
    return std::move(out);
  }
  /// The text so far, without a line break that line() has requested.
  const std::string &written() const { return out; }

private:
  void separate() {
    if (!isFirst)
      out += ',';
    isFirst = false;
    breakLine();
  }
  void breakLine() {
    if (isLineEnd)
      out += '\n';
    isLineEnd = false;
  }

  std::string out;
  bool isFirst = true, isLineEnd = false;
};

} // namespace tilewright

#endif // TILEWRIGHT_SUPPORT_TEXT_JSON_H
