// All options, by category. Options.def lists them; this header generates plain structs, a parser,
// a reference page and a fingerprint from it.
#ifndef TILEWRIGHT_SUPPORT_OPTIONS_H
#define TILEWRIGHT_SUPPORT_OPTIONS_H

#include "tilewright/support/Status.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tilewright {

/// All options with their values. Plain data: options belong to one compile or one run and are
/// passed to it, so nothing reads the environment without the caller's knowledge.
///
///   Options options;
///   TILEWRIGHT_TRY(options.setFromEnvironment());
///   TILEWRIGHT_TRY(options.set("import.max-rank", "8"));
struct Options {
#define TILEWRIGHT_CATEGORY(category, summary) struct category##_options {
#define TILEWRIGHT_OPTION(category, field, name, effect, type, value, summary, paragraph)          \
  type field = value;
#define TILEWRIGHT_CATEGORY_END(category)                                                          \
  bool operator==(const category##_options &) const = default;                                     \
  }                                                                                                \
  category;
#include "tilewright/support/Options.def"

  /// Sets one option by its dotted name. The error for an unknown name suggests the nearest one.
  ///  - optionUnknown: no such option.
  ///  - optionValue: the text is not a value of the option's type.
  Status set(std::string_view name, std::string_view value);

  /// Applies every TILEWRIGHT_<CATEGORY>_<NAME> variable that is set.
  Status setFromEnvironment();

  /// The options that affect the generated code, as "import.max-rank=64;…" in a fixed order, for
  /// the key of the compile cache.
  std::string codeKey() const;

  /// "import.max-rank=8" for each option that does not have its default value.
  std::vector<std::string> changed() const;

  /// The text of docs/reference/options.md; a test compares the file with it.
  static std::string reference();
  /// The text of python/tilewright/option_table.py; a test compares the file with it.
  static std::string pythonTable();
  /// The options as lines for --help.
  static std::string help();

  bool operator==(const Options &) const = default;
};

using ImportOptions = Options::import_options;
using CompileOptions = Options::compile_options;
using InterpretOptions = Options::interpret_options;
using SimplifyOptions = Options::simplify_options;
using CommunicateOptions = Options::communicate_options;
using FuseOptions = Options::fuse_options;
using RuntimeOptions = Options::runtime_options;
using TraceOptions = Options::trace_options;

} // namespace tilewright

#endif // TILEWRIGHT_SUPPORT_OPTIONS_H
