// Renders pages of the documentation for a terminal.
#ifndef TOOLS_TILEWRIGHT_PAGETEXT_H
#define TOOLS_TILEWRIGHT_PAGETEXT_H

#include <optional>
#include <string>
#include <string_view>

namespace tilewright::tools {

/// The page of an error, docs/errors/<id>.md, as it was at build time.
std::optional<std::string_view> errorPage(std::string_view id);

/// Renders Markdown as plain text of `width` columns. Paragraphs are filled, the title is
/// underlined, links are replaced by their text, and indented blocks and tables are unchanged. With
/// `isTerminal`, titles and **words** are bold.
std::string pageText(std::string_view markdown, bool isTerminal, size_t width = 90);

} // namespace tilewright::tools

#endif // TOOLS_TILEWRIGHT_PAGETEXT_H
