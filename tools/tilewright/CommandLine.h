// Splits the command line into a subcommand's flags, options and files.
#ifndef TOOLS_TILEWRIGHT_COMMANDLINE_H
#define TOOLS_TILEWRIGHT_COMMANDLINE_H

#include "tilewright/support/Options.h"
#include "tilewright/support/Status.h"

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tilewright::tools {

/// A flag of one subcommand: `--name=VALUE` or `--name VALUE`, or `--name` alone where `value`
/// is empty. Flags with a dot in their name are options (Options.def).
struct Flag {
  std::string_view name;
  std::string_view value;
  std::string_view summary;
};

/// The arguments after a subcommand's name, checked against its flags.
///
///   TILEWRIGHT_ASSIGN(CommandLine line, CommandLine::parse(arguments, runFlags));
///   for (const std::string &input : line.all("input")) …
class CommandLine {
public:
  /// - flagUnknown: the name is neither a flag of the command nor an option.
  /// - flagValue: a value is missing, or was given to a flag that takes none.
  /// - optionUnknown, optionValue: as for Options::set.
  static Result<CommandLine> parse(std::span<const std::string_view> arguments,
                                   std::span<const Flag> flags);

  const std::vector<std::string> &files() const { return positional; }
  bool has(std::string_view flag) const { return !all(flag).empty(); }
  /// All values given for `flag`, in order; "" for a flag without a value.
  std::vector<std::string> all(std::string_view flag) const;
  /// The last value given for `flag`, or `otherwise`.
  std::string last(std::string_view flag, std::string_view otherwise = "") const;
  /// The options: first those of the environment, then those of the command line, which take
  /// precedence.
  const Options &options() const { return parsedOptions; }

private:
  std::vector<std::string> positional;
  std::vector<std::pair<std::string, std::string>> values;
  Options parsedOptions;
};

/// "  --input=FILE.npy    summary" for each flag.
std::string describe(std::span<const Flag> flags);

} // namespace tilewright::tools

#endif // TOOLS_TILEWRIGHT_COMMANDLINE_H
