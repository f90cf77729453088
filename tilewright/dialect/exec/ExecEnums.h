// The enums of the exec dialect, for code that uses nothing else of MLIR.
#ifndef TILEWRIGHT_DIALECT_EXEC_EXECENUMS_H
#define TILEWRIGHT_DIALECT_EXEC_EXECENUMS_H

#include "mlir/Support/LLVM.h"
#include "llvm/ADT/DenseMapInfo.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/raw_ostream.h"

#include <cstdint>
#include <optional>

#include "tilewright/dialect/exec/ExecEnums.h.inc"

#endif // TILEWRIGHT_DIALECT_EXEC_EXECENUMS_H
