// The operations an artifact may contain, as a table: the attributes, operands, regions and results
// of each, and the StableHLO versions that write it.
#ifndef TILEWRIGHT_IMPORT_BYTECODE_OPTABLE_H
#define TILEWRIGHT_IMPORT_BYTECODE_OPTABLE_H

#include "tilewright/import/bytecode/Version.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace tilewright::bytecode {

/// The dialects that artifacts may contain.
enum class Dialect : uint8_t { builtin, vhlo, sdy };
std::string_view nameOf(Dialect dialect);

/// Each operation in each of its versions, for `switch`. VhloOps.def has the VHLO part.
enum class Op : uint16_t {
#define TILEWRIGHT_VHLO_OP(id, name, since, until, operands, attributes, regions, results) id,
#include "tilewright/import/bytecode/VhloOps.def"
  builtinModule,
  builtinUnrealizedConversionCast,
  sdyMesh,
  sdyManualComputation,
  sdyReturn,
  sdyShardingConstraint,
  sdyShardingGroup,
};

inline constexpr size_t vhloOpCount = static_cast<size_t>(Op::builtinModule);
inline constexpr size_t opCount = static_cast<size_t>(Op::sdyShardingGroup) + 1;

/// A list of names. A name with `*` is variadic: "*inputs token".
struct Signature {
  std::vector<std::string_view> names;
  std::vector<bool> variadic;
  unsigned variadicCount = 0;

  /// Whether `count` values can be assigned to the names. All variadic names must have the same
  /// length.
  bool accepts(uint64_t count) const;
  /// "2", "at least 1", "an odd number of at least 1".
  std::string expected() const;
};

/// A row of the table.
struct OpRow {
  Op op;
  Dialect dialect;
  /// The name without its dialect: "add_v1", "mesh".
  std::string_view name;
  Version since, until;
  Signature operands, regions, results;
  /// The inherent attributes in alphabetical order, which is the order of
  /// Operation::properties.
  std::vector<std::string_view> attributes;
  /// Parallel to `attributes`. Never set for VHLO.
  std::vector<bool> optional;
  /// Its regions cannot use values from outside (isolated from above).
  bool isolated = false;

  /// "vhlo.add_v1".
  std::string fullName() const;
  /// The index of an attribute in `attributes`, or -1.
  int attributeIndex(std::string_view name) const;
};

const OpRow &rowOf(Op op);
/// The row of `dialect`.`name`, or null.
const OpRow *findOp(Dialect dialect, std::string_view name);
std::span<const OpRow> allOps();

} // namespace tilewright::bytecode

#endif // TILEWRIGHT_IMPORT_BYTECODE_OPTABLE_H
