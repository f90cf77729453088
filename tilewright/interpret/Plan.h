// Plan: a function prepared for evaluation. For each op it has the handler, the slots of operands
// and results, and the values whose last use it is.
#ifndef TILEWRIGHT_INTERPRET_PLAN_H
#define TILEWRIGHT_INTERPRET_PLAN_H

#include "tilewright/support/Status.h"

#include "mlir/IR/Block.h"
#include "mlir/IR/Operation.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallVector.h"

#include <memory>
#include <vector>

namespace tilewright::interpret {

class OpCall;
/// Evaluates one op: reads call.operands, fills call.results.
using Handler = Status (*)(OpCall &call);

/// The function that evaluates ops of this name, or null.
Handler handlerNamed(llvm::StringRef operationName);

/// The index of a value in the frame of its function.
using Slot = uint32_t;

/// One use of a value. The last use moves the value instead of copying it, so that the op can
/// become its only owner and work in place.
struct SlotUse {
  Slot slot;
  bool takes;
};

struct PlannedOp {
  mlir::Operation *op;
  Handler handler;
  llvm::SmallVector<SlotUse, 3> operands;
  Slot firstResult;
  /// Values to release after this op: their last use is in one of its regions, or they are never
  /// used.
  llvm::SmallVector<Slot, 1> endsAfter;
};

struct BlockPlan {
  Slot firstArgument;
  unsigned argumentCount;
  std::vector<PlannedOp> ops;
  /// Arguments without uses.
  llvm::SmallVector<Slot, 1> unusedArguments;
  llvm::SmallVector<SlotUse, 2> results;
};

/// The plan of a function body with all nested regions. They share one frame of slots, because a
/// region runs only while its op does.
class FunctionPlan {
public:
  /// - interpretOp: an op has no handler, or a region has several blocks.
  static Result<std::unique_ptr<FunctionPlan>> create(mlir::Region &body);
  /// Plans only the regions of a single op.
  static Result<std::unique_ptr<FunctionPlan>> create(mlir::MutableArrayRef<mlir::Region> regions);

  unsigned slotCount() const { return nextSlot; }
  const BlockPlan &planOf(mlir::Region &region) const { return blocks.at(&region.front()); }
  Slot slotOf(mlir::Value value) const { return slots.at(value); }

private:
  Status addRegion(mlir::Region &region);
  Status addBlock(mlir::Block &block);
  void addValues(mlir::ValueRange values);

  unsigned nextSlot = 0;
  llvm::DenseMap<mlir::Value, Slot> slots;
  llvm::DenseMap<mlir::Block *, BlockPlan> blocks;
};

} // namespace tilewright::interpret

#endif // TILEWRIGHT_INTERPRET_PLAN_H
