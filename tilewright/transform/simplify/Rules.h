// Rules: the names of the patterns, and the quantity that each pattern decreases.
#ifndef TILEWRIGHT_TRANSFORM_SIMPLIFY_RULES_H
#define TILEWRIGHT_TRANSFORM_SIMPLIFY_RULES_H

#include "tilewright/transform/simplify/Measure.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

namespace tilewright::simplify {

struct RuleRow {
  llvm::StringLiteral name; // the debug name of the pattern
  Quantity quantity;
};

/// The rows of Rules.def, in alphabetical order.
llvm::ArrayRef<RuleRow> rules();

/// Whether `after` is lexicographically smaller than `before`, comparing the quantities up to the
/// one that the rule decreases.
bool isProgress(llvm::StringRef rule, const Measure &before, const Measure &after);

} // namespace tilewright::simplify

#endif // TILEWRIGHT_TRANSFORM_SIMPLIFY_RULES_H
