// PJRT_NamedValue: names with values, read and owned.
#ifndef TILEWRIGHT_PLUGIN_NAMEDVALUES_H
#define TILEWRIGHT_PLUGIN_NAMEDVALUES_H

#include <xla/pjrt/c/pjrt_c_api.h>

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace tilewright::plugin {

using NamedValue = std::variant<std::string, int64_t, std::vector<int64_t>, float, bool>;

/// A list that callers hold pointers into: what was added keeps its address.
///
///   attributes.add("stablehlo_current_version", std::vector<int64_t>{1, 17, 0});
///   args->attributes = attributes.data();
class NamedValues {
public:
  NamedValues() = default;
  NamedValues(const NamedValues &) = delete;
  NamedValues &operator=(const NamedValues &) = delete;

  void add(std::string name, NamedValue value);
  const PJRT_NamedValue *data() const { return list.data(); }
  size_t size() const { return list.size(); }

private:
  struct Entry {
    std::string name;
    NamedValue value;
  };
  std::deque<Entry> entries;
  std::vector<PJRT_NamedValue> list;
};

/// The values of a list that the caller passed, by name.
struct NamedOption {
  std::string name;
  NamedValue value;
};
std::vector<NamedOption> readNamedValues(const PJRT_NamedValue *values, size_t count);

/// A value as it would be written on a command line: "true", "4", "text".
std::string toText(const NamedValue &value);

} // namespace tilewright::plugin

#endif // TILEWRIGHT_PLUGIN_NAMEDVALUES_H
