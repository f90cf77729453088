// The lines of the user's program in the code of threads, from which `.loc` directives are made.
#ifndef TILEWRIGHT_TARGET_LANES_SOURCELINES_H
#define TILEWRIGHT_TARGET_LANES_SOURCELINES_H

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/DenseMap.h"

namespace tilewright::lanes {

/// Translates locations of a function to the form that MLIR exports to LLVM: one line of one file,
/// with the function as its scope. A location that passes through several lines (a call, a fusion)
/// is its first line, which is the innermost frame. A location without a line is unknown.
class SourceLines {
public:
  /// For a function that attachSourceLines() has seen.
  explicit SourceLines(mlir::LLVM::LLVMFuncOp function);
  mlir::Location operator()(mlir::Location location);

private:
  mlir::LLVM::DISubprogramAttr function; // null: no op of the function has a line
  llvm::DenseMap<mlir::Location, mlir::Location> known;
};

/// The form in which LLVM writes lines: directives in assembly, or a table for machine code.
/// Sections of debug information would make ptxas compile without optimizations.
using LineEmission = mlir::LLVM::DIEmissionKind;

/// Gives each function a scope, and each of its ops its line. The bodies of lane.map keep their
/// locations, because errors show these; lanes::translate() takes their lines from SourceLines.
void attachSourceLines(mlir::ModuleOp module, LineEmission emission);

} // namespace tilewright::lanes

#endif // TILEWRIGHT_TARGET_LANES_SOURCELINES_H
