// The letters that stand for factors in a sharding rule.
#ifndef TILEWRIGHT_DIALECT_SDY_FACTORNAMES_H
#define TILEWRIGHT_DIALECT_SDY_FACTORNAMES_H

#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <optional>
#include <string>

namespace tilewright::sdy {

/// The name of factor `index`: `i` to `z`, then `z_1`, `z_2`, ... A negative
/// index, which no rule may have, is written as the number.
std::string factorName(int64_t index);

/// Takes one factor name off the front of `names`, which may hold several in a
/// row (`ijz_2`), and returns its index; nothing where none is there.
std::optional<int64_t> takeFactorName(llvm::StringRef &names);

} // namespace tilewright::sdy

#endif // TILEWRIGHT_DIALECT_SDY_FACTORNAMES_H
