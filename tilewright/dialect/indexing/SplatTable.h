// An attribute of a scatter of sorted rows.
#ifndef TILEWRIGHT_DIALECT_INDEXING_SPLATTABLE_H
#define TILEWRIGHT_DIALECT_INDEXING_SPLATTABLE_H

#include "llvm/ADT/StringRef.h"

namespace tilewright::indexing {

/// The number that every element of the table has before the scatter (a splat), if it is known.
inline constexpr llvm::StringLiteral splatTable = "tilewright.splat_table";

} // namespace tilewright::indexing

#endif // TILEWRIGHT_DIALECT_INDEXING_SPLATTABLE_H
