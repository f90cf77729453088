#include "tools/tilewright/CommandLine.h"

#include "tilewright/support/Concat.h"
#include "tilewright/support/OptionNames.h"
#include "tilewright/support/text/Suggest.h"

#include <algorithm>

namespace tilewright::tools {

/// Looks up a flag by name.
static Result<const Flag *> flagNamed(std::string_view name, std::span<const Flag> flags) {
  auto flag = std::ranges::find(flags, name, &Flag::name);
  if (flag != flags.end())
    return &*flag;
  std::string known;
  std::vector<std::string> names;
  for (const Flag &candidate : flags) {
    names.push_back(concat("--", candidate.name));
    known += concat(known.empty() ? "" : ", ", names.back());
  }
  const std::string given = concat("--", name);
  return Status(Error::flagUnknown,
                concat("unknown flag '", given, "'", didYouMean(given, names),
                       " (this command takes ", known, known.empty() ? "" : " and ",
                       "the options listed by `tilewright options`)"));
}

Result<CommandLine> CommandLine::parse(std::span<const std::string_view> arguments,
                                       std::span<const Flag> flags) {
  CommandLine line;
  TILEWRIGHT_TRY(line.parsedOptions.setFromEnvironment());
  for (size_t i = 0; i < arguments.size(); ++i) {
    const std::string_view argument = arguments[i];
    if (!argument.starts_with("--")) {
      line.positional.emplace_back(argument);
      continue;
    }
    const std::string_view body = argument.substr(2);
    const size_t equals = body.find('=');
    const bool hasValue = equals != body.npos;
    const std::string_view name = body.substr(0, equals);
    std::string_view value = hasValue ? body.substr(equals + 1) : "";
    // A value may also be the next word: --input b.npy.
    const bool hasNext = i + 1 < arguments.size() && !arguments[i + 1].starts_with("--");
    if (name.find('.') != name.npos) {
      if (!hasValue && isSwitch(name))
        value = "true";
      else if (!hasValue && hasNext)
        value = arguments[++i];
      TILEWRIGHT_TRY(line.parsedOptions.set(name, value));
      continue;
    }
    TILEWRIGHT_ASSIGN(const Flag *flag, flagNamed(name, flags));
    if (flag->value.empty() && hasValue)
      return Status(Error::flagValue, concat("--", name, " takes no value"));
    if (!flag->value.empty() && !hasValue) {
      if (!hasNext)
        return Status(Error::flagValue,
                      concat("--", name, " requires a value: --", name, "=", flag->value));
      value = arguments[++i];
    }
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
