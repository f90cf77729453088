#include "tools/tilewright/CommandLine.h"

#include "tilewright/support/Concat.h"

#include <algorithm>

namespace tilewright::tools {

static Status setFlag(std::string_view name, bool hasValue, std::span<const Flag> flags) {
  auto flag = std::ranges::find(flags, name, &Flag::name);
  if (flag == flags.end()) {
    std::string known;
    for (const Flag &candidate : flags)
      known += concat(known.empty() ? "" : ", ", "--", candidate.name);
    return Status(Error::flagUnknown,
                  concat("no flag is named '--", name, "'; this command takes ", known,
                         " and the options that `tilewright options` lists"));
  }
  if (flag->value.empty() && hasValue)
    return Status(Error::flagValue, concat("--", name, " takes no value; write it alone"));
  if (!flag->value.empty() && !hasValue)
    return Status(Error::flagValue,
                  concat("--", name, " needs a value: --", name, "=", flag->value));
  return Status();
}

Result<CommandLine> CommandLine::parse(std::span<const std::string_view> arguments,
                                       std::span<const Flag> flags) {
  CommandLine line;
  TILEWRIGHT_TRY(line.parsedOptions.setFromEnvironment());
  for (std::string_view argument : arguments) {
    if (!argument.starts_with("--")) {
      line.positional.emplace_back(argument);
      continue;
    }
    std::string_view body = argument.substr(2);
    size_t equals = body.find('=');
    bool hasValue = equals != body.npos;
    std::string_view name = body.substr(0, equals);
    std::string_view value = hasValue ? body.substr(equals + 1) : "";
    if (name.find('.') != name.npos) {
      TILEWRIGHT_TRY(line.parsedOptions.set(name, value));
      continue;
    }
    TILEWRIGHT_TRY(setFlag(name, hasValue, flags));
    line.values.emplace_back(name, value);
  }
  return line;
}

std::vector<std::string> CommandLine::all(std::string_view flag) const {
  std::vector<std::string> found;
  for (const auto &[name, value] : values)
    if (name == flag)
      found.push_back(value);
  return found;
}

std::string CommandLine::last(std::string_view flag, std::string_view otherwise) const {
  std::vector<std::string> found = all(flag);
  return found.empty() ? std::string(otherwise) : found.back();
}

std::string describe(std::span<const Flag> flags) {
  std::string text;
  for (const Flag &flag : flags) {
    std::string left = concat("  --", flag.name, flag.value.empty() ? "" : "=", flag.value);
    left.resize(std::max(left.size() + 2, size_t(28)), ' ');
    text += concat(left, flag.summary, "\n");
  }
  return text;
}

} // namespace tilewright::tools
