#include "tilewright/target/gpu/Machine.h"

namespace tilewright::gpu {

Machine::~Machine() = default;

mlir::Value Machine::uniform(ThreadBuilder &, Value value) const { return value; }

} // namespace tilewright::gpu
