// An attribute of a scatter of sorted rows.
#ifndef TILEWRIGHT_DIALECT_INDEXING_SPLATTABLE_H
#define TILEWRIGHT_DIALECT_INDEXING_SPLATTABLE_H

#include "llvm/ADT/StringRef.h"

namespace tilewright::indexing {

/// The number (a splat) that all elements of the table have before the scatter, if that is known.
inline constexpr llvm::StringLiteral splatTable = "tilewright.splat_table";

} // namespace tilewright::indexing

#endif // TILEWRIGHT_DIALECT_INDEXING_SPLATTABLE_H
