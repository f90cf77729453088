// The enums of the exec dialect, for code that does not use MLIR.
#ifndef TILEWRIGHT_DIALECT_EXEC_EXECENUMS_H
#define TILEWRIGHT_DIALECT_EXEC_EXECENUMS_H

#include "llvm/ADT/DenseMapInfo.h"
#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <optional>

#include "tilewright/dialect/exec/ExecEnums.h.inc"

#endif // TILEWRIGHT_DIALECT_EXEC_EXECENUMS_H
