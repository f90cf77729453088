#include "tilewright/support/text/Suggest.h"

#include "tilewright/support/Concat.h"

#include <algorithm>
#include <vector>

namespace tilewright {

size_t editDistance(std::string_view a, std::string_view b) {
  // Three rows of the table, because a transposition of two letters refers to the row before the
  // last.
  std::vector<size_t> before, last(b.size() + 1), row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j)
    last[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (a[i - 1] != b[j - 1])});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        row[j] = std::min(row[j], before[j - 2] + 1);
    }
    before = last;
    last = row;
  }
  return last.back();
}

std::optional<std::string> suggestionFor(std::string_view name,
                                         std::span<const std::string> candidates) {
  const size_t most = name.size() < 4 ? 1 : std::max<size_t>(2, name.size() / 4);
  const std::string *best = nullptr;
  size_t least = most + 1;
  for (const std::string &candidate : candidates)
    if (const size_t distance = editDistance(name, candidate); distance < least) {
      least = distance;
      best = &candidate;
    }
  return best ? std::optional(*best) : std::nullopt;
}

std::string didYouMean(std::string_view name, std::span<const std::string> candidates) {
  const std::optional<std::string> meant = suggestionFor(name, candidates);
  return meant ? concat("; did you mean '", *meant, "'?") : "";
}

} // namespace tilewright
