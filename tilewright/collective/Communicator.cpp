#include "tilewright/collective/Communicator.h"

#include <iterator>

namespace tilewright::collective {

static constexpr std::string_view names[] = {
    "all_reduce",         "all_gather",           "reduce_scatter",    "all_to_all",
    "collective_permute", "collective_broadcast", "ragged_all_to_all", "barrier"};

std::optional<Kind> kindNamed(std::string_view name) {
  for (size_t i = 0; i < std::size(names); ++i)
    if (names[i] == name)
      return static_cast<Kind>(i);
  return std::nullopt;
}

std::string_view nameOf(Kind kind) { return names[static_cast<size_t>(kind)]; }

} // namespace tilewright::collective
