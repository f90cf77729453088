// The collectives and their reductions, as the compiler, the artifact and the engines name them.
#ifndef TILEWRIGHT_NUMERICS_COLLECTIVE_H
#define TILEWRIGHT_NUMERICS_COLLECTIVE_H

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace tilewright::numerics {

enum class CollectiveKind : uint8_t {
  allReduce,
  allGather,
  reduceScatter,
  allToAll,
  permute,
  broadcast,
  raggedAllToAll,
  barrier,
};
inline constexpr size_t collectiveKindCount = 8;
/// StableHLO's name, such as "all_reduce".
std::string_view nameOf(CollectiveKind kind);
/// Empty if the name is unknown.
std::optional<CollectiveKind> collectiveNamed(std::string_view name);

/// How a collective combines two elements: by an operation that every engine knows, or by a
/// function that the compiler generated.
enum class ReductionKind : uint8_t {
  none,
  function,
  add,
  multiply,
  maximum,
  minimum,
  bitAnd,
  bitOr,
  bitXor,
};
inline constexpr size_t reductionKindCount = 9;
/// StableHLO's name, such as "add"; empty for none.
std::string_view nameOf(ReductionKind kind);
/// Empty if the name is unknown.
std::optional<ReductionKind> reductionNamed(std::string_view name);

} // namespace tilewright::numerics

#endif // TILEWRIGHT_NUMERICS_COLLECTIVE_H
