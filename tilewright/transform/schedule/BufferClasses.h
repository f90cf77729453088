// BufferClasses: decides which values share a buffer.
#ifndef TILEWRIGHT_TRANSFORM_SCHEDULE_BUFFERCLASSES_H
#define TILEWRIGHT_TRANSFORM_SCHEDULE_BUFFERCLASSES_H

#include "tilewright/transform/schedule/LiveIntervals.h"

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallVector.h"

#include <optional>
#include <vector>

namespace tilewright::schedule {

/// Whether the results of an op are views of its operands, so no bytes move.
bool isAlias(mlir::Operation *op);

/// If a slice is a view: the byte offset at which its result begins in its operand. A slice is a
/// view if its elements are contiguous and aligned, and if it is not so small that copying it is
/// better than keeping the whole operand. nullopt for other ops.
std::optional<int64_t> viewOffsetOf(mlir::Operation *op);

/// The value whose memory `value` is a view of, through any number of aliasing ops; `value` itself
/// if it is not a view.
mlir::Value rootOf(mlir::Value value);
/// The byte offset of `value` in the memory of its root.
int64_t offsetInRoot(mlir::Value value);
/// Whether `value` is a view of a part of its root.
bool isPartOfRoot(mlir::Value value);

/// An attribute on a function's result: the number of the donated parameter whose memory the result
/// takes over.
inline constexpr llvm::StringLiteral aliasOfAttr = "exec.alias_of";
std::optional<unsigned> claimedParameter(mlir::func::FuncOp function, unsigned result);

/// The size of a value in memory, in bytes; 0 for tokens.
int64_t bytesOf(mlir::Type type);

/// Sets of values that share a buffer. Values that must share are joined unconditionally. Values
/// that can share are joined only if no two of them have different contents at the same time.
class BufferClasses {
public:
  enum class Storage { temporary, parameter, result, constant };
  struct Class {
    Storage storage = Storage::temporary;
    int64_t index = 0; // of the parameter, result or constant
    int64_t bytes = 0;
    LiveIntervals intervals; // of all members
    /// The interval from the earliest start to the latest end of all members' live intervals.
    Segment hull() const { return intervals.hull(); }
  };

  BufferClasses(mlir::func::FuncOp function, const Lifetimes &lifetimes);

  const Class &of(mlir::Value value) { return classes[find(idOf(value))]; }
  unsigned idFor(mlir::Value value) { return find(idOf(value)); }
  size_t size() const { return classes.size(); }
  bool isRepresentative(unsigned id) { return find(id) == id; }
  const Class &at(unsigned id) const { return classes[id]; }
  /// The distinct constants, in the order of their index.
  llvm::ArrayRef<mlir::Attribute> constants() const { return constantValues; }

private:
  unsigned idOf(mlir::Value value);
  unsigned find(unsigned id);
  void join(unsigned into, unsigned from);
  /// Joins values that must share: views, the carried values of loops, the results of branches, and
  /// results with the parameters that they claim.
  void joinForced(mlir::func::FuncOp function);
  /// Joins each result of an op with the input that it can overwrite in place.
  void joinInPlace(mlir::Operation *op);
  /// Joins the source and the result of a copy.
  void joinCopy(mlir::Operation *copy);
  /// Whether members of the two classes would have different contents at the same time. `mayMeet`
  /// returns true if two overlapping live intervals are harmless.
  static bool interfere(const Class &a, const Class &b,
                        llvm::function_ref<bool(const Segment &, const Segment &)> mayMeet);

  const Lifetimes &lifetimes;
  llvm::DenseMap<mlir::Value, unsigned> ids;
  llvm::DenseMap<mlir::Attribute, int64_t> constantIndex;
  llvm::SmallVector<mlir::Attribute> constantValues;
  std::vector<unsigned> parents;
  std::vector<Class> classes;
};

} // namespace tilewright::schedule

#endif // TILEWRIGHT_TRANSFORM_SCHEDULE_BUFFERCLASSES_H
