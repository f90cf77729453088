// CodeIndex: finds the rows of a table of encodings by dialect and code.
#ifndef TILEWRIGHT_IMPORT_BYTECODE_CODEINDEX_H
#define TILEWRIGHT_IMPORT_BYTECODE_CODEINDEX_H

#include "tilewright/import/bytecode/OpTable.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <type_traits>

namespace tilewright::bytecode {

/// Built at compile time from rows that have a `dialect` and a `code` below `codeLimit`; finding
/// the row of a code is then one table lookup.
///
///   constexpr CodeIndex<32> index(rows);
///   std::optional<size_t> row = index.find(dialect, code);
template <size_t codeLimit> class CodeIndex {
public:
  template <typename Rows> constexpr explicit CodeIndex(const Rows &rows) {
    static_assert(std::extent_v<Rows> < UINT8_MAX);
    for (size_t row = 0; row < std::size(rows); ++row)
      rowByCode[static_cast<size_t>(rows[row].dialect)][rows[row].code] =
          static_cast<uint8_t>(row + 1);
  }

  /// The index of the row, or nullopt. `code` may have any value.
  constexpr std::optional<size_t> find(Dialect dialect, uint64_t code) const {
    if (code >= codeLimit)
      return std::nullopt;
    uint8_t row = rowByCode[static_cast<size_t>(dialect)][code];
    return row ? std::optional<size_t>(row - 1) : std::nullopt;
  }

private:
  /// Row index plus one, by dialect and code; 0 if there is no row.
  std::array<std::array<uint8_t, codeLimit>, 3> rowByCode{};
};

} // namespace tilewright::bytecode

#endif // TILEWRIGHT_IMPORT_BYTECODE_CODEINDEX_H
