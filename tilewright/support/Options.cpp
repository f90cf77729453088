#include "tilewright/support/Options.h"

#include "tilewright/support/Concat.h"
#include "tilewright/support/OptionNames.h"
#include "tilewright/support/text/Number.h"
#include "tilewright/support/text/Suggest.h"

#include <algorithm>
#include <cstdlib>
#include <vector>

namespace tilewright {
namespace {

constexpr std::string_view prefix = "TILEWRIGHT_";

/// The description of one option, and access to its field.
struct Row {
  std::string_view category, name, effect, type, summary, paragraph;
  std::string (*get)(const Options &);
  bool (*set)(Options &, std::string_view);

  std::string fullName() const { return concat(category, ".", name); }
  std::string variable() const {
    std::string text = concat(prefix, category, "_", name);
    for (char &c : text)
      c = c == '-' ? '_' : static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    return text;
  }
};

[[maybe_unused]] bool parse(std::string_view text, bool &value) {
  if (text != "true" && text != "false")
    return false;
  value = text == "true";
  return true;
}
bool parse(std::string_view text, int64_t &value) {
  const std::optional<int64_t> number = numberIn<int64_t>(text);
  value = number.value_or(value);
  return number.has_value();
}
[[maybe_unused]] bool parse(std::string_view text, std::string &value) {
  value = text;
  return true;
}

[[maybe_unused]] std::string print(bool value) { return value ? "true" : "false"; }
std::string print(int64_t value) { return std::to_string(value); }
[[maybe_unused]] std::string print(const std::string &value) { return value; }

std::string_view describe(std::string_view type) {
  if (type == "bool")
    return "true or false";
  if (type == "int64_t")
    return "a whole number";
  return "text";
}

std::string_view meaningOf(std::string_view effect) {
  if (effect == "code")
    return "what is compiled";
  if (effect == "run")
    return "how programs run";
  return "neither code nor results";
}

const std::vector<Row> &rows() {
  static const std::vector<Row> all = {
#define TILEWRIGHT_CATEGORY(category, summary)
#define TILEWRIGHT_CATEGORY_END(category)
#define TILEWRIGHT_OPTION(category, field, name, effect, type, value, summary, paragraph)          \
  {#category,                                                                                      \
   name,                                                                                           \
   #effect,                                                                                        \
   #type,                                                                                          \
   summary,                                                                                        \
   paragraph,                                                                                      \
   [](const Options &options) { return print(options.category.field); },                           \
   [](Options &options, std::string_view text) { return parse(text, options.category.field); }},
#include "tilewright/support/Options.def"
  };
  return all;
}

std::vector<std::string> fullNames() {
  std::vector<std::string> names;
  for (const Row &row : rows())
    names.push_back(row.fullName());
  return names;
}

} // namespace

Status Options::set(std::string_view name, std::string_view value) {
  for (const Row &row : rows()) {
    if (row.fullName() != name)
      continue;
    if (!row.set(*this, value))
      return Status(Error::optionValue, concat(name, " takes ", describe(row.type), ", got '",
                                               value, "'; the default is ", row.get(Options())));
    return Status();
  }
  const std::optional<std::string> meant = suggestionFor(name, fullNames());
  auto nearest = std::ranges::find_if(rows(), [&](auto &row) { return row.fullName() == meant; });
  return Status(Error::optionUnknown,
                concat("unknown option '", name, "'",
                       nearest == rows().end()
                           ? "; `tilewright options` lists all options"
                           : concat("; did you mean '", *meant, "' (", nearest->summary, ")?")));
}

bool isSwitch(std::string_view name) {
  return std::ranges::any_of(
      rows(), [&](const Row &row) { return row.type == "bool" && row.fullName() == name; });
}

Status Options::setFromEnvironment() {
  // The most common option also has a short variable; the long one takes precedence.
  if (const char *text = std::getenv("TILEWRIGHT_TARGET"))
    TILEWRIGHT_TRY(set("compile.target", text).during("reading TILEWRIGHT_TARGET"));
  for (const Row &row : rows())
    if (const char *text = std::getenv(row.variable().c_str()))
      TILEWRIGHT_TRY(set(row.fullName(), text).during(concat("reading ", row.variable())));
  return Status();
}

std::vector<std::string> misspeltVariables(const char *const *environment) {
  std::vector<std::string> known = {
#define TILEWRIGHT_VARIABLE(name, summary) name,
#include "tilewright/support/Variables.def"
  };
  std::vector<std::string> prefixes;
  for (const Row &row : rows()) {
    known.push_back(row.variable());
    prefixes.push_back(row.variable().substr(0, row.variable().find('_', prefix.size()) + 1));
  }
  std::vector<std::string> warnings;
  for (; environment && *environment; ++environment) {
    const std::string_view entry = *environment;
    const std::string name(entry.substr(0, entry.find('=')));
    if (!name.starts_with(prefix) || std::ranges::find(known, name) != known.end())
      continue;
    // Compare without the common prefix, which would make all names look similar.
    std::vector<std::string> tails;
    for (const std::string &one : known)
      tails.push_back(one.substr(prefix.size()));
    const auto meant = suggestionFor(std::string_view(name).substr(prefix.size()), tails);
    const bool isOption = std::ranges::any_of(
        prefixes, [&](const std::string &category) { return name.starts_with(category); });
    if (meant)
      warnings.push_back(
          concat("the variable ", name, " is ignored; did you mean ", prefix, *meant, "?"));
    else if (isOption)
      warnings.push_back(concat(
          "the variable ", name,
          " is ignored: no option has this variable; `tilewright options` lists all options"));
  }
  return warnings;
}

std::string Options::codeKey() const {
  std::string text;
  for (const Row &row : rows())
    if (row.effect == "code")
      text += concat(row.fullName(), "=", row.get(*this), ";");
  return text;
}

std::vector<std::string> Options::changed() const {
  std::vector<std::string> texts;
  for (const Row &row : rows())
    if (std::string value = row.get(*this); value != row.get(Options()))
      texts.push_back(concat(row.fullName(), "=", value));
  return texts;
}

std::string Options::reference() {
  struct Category {
    std::string_view name, summary;
  };
  static constexpr Category categories[] = {
#define TILEWRIGHT_CATEGORY(category, summary) {#category, summary},
#define TILEWRIGHT_OPTION(category, field, name, effect, type, value, summary, paragraph)
#define TILEWRIGHT_CATEGORY_END(category)
#include "tilewright/support/Options.def"
  };
  std::string page =
      "# Options\n\n"
      "Made from `tilewright/support/Options.def` by `tilewright options`; a test keeps it true.\n"
      "Set one with `--name=value` or with its variable.\n";
  for (const Category &category : categories) {
    page += concat("\n## ", category.name, ": ", category.summary, "\n");
    for (const Row &row : rows())
      if (row.category == category.name)
        page +=
            concat("\n### `", row.fullName(), "`\n\n", row.summary, ". ", row.paragraph,
                   "\n\nTakes ", describe(row.type), "; default `", row.get(Options()),
                   "`; variable `", row.variable(), "`; changes ", meaningOf(row.effect), ".\n");
  }
  return page;
}

std::string Options::pythonTable() {
  auto pythonType = [](std::string_view type) {
    return type == "bool" ? "bool" : type == "int64_t" ? "int" : "str";
  };
  std::string text =
      "# Made from tilewright/support/Options.def by `tilewright options --python`.\n"
      "# ruff: noqa: E501\n"
      "\"\"\"Every option of Tilewright as a field: runtime.memory-limit is "
      "runtime_memory_limit.\"\"\"\n\n"
      "import dataclasses\n\n\n"
      "@dataclasses.dataclass(frozen=True, kw_only=True)\n"
      "class OptionTable:\n"
      "    \"\"\"None leaves an option to the environment, and then to its default.\"\"\"\n\n";
  std::string names = "\n\nNAMES = {\n";
  for (const Row &row : rows()) {
    std::string field = concat(row.category, "_", row.name);
    std::ranges::replace(field, '-', '_');
    text += concat("    ", field, ": ", pythonType(row.type), " | None = None\n    \"\"\"",
                   row.summary, "; changes ", meaningOf(row.effect), ".\"\"\"\n");
    names += concat("    \"", field, "\": \"", row.fullName(), "\",\n");
  }
  return concat(text, names, "}\n\"\"\"The dotted name of each field.\"\"\"\n");
}

std::string describeOptions(std::string_view part) {
  std::string text;
  for (const Row &row : rows())
    if (row.fullName().find(part) != std::string::npos)
      text += concat(row.fullName(), "\n    ", row.summary, ". ", row.paragraph, "\n    Takes ",
                     describe(row.type), "; default ",
                     row.get(Options()).empty() ? "empty" : row.get(Options()), "; variable ",
                     row.variable(), ".\n\n");
  return text;
}

std::string Options::help() {
  std::string text;
  for (const Row &row : rows()) {
    std::string left = concat("  --", row.fullName(), "=", row.get(Options()));
    left.resize(std::max(left.size() + 2, size_t(46)), ' ');
    text += concat(left, row.summary, "\n");
  }
  return text;
}

} // namespace tilewright
