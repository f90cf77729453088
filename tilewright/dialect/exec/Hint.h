// Hint: a user's request for how to compute one matrix product. docs/how-to/tune-products.md
#ifndef TILEWRIGHT_DIALECT_EXEC_HINT_H
#define TILEWRIGHT_DIALECT_EXEC_HINT_H

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"

#include <optional>
#include <string>

namespace mlir {
class Location;
class ModuleOp;
class Operation;
} // namespace mlir

namespace tilewright::exec {

/// The properties of a product's kernel that a user may set; the compiler chooses the others.
///
///   tile=128x256 cluster=2x1 stages=4 warps=8 persistent=false
///
/// `exec.hint` of an op has this text. The driver writes it (driver/Hints.h), stages that replace
/// the op by another product copy it, and the stages tile and lower follow it. The module's
/// `exec.hints` lists the texts that have been neither followed nor refused yet.
struct Hint {
  /// The rows and columns that one CTA computes, and the number of CTAs of a cluster along each;
  /// empty if not set.
  llvm::SmallVector<int64_t, 2> tile, cluster;
  /// The number of slots for operands in shared memory, and of warps that multiply; 0 if not set.
  int64_t stages = 0, warps = 0;
  std::optional<bool> persistent;

  /// Reads items that are separated by spaces or commas. On failure, `why` is a sentence that
  /// quotes the item.
  static std::optional<Hint> parse(llvm::StringRef text, std::string &why);
  /// The text that parse() reads, with the items in the order above.
  std::string toString() const;
  bool isEmpty() const { return *this == Hint(); }
  bool operator==(const Hint &other) const = default;

  /// The same for the transposed product.
  Hint transposed() const;
};

/// The hint of an op; empty if it has none.
Hint hintOf(mlir::Operation *op);
/// Sets the hint of an op, or removes it if it is empty.
void setHint(mlir::Operation *op, const Hint &hint);
/// Gives `to` the hint of `from`, which it replaces.
inline void copyHint(mlir::Operation *from, mlir::Operation *to) { setHint(to, hintOf(from)); }

/// Removes the hint from the module's list, because a kernel follows it or its user was told why
/// not.
void settleHint(mlir::ModuleOp module, const Hint &hint);
/// Warns at a location that a kernel does not follow a hint, and settles it.
void refuseHint(mlir::ModuleOp module, mlir::Location location, const Hint &hint,
                llvm::StringRef reason);

} // namespace tilewright::exec

#endif // TILEWRIGHT_DIALECT_EXEC_HINT_H
