// PJRT_NamedValue: lists of named values, read from the caller or owned by us.
#ifndef TILEWRIGHT_PLUGIN_OPTIONS_NAMEDVALUES_H
#define TILEWRIGHT_PLUGIN_OPTIONS_NAMEDVALUES_H

#include <xla/pjrt/c/pjrt_c_api.h>

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace tilewright::plugin {

using NamedValue = std::variant<std::string, int64_t, std::vector<int64_t>, float, bool>;

/// Owns a list of named values that is passed to callers, who keep pointers to its names and
/// values.
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
  struct OwnedValue {
    std::string name;
    NamedValue value;
  };
  std::deque<OwnedValue> owned;
  std::vector<PJRT_NamedValue> list;
};

/// A name and its value, copied from a list that the caller passed.
struct NamedOption {
  std::string name;
  NamedValue value;
};
std::vector<NamedOption> readNamedValues(const PJRT_NamedValue *values, size_t count);

/// A value as it would be written on a command line: "true", "4", "text".
std::string toText(const NamedValue &value);

} // namespace tilewright::plugin

#endif // TILEWRIGHT_PLUGIN_OPTIONS_NAMEDVALUES_H
