#include "tools/tilewright/PageText.h"

#include "tilewright/support/Concat.h"

#include <sstream>
#include <vector>

namespace tilewright::tools {
namespace {

struct Page {
  std::string_view id, text;
};

constexpr Page pages[] = {
#include "tools/tilewright/ErrorPages.inc"
};

/// The width of the text: escape sequences take no columns, and a non-ASCII character takes one.
size_t columnsOf(std::string_view text) {
  size_t columns = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\033')
      while (i < text.size() && text[i] != 'm')
        ++i;
    else if ((static_cast<unsigned char>(text[i]) & 0xC0) != 0x80)
      ++columns;
  }
  return columns;
}

/// Renders the inline markup of a paragraph: [words](link), **bold**, `code`.
std::string plain(std::string_view text, bool isTerminal) {
  std::string out;
  bool isBold = false, isCode = false;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '`') {
      isCode = !isCode;
      continue;
    }
    if (!isCode && text.substr(i, 2) == "**") {
      isBold = !isBold;
      if (isTerminal)
        out += isBold ? "\033[1m" : "\033[0m";
      ++i;
      continue;
    }
    const size_t middle = text.find("](", i), end = text.find(')', i);
    if (!isCode && text[i] == '[' && middle != text.npos && end != text.npos && middle < end &&
        text.find('[', i + 1) > middle) {
      out += plain(text.substr(i + 1, middle - i - 1), isTerminal);
      i = end;
      continue;
    }
    out += text[i];
  }
  return out;
}

std::string filled(const std::string &paragraph, size_t width) {
  std::istringstream words(paragraph);
  std::string out, line;
  for (std::string word; words >> word;) {
    if (!line.empty() && columnsOf(line) + 1 + columnsOf(word) > width) {
      out += line + "\n";
      line.clear();
    }
    line += line.empty() ? word : " " + word;
  }
  return out + line + "\n";
}

} // namespace

std::optional<std::string_view> errorPage(std::string_view id) {
  for (const Page &page : pages)
    if (page.id == id)
      return page.text;
  return std::nullopt;
}

std::string pageText(std::string_view markdown, bool isTerminal, size_t width) {
  std::istringstream lines{std::string(markdown)};
  std::string out, paragraph;
  bool isFenced = false;
  auto flush = [&] {
    if (!paragraph.empty())
      out += filled(plain(paragraph, isTerminal), width);
    paragraph.clear();
  };
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("```")) {
      flush();
      isFenced = !isFenced;
    } else if (isFenced) {
      out += "    " + line + "\n";
    } else if (line.empty()) {
      flush();
      out += "\n";
    } else if (line.starts_with("#")) {
      flush();
      const std::string title = plain(line.substr(line.find_first_not_of("# ")), false);
      out += isTerminal ? concat("\033[1m", title, "\033[0m\n")
                        : concat(title, "\n", std::string(columnsOf(title), '='), "\n");
    } else if (line.starts_with("    ") || line.starts_with("|")) {
      flush();
      out += (line.starts_with("|") ? plain(line, isTerminal) : line) + "\n";
    } else {
      if (line.starts_with("- ") || line.starts_with("* "))
        flush();
      paragraph += line + "\n";
    }
  }
  flush();
  return out;
}

} // namespace tilewright::tools
