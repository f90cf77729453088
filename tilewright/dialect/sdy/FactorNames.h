// The names of the factors of a sharding rule.
#ifndef TILEWRIGHT_DIALECT_SDY_FACTORNAMES_H
#define TILEWRIGHT_DIALECT_SDY_FACTORNAMES_H

#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <optional>
#include <string>

namespace tilewright::sdy {

/// The name of factor `index`: `i` to `z`, then `z_1`, `z_2`, ... A negative index, which is
/// invalid in a rule, is written as the number.
std::string factorName(int64_t index);

/// Removes the first factor name of a sequence such as `ijz_2` and returns its index; nullopt if
/// `names` does not begin with a factor name.
std::optional<int64_t> takeFactorName(llvm::StringRef &names);

} // namespace tilewright::sdy

#endif // TILEWRIGHT_DIALECT_SDY_FACTORNAMES_H
