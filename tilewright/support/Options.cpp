#include "tilewright/support/Options.h"

#include "tilewright/support/Concat.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <vector>

namespace tilewright {
namespace {

/// One option seen from outside: its texts, and access to its field.
struct Row {
  std::string_view category, name, type, summary, paragraph;
  std::string (*get)(const Options &);
  bool (*set)(Options &, std::string_view);

  std::string fullName() const { return concat(category, ".", name); }
  std::string variable() const {
    std::string text = concat("TILEWRIGHT_", category, "_", name);
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
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size();
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

const std::vector<Row> &rows() {
  static const std::vector<Row> all = {
#define TILEWRIGHT_CATEGORY(category, summary)
#define TILEWRIGHT_CATEGORY_END(category)
#define TILEWRIGHT_OPTION(category, field, name, type, value, summary, paragraph)                  \
  {#category,                                                                                      \
   name,                                                                                           \
   #type,                                                                                          \
   summary,                                                                                        \
   paragraph,                                                                                      \
   [](const Options &options) { return print(options.category.field); },                           \
   [](Options &options, std::string_view text) { return parse(text, options.category.field); }},
#include "tilewright/support/Options.def"
  };
  return all;
}

size_t editDistance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j)
    row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = std::exchange(row[0], i);
    for (size_t j = 1; j <= b.size(); ++j)
      diagonal = std::exchange(
          row[j], std::min({row[j] + 1, row[j - 1] + 1, diagonal + (a[i - 1] != b[j - 1])}));
  }
  return row.back();
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
  const Row &nearest = *std::min_element(rows().begin(), rows().end(), [&](auto &a, auto &b) {
    return editDistance(a.fullName(), name) < editDistance(b.fullName(), name);
  });
  return Status(Error::optionUnknown, concat("no option is named '", name, "'; the nearest is '",
                                             nearest.fullName(), "' (", nearest.summary, ")"));
}

Status Options::setFromEnvironment() {
  // The one that everybody needs has a short name as well; the long one is stronger.
  if (const char *text = std::getenv("TILEWRIGHT_TARGET"))
    TILEWRIGHT_TRY(set("compile.target", text).during("reading TILEWRIGHT_TARGET"));
  for (const Row &row : rows())
    if (const char *text = std::getenv(row.variable().c_str()))
      TILEWRIGHT_TRY(set(row.fullName(), text).during(concat("reading ", row.variable())));
  return Status();
}

std::string Options::fingerprint() const {
  std::string text;
  for (const Row &row : rows())
    text += concat(row.fullName(), "=", row.get(*this), ";");
  return text;
}

std::string Options::reference() {
  struct Category {
    std::string_view name, summary;
  };
  static constexpr Category categories[] = {
#define TILEWRIGHT_CATEGORY(category, summary) {#category, summary},
#define TILEWRIGHT_OPTION(category, field, name, type, value, summary, paragraph)
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
        page += concat("\n### `", row.fullName(), "`\n\n", row.summary, ". ", row.paragraph,
                       "\n\nTakes ", describe(row.type), "; default `", row.get(Options()),
                       "`; variable `", row.variable(), "`.\n");
  }
  return page;
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
