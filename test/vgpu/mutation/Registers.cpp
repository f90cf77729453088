#include "Registers.h"

#include <algorithm>
#include <cctype>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <sstream>
#include <utility>
#include <vector>

namespace tilewright::vgpu::mutation {

namespace {
struct Line {
  std::set<std::string> words;
  std::set<std::string> operands; // of a wgmma: its registers, which are in braces
  bool isProduct = false, isFence = false, isCommit = false, isEnd = false, isGuarded = false;
  int leaves = -1;    // of wgmma.wait_group
  std::string target; // of a branch
};

bool isPartOfName(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) || c == '%' || c == '_' || c == '$';
}

Line read(const std::string &text) {
  Line line;
  auto has = [&](const char *part) { return text.find(part) != std::string::npos; };
  line.isProduct = has("wgmma.mma_async");
  line.isFence = has("wgmma.fence");
  line.isCommit = has("wgmma.commit_group");
  line.isGuarded = has("@");
  std::vector<std::string> words;
  std::string word;
  int depth = 0;
  for (const char c : text + " ") {
    if (isPartOfName(c)) {
      word += c;
      continue;
    }
    if (!word.empty()) {
      words.push_back(word);
      line.words.insert(word);
      if (depth > 0 && word[0] == '%')
        line.operands.insert(word);
      word.clear();
    }
    depth += c == '{' ? 1 : c == '}' ? -1 : 0;
  }
  if (!line.isProduct)
    line.operands.clear();
  if (has("wgmma.wait_group"))
    line.leaves = words.empty() ? 0 : std::atoi(words.back().c_str());
  if (line.words.count("bra"))
    line.target = words.back();
  line.isEnd = line.words.count("ret") || line.words.count("exit");
  return line;
}

/// The lines of a kernel and where its branches lead.
class Kernel {
public:
  explicit Kernel(const std::string &text) {
    std::istringstream in(text);
    for (std::string one; std::getline(in, one);) {
      const size_t start = one.find_first_not_of(" \t"), colon = one.find(':');
      if (start != std::string::npos && colon != std::string::npos &&
          std::all_of(one.begin() + static_cast<std::ptrdiff_t>(start),
                      one.begin() + static_cast<std::ptrdiff_t>(colon), isPartOfName) &&
          one.compare(colon, 2, "::") != 0)
        labels[one.substr(start, colon - start)].push_back(lines.size());
      // Declarations and directives name registers but do not access them.
      lines.push_back(start != std::string::npos && one[start] == '.' ? Line() : read(one));
    }
  }

  /// The lines that can follow line `at`. Without a value: it branches to an unknown label.
  std::optional<std::vector<size_t>> after(size_t at) const {
    const Line &line = lines[at];
    std::vector<size_t> next;
    if (!line.target.empty()) {
      auto found = labels.find(line.target);
      if (found == labels.end())
        return std::nullopt;
      // Scopes may have labels of the same name: the nearest is in the branch's own scope.
      auto distance = [&](size_t label) { return label < at ? at - label : label - at; };
      next.push_back(
          *std::min_element(found->second.begin(), found->second.end(),
                            [&](size_t a, size_t b) { return distance(a) < distance(b); }));
    }
    if ((line.target.empty() && !line.isEnd) || line.isGuarded)
      next.push_back(at + 1);
    return next;
  }

  std::vector<Line> lines;

private:
  std::map<std::string, std::vector<size_t>> labels;
};

bool namesOneOf(const Line &line, const std::set<std::string> &registers) {
  return std::any_of(registers.begin(), registers.end(),
                     [&](const std::string &name) { return line.words.count(name) != 0; });
}

/// Whether no instruction names the registers of the wgmma at `product` before a wait for it.
bool rest(const Kernel &kernel, size_t product) {
  constexpr int open = -1, enough = 8; // not committed; more groups than waits leave pending
  std::set<std::pair<size_t, int>> seen;
  std::vector<std::pair<size_t, int>> todo{{product + 1, open}};
  while (!todo.empty()) {
    auto [at, behind] = todo.back();
    todo.pop_back();
    if (at >= kernel.lines.size() || !seen.emplace(at, behind).second)
      continue;
    const Line &line = kernel.lines[at];
    if (line.leaves >= 0 && behind >= line.leaves)
      continue; // the product has completed
    if (!line.isProduct && namesOneOf(line, kernel.lines[product].operands))
      return false;
    if (line.isEnd && !line.isGuarded)
      return false; // the kernel ends before the product has completed
    if (line.isCommit)
      behind = std::min(behind + 1, enough);
    const std::optional<std::vector<size_t>> next = kernel.after(at);
    if (!next)
      return false;
    for (const size_t one : *next)
      todo.emplace_back(one, behind);
  }
  return true;
}

/// Whether a wgmma.fence comes before any wgmma with one of these registers, on every path from
/// line `from`.
bool areFenced(const Kernel &kernel, const std::set<std::string> &registers, size_t from) {
  std::set<size_t> seen;
  std::vector<size_t> todo{from};
  while (!todo.empty()) {
    const size_t at = todo.back();
    todo.pop_back();
    if (at >= kernel.lines.size() || !seen.insert(at).second || kernel.lines[at].isFence)
      continue;
    if (kernel.lines[at].isProduct && namesOneOf(kernel.lines[at], registers))
      return false;
    const std::optional<std::vector<size_t>> next = kernel.after(at);
    if (!next)
      return false;
    todo.insert(todo.end(), next->begin(), next->end());
  }
  return true;
}
} // namespace

bool registersRestUntilWaits(const std::string &text) {
  const Kernel kernel(text);
  for (size_t i = 0; i < kernel.lines.size(); ++i)
    if (kernel.lines[i].isProduct && !rest(kernel, i))
      return false;
  return true;
}

bool registersAreFenced(const std::string &text) {
  const Kernel kernel(text);
  std::set<std::string> all;
  for (const Line &line : kernel.lines)
    all.insert(line.operands.begin(), line.operands.end());
  if (!areFenced(kernel, all, 0))
    return false;
  for (size_t i = 0; i < kernel.lines.size(); ++i) {
    const Line &line = kernel.lines[i];
    std::set<std::string> named;
    std::set_intersection(line.words.begin(), line.words.end(), all.begin(), all.end(),
                          std::inserter(named, named.end()));
    if (!line.isProduct && !named.empty() && !areFenced(kernel, named, i + 1))
      return false;
  }
  return true;
}

} // namespace tilewright::vgpu::mutation
