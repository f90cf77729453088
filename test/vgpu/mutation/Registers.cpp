#include "Registers.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <set>
#include <sstream>
#include <tuple>
#include <vector>

namespace tilewright::vgpu::mutation {

namespace {
struct Line {
  std::set<std::string> words;
  std::set<std::string> operands; // of a wgmma: its registers, which are in braces
  bool isProduct = false, isCommit = false, isEnd = false, isGuarded = false;
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

/// Whether no instruction names the registers of the wgmma at `product` before a wait for it.
bool rest(const std::vector<Line> &lines, const std::map<std::string, size_t> &labels,
          size_t product) {
  constexpr int open = -1, enough = 8; // not committed; more groups than waits leave pending
  std::set<std::pair<size_t, int>> seen;
  std::vector<std::pair<size_t, int>> todo{{product + 1, open}};
  while (!todo.empty()) {
    auto [at, behind] = todo.back();
    todo.pop_back();
    if (at >= lines.size() || !seen.emplace(at, behind).second)
      continue;
    const Line &line = lines[at];
    if (line.leaves >= 0 && behind >= line.leaves)
      continue; // the product has completed
    if (!line.isProduct)
      for (const std::string &name : lines[product].operands)
        if (line.words.count(name))
          return false;
    if (line.isEnd && !line.isGuarded)
      return false; // the kernel ends before the product has completed
    if (line.isCommit)
      behind = std::min(behind + 1, enough);
    if (!line.target.empty()) {
      auto label = labels.find(line.target);
      if (label == labels.end())
        return false;
      todo.emplace_back(label->second, behind);
      if (!line.isGuarded)
        continue;
    }
    todo.emplace_back(at + 1, behind);
  }
  return true;
}
} // namespace

bool registersRestUntilWaits(const std::string &text) {
  std::vector<Line> lines;
  std::map<std::string, size_t> labels;
  std::istringstream in(text);
  for (std::string one; std::getline(in, one);) {
    const size_t start = one.find_first_not_of(" \t"), colon = one.find(':');
    if (start != std::string::npos && colon != std::string::npos &&
        std::all_of(one.begin() + static_cast<std::ptrdiff_t>(start),
                    one.begin() + static_cast<std::ptrdiff_t>(colon), isPartOfName) &&
        one.compare(colon, 2, "::") != 0)
      labels[one.substr(start, colon - start)] = lines.size();
    // Declarations and directives name registers but do not access them.
    lines.push_back(start != std::string::npos && one[start] == '.' ? Line() : read(one));
  }
  for (size_t i = 0; i < lines.size(); ++i)
    if (lines[i].isProduct && !rest(lines, labels, i))
      return false;
  return true;
}

} // namespace tilewright::vgpu::mutation
