#include "tilewright/numerics/Collective.h"

#include <array>

namespace tilewright::numerics {

static constexpr std::array<std::string_view, collectiveKindCount> collectives = {
    "all_reduce",         "all_gather",           "reduce_scatter",    "all_to_all",
    "collective_permute", "collective_broadcast", "ragged_all_to_all", "barrier"};
static constexpr std::array<std::string_view, reductionKindCount> reductions = {
    "", "function", "add", "multiply", "maximum", "minimum", "and", "or", "xor"};

template <typename Kind, size_t count>
static std::optional<Kind> find(const std::array<std::string_view, count> &names,
                                std::string_view name) {
  for (size_t i = 0; i < count; ++i)
    if (names[i] == name)
      return static_cast<Kind>(i);
  return std::nullopt;
}

std::string_view nameOf(CollectiveKind kind) { return collectives[static_cast<size_t>(kind)]; }
std::string_view nameOf(ReductionKind kind) { return reductions[static_cast<size_t>(kind)]; }

std::optional<CollectiveKind> collectiveNamed(std::string_view name) {
  return find<CollectiveKind>(collectives, name);
}
std::optional<ReductionKind> reductionNamed(std::string_view name) {
  return find<ReductionKind>(reductions, name);
}

} // namespace tilewright::numerics
