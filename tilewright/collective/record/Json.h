// JsonWriter: a streaming JSON writer.
#ifndef TILEWRIGHT_COLLECTIVE_RECORD_JSON_H
#define TILEWRIGHT_COLLECTIVE_RECORD_JSON_H

#include "tilewright/support/Json.h"

#include <cstdio>
#include <string>
#include <string_view>

namespace tilewright::collective::record {

/// Writes JSON and inserts the commas. The caller must close what it opens.
///
///   json.open('{').key("rank").number(3).close('}');
class JsonWriter {
public:
  JsonWriter &open(char bracket) {
    separate();
    out += bracket;
    isFirst = true;
    return *this;
  }
  JsonWriter &close(char bracket) {
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
  JsonWriter &text(std::string_view value) {
    separate();
    appendQuoted(out, value);
    return *this;
  }
  template <typename Number> JsonWriter &number(Number value) {
    separate();
    out += std::to_string(value);
    return *this;
  }
  /// Writes nanoseconds as microseconds, the unit of trace files.
  JsonWriter &microseconds(int64_t nanoseconds) {
    separate();
    char digits[48];
    std::snprintf(
        digits, sizeof digits, "%s%lld.%03d", nanoseconds < 0 ? "-" : "",
        static_cast<long long>(nanoseconds < 0 ? -(nanoseconds / 1000) : nanoseconds / 1000),
        static_cast<int>((nanoseconds < 0 ? -nanoseconds : nanoseconds) % 1000));
    out += digits;
    return *this;
  }
  JsonWriter &boolean(bool value) {
    separate();
    out += value ? "true" : "false";
    return *this;
  }
  /// Writes text that is already JSON.
  JsonWriter &raw(std::string_view value) {
    separate();
    out += value;
    return *this;
  }
  JsonWriter &line() {
    out += '\n';
    return *this;
  }
  std::string take() && { return std::move(out); }

private:
  void separate() {
    if (!isFirst)
      out += ',';
    isFirst = false;
  }
  std::string out;
  bool isFirst = true;
};

} // namespace tilewright::collective::record

#endif // TILEWRIGHT_COLLECTIVE_RECORD_JSON_H
