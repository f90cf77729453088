// For tests: evaluates a program with the reference interpreter, and runs its launches with a
// callback of the test.
#ifndef TILEWRIGHT_TRANSFORM_TILE_TESTING_LAUNCHES_H
#define TILEWRIGHT_TRANSFORM_TILE_TESTING_LAUNCHES_H

#include "tilewright/interpret/Context.h"
#include "tilewright/interpret/RuntimeValue.h"
#include "tilewright/interpret/bounds/Bounds.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

namespace tilewright::tile {

/// A program, inputs that are generated from a seed, and its expected results.
struct EvaluatedProgram {
  mlir::OwningOpRef<mlir::ModuleOp> module;
  interpret::RuntimeValues inputs, expected;
  interpret::Context context;
  /// The inputs are edge values, and the program is a single op.
  bool edges = false;
  /// Deviations from the reference interpreter that the implementation is allowed.
  interpret::Allowance allowance;

  /// Parses the text and evaluates its @main. Returns an error message, or "".
  std::string prepare(mlir::MLIRContext &mlirContext, const std::string &text, uint64_t seed,
                      bool edges);
  /// Describes where `actual` is wrong; returns "" if nowhere. With `edges` the program is one op,
  /// which may be off by one rounding; otherwise interpret/bounds derives a bound from the terms of
  /// each sum.
  std::string differenceFrom(const interpret::RuntimeValues &actual);

private:
  std::string text;
};

/// Memory as the runtime allocates it: aligned, with a guard pattern behind the end.
class GuardedMemory {
public:
  explicit GuardedMemory(size_t bytes);
  GuardedMemory(const GuardedMemory &) = delete;
  ~GuardedMemory() { std::free(data); }
  bool isIntact() const;
  const size_t bytes;
  void *const data;

private:
  /// At least 256 guard bytes follow the end.
  size_t size() const { return bytes / 256 * 256 + 512; }
};

/// Runs a kernel on its inputs and results. Returns an error message, or "".
using RunKernel =
    std::function<std::string(const std::string &kernel, const std::vector<void *> &buffers)>;

/// Runs the launches of @main, also those in loops, in place where a launch declares an alias. Ops
/// without a kernel are evaluated if `mayEvaluate`, and counted in comparisonCounts(); otherwise
/// such a program is "not compiled". Returns an error message, or "".
std::string runLaunches(EvaluatedProgram &program, interpret::RuntimeValues &results,
                        const RunKernel &run, bool mayEvaluate);

} // namespace tilewright::tile

#endif // TILEWRIGHT_TRANSFORM_TILE_TESTING_LAUNCHES_H
