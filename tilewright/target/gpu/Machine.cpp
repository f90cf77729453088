#include "tilewright/target/gpu/Machine.h"

#include "llvm/Support/ErrorHandling.h"

namespace tilewright::gpu {

Machine::~Machine() = default;

mlir::Value Machine::uniform(ThreadBuilder &, Value value) const { return value; }

llvm::SmallVector<mlir::Value> Machine::loadTransposed(ThreadBuilder &, Type, Value) const {
  llvm_unreachable("the machine has no such instruction: transposedBytes is 0");
}

} // namespace tilewright::gpu
