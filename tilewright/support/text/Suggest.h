// Suggests the name that a misspelt one probably means.
#ifndef TILEWRIGHT_SUPPORT_TEXT_SUGGEST_H
#define TILEWRIGHT_SUPPORT_TEXT_SUGGEST_H

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace tilewright {

/// The number of letters to add, remove or replace to turn `a` into `b`; swapping two adjacent
/// letters counts as one (restricted Damerau-Levenshtein distance).
size_t editDistance(std::string_view a, std::string_view b);

/// The nearest candidate, if its distance can be explained by typing errors: at most a quarter of
/// the letters, but at least two errors are allowed (one for names shorter than four letters).
std::optional<std::string> suggestionFor(std::string_view name,
                                         std::span<const std::string> candidates);

/// "; did you mean 'compile'?", or nothing.
std::string didYouMean(std::string_view name, std::span<const std::string> candidates);

} // namespace tilewright

#endif // TILEWRIGHT_SUPPORT_TEXT_SUGGEST_H
