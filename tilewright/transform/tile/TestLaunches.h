// For tests: a program with what the evaluator says of it, and its launches run by somebody else.
#ifndef TILEWRIGHT_TRANSFORM_TILE_TESTLAUNCHES_H
#define TILEWRIGHT_TRANSFORM_TILE_TESTLAUNCHES_H

#include "tilewright/interpret/Context.h"
#include "tilewright/interpret/RuntimeValue.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

namespace tilewright::tile {

/// A program, inputs that follow from a seed, and its results.
struct EvaluatedProgram {
  mlir::OwningOpRef<mlir::ModuleOp> module;
  interpret::RuntimeValues inputs, expected;
  interpret::Context context;
  /// Inputs are numbers at which something special happens, and results of one op.
  bool edges = false;

  /// Reads the text and evaluates its @main. Gives what is wrong, or "".
  std::string prepare(mlir::MLIRContext &mlirContext, const std::string &text, uint64_t seed,
                      bool edges);
  /// Where `actual` is too far from what is expected, or "".
  std::string differenceFrom(const interpret::RuntimeValues &actual) const;
};

/// Memory as the runtime gives it: aligned, with a pattern behind the end that must stay.
class GuardedMemory {
public:
  explicit GuardedMemory(size_t bytes);
  GuardedMemory(const GuardedMemory &) = delete;
  ~GuardedMemory() { std::free(data); }
  bool isIntact() const;
  const size_t bytes;
  void *const data;

private:
  /// 256 bytes at least are behind the end.
  size_t size() const { return bytes / 256 * 256 + 512; }
};

/// Runs a kernel on its inputs and results. Gives what is wrong, or "".
using RunKernel =
    std::function<std::string(const std::string &kernel, const std::vector<void *> &buffers)>;

/// Runs the launches of @main, in place where a launch says that it may be. Gives what is wrong, or
/// ""; "not compiled" for a program with an op that is neither a launch nor nothing.
std::string runLaunches(EvaluatedProgram &program, interpret::RuntimeValues &results,
                        const RunKernel &run);

} // namespace tilewright::tile

#endif // TILEWRIGHT_TRANSFORM_TILE_TESTLAUNCHES_H
