// Mutate: changes a program a little so that it still verifies.
#ifndef TEST_RANDOM_MUTATE_H
#define TEST_RANDOM_MUTATE_H

#include "test/random/Draw.h"

#include "mlir/IR/BuiltinOps.h"

#include <string>

namespace tilewright::random {

/// Changes the module in up to `changes` ways: rewires operands, replaces ops by others of the same
/// signature, changes attributes and constants, replaces a size or an element type everywhere,
/// removes ops. Undoes changes that do not verify. Returns a description of the changes.
std::string mutate(mlir::ModuleOp &module, Draw &draw, int changes);

} // namespace tilewright::random

#endif // TEST_RANDOM_MUTATE_H
