// BufferClasses: which values share memory.
#ifndef TILEWRIGHT_TRANSFORM_SCHEDULE_BUFFERCLASSES_H
#define TILEWRIGHT_TRANSFORM_SCHEDULE_BUFFERCLASSES_H

#include "tilewright/transform/schedule/Lives.h"

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallVector.h"

#include <vector>

namespace tilewright::schedule {

/// Whether the result is the operand under another type: no bytes move.
bool isAlias(mlir::Operation *op);

/// The bytes of a value in memory; 0 for tokens.
int64_t bytesOf(mlir::Type type);

/// Sets of values that live in one buffer. Values that must share are joined
/// without asking; values that may are joined when no two of them hold
/// different contents at one time.
class BufferClasses {
public:
  enum class Storage { temporary, parameter, result, constant };
  struct Class {
    Storage storage = Storage::temporary;
    int64_t index = 0; // of the parameter, result or constant
    int64_t bytes = 0;
    Lives lives; // contents differ between segments
    /// From the first to the last moment that any member lives.
    Segment hull() const { return lives.hull(); }
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
  /// Joins what must share: aliases, loops, branches, results with what they claim.
  void joinForced(mlir::func::FuncOp function);
  /// Joins result and input of an op that may work in place.
  void joinInPlace(mlir::Operation *op);
  /// Joins the two sides of a copy.
  void joinCopy(mlir::Operation *copy);
  /// Whether members of the two classes would hold different contents at one
  /// time. `mayMeet` says of two lives that overlap that it does no harm.
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
