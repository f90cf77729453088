#include "tilewright/plugin/options/NamedValues.h"

#include "tilewright/support/Concat.h"

namespace tilewright::plugin {

void NamedValues::add(std::string name, NamedValue value) {
  const OwnedValue &entry = owned.emplace_back(OwnedValue{std::move(name), std::move(value)});
  PJRT_NamedValue out = {};
  out.struct_size = PJRT_NamedValue_STRUCT_SIZE;
  out.name = entry.name.data();
  out.name_size = entry.name.size();
  out.value_size = 1;
  if (auto *text = std::get_if<std::string>(&entry.value)) {
    out.type = PJRT_NamedValue_kString;
    out.string_value = text->data();
    out.value_size = text->size();
  } else if (auto *number = std::get_if<int64_t>(&entry.value)) {
    out.type = PJRT_NamedValue_kInt64;
    out.int64_value = *number;
  } else if (auto *numbers = std::get_if<std::vector<int64_t>>(&entry.value)) {
    out.type = PJRT_NamedValue_kInt64List;
    out.int64_array_value = numbers->data();
    out.value_size = numbers->size();
  } else if (auto *real = std::get_if<float>(&entry.value)) {
    out.type = PJRT_NamedValue_kFloat;
    out.float_value = *real;
  } else {
    out.type = PJRT_NamedValue_kBool;
    out.bool_value = std::get<bool>(entry.value);
  }
  list.push_back(out);
}

std::vector<NamedOption> readNamedValues(const PJRT_NamedValue *values, size_t count) {
  std::vector<NamedOption> options;
  for (size_t i = 0; values && i < count; ++i) {
    const PJRT_NamedValue &in = values[i];
    NamedOption &option = options.emplace_back();
    option.name.assign(in.name, in.name_size);
    switch (in.type) {
    case PJRT_NamedValue_kString:
      option.value = std::string(in.string_value, in.value_size);
      break;
    case PJRT_NamedValue_kInt64:
      option.value = in.int64_value;
      break;
    case PJRT_NamedValue_kInt64List:
      option.value =
          std::vector<int64_t>(in.int64_array_value, in.int64_array_value + in.value_size);
      break;
    case PJRT_NamedValue_kFloat:
      option.value = in.float_value;
      break;
    case PJRT_NamedValue_kBool:
      option.value = in.bool_value;
      break;
    }
  }
  return options;
}

std::string toText(const NamedValue &value) {
  return std::visit(
      [](const auto &content) {
        if constexpr (std::is_same_v<std::decay_t<decltype(content)>, std::vector<int64_t>>)
          return listed(content);
        else
          return concat(content);
      },
      value);
}

} // namespace tilewright::plugin
