// Reduce: shrinks a program while it stays interesting.
#ifndef TOOLS_TILEWRIGHT_REDUCE_REDUCE_H
#define TOOLS_TILEWRIGHT_REDUCE_REDUCE_H

#include "tilewright/interpret/Tensor.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

#include <functional>
#include <string>
#include <vector>

namespace tilewright::tools {

/// A program and its inputs: one tensor for each parameter of @main.
struct Subject {
  mlir::OwningOpRef<mlir::ModuleOp> program;
  std::vector<interpret::Tensor> inputs;

  mlir::ModuleOp module() const { return program.get(); }
  Subject clone() const { return {module().clone(), inputs}; }
  /// Number of operations, without the module, its functions and terminators.
  int64_t ops() const;
  /// Number of elements of all values.
  int64_t elements() const;
};

struct ReduceSettings {
  /// Called for candidates that verify.
  std::function<bool(const Subject &)> isInteresting;
  /// Called after each accepted step, to show progress.
  std::function<void(const Subject &, const std::string &what)> progress;
};

/// Removes results, ops, regions, parameters and attributes and simplifies constants and sizes, as
/// long as the program stays interesting. Ends when no further step is accepted. `subject` must be
/// interesting.
///
/// MLIR's own reduction passes erase ops without replacing their uses, so programs in which every
/// op is used, as here, never verify afterwards. This reduction replaces each erased result by
/// another value.
Subject reduce(Subject subject, const ReduceSettings &settings);

/// A deterministic input for a parameter of this type: multiples of 1/16 for floats and complex
/// numbers, otherwise small integers.
interpret::Tensor usualInput(mlir::RankedTensorType type);

} // namespace tilewright::tools

#endif // TOOLS_TILEWRIGHT_REDUCE_REDUCE_H
