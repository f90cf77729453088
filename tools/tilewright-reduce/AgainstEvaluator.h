// AgainstEvaluator: compiles and runs a program in several ways and compares each run with the
// evaluator.
#ifndef TOOLS_TILEWRIGHT_REDUCE_AGAINSTEVALUATOR_H
#define TOOLS_TILEWRIGHT_REDUCE_AGAINSTEVALUATOR_H

#include "tilewright/interpret/bounds/Bounds.h"
#include "tilewright/runtime/Client.h"
#include "tilewright/support/Options.h"

#include "mlir/IR/BuiltinOps.h"

#include <memory>
#include <optional>
#include <string>

namespace tilewright::tools {

/// The result of a comparison.
struct Verdict {
  enum class Kind {
    agrees,
    differs,  // a result is further from the evaluator's than its bound
    refused,  // the compiler rejects the program with an error code
    failed,   // a run failed, or wrote where it must not
    unjudged, // the evaluator cannot run the program
  };
  Kind kind = Kind::agrees;
  std::optional<Error> error; // set for refused and failed
  std::string what;           // which configuration, which result, which element
  interpret::Compared compared;
  int64_t runs = 0;
};

/// Compiles the program with and without constant folding. Runs each on one and on two threads,
/// with and without donated inputs, twice each. Not thread-safe.
///
///   TILEWRIGHT_ASSIGN(auto judge, AgainstEvaluator::create());
///   Verdict verdict = judge->check(module, inputs);
class AgainstEvaluator {
public:
  static Result<std::unique_ptr<AgainstEvaluator>> create(const Options &options = {});

  /// If false, inputs are never donated.
  bool donates = true;

  /// Does not modify the module.
  Verdict check(mlir::ModuleOp module, const interpret::RuntimeValues &inputs);

private:
  Verdict checkWay(mlir::ModuleOp module, const interpret::RuntimeValues &inputs,
                   const std::vector<interpret::Bounded> &expected, bool folds);
  /// Runs the program once; returns a description of the mismatch, or "".
  Result<std::string> runOnce(runtime::LoadedExecutable &program,
                              const interpret::RuntimeValues &inputs,
                              const std::vector<interpret::Bounded> &expected, bool given,
                              interpret::Compared &compared);

  Options options;
  std::unique_ptr<runtime::Client> clients[2]; // with one thread and with two
};

} // namespace tilewright::tools

#endif // TOOLS_TILEWRIGHT_REDUCE_AGAINSTEVALUATOR_H
