// AgainstEvaluator: compiles and runs a program in several ways and compares each run with the
// evaluator.
#ifndef TOOLS_TILEWRIGHT_REDUCE_AGAINSTEVALUATOR_H
#define TOOLS_TILEWRIGHT_REDUCE_AGAINSTEVALUATOR_H

#include "tilewright/interpret/bounds/Bounds.h"
#include "tilewright/runtime/Client.h"
#include "tilewright/support/Options.h"

#include "tools/tilewright-reduce/VirtualGpuFindings.h"

#include "mlir/IR/BuiltinOps.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace tilewright::tools {

/// The result of a comparison.
struct Verdict {
  enum class Kind {
    agrees,
    differs,  // a result is further from the evaluator's than its bound
    refused,  // the compiler rejects the program with an error code
    failed,   // a run failed, or wrote where it must not
    unjudged, // the evaluator cannot run the program
    reported, // a check of the virtual GPU has findings
  };
  Kind kind = Kind::agrees;
  std::optional<Error> error; // set for refused and failed
  std::string what;           // which configuration, which result, which element
  interpret::Compared compared;
  int64_t runs = 0;
};

/// Compiles the program with and without constant folding. Runs each on one and on two threads,
/// with and without donated inputs, twice each. On a GPU (`compile.target`) there is one client,
/// and the second of two runs must give the same bits as the first. On a virtual GPU the checks are
/// on, and findings count as failures. Not thread-safe.
///
///   TILEWRIGHT_ASSIGN(auto judge, AgainstEvaluator::create());
///   Verdict verdict = judge->check(module, inputs);
class AgainstEvaluator {
public:
  ///  - errors of runtime::cuda::createClient
  static Result<std::unique_ptr<AgainstEvaluator>> create(const Options &options = {});

  /// If false, inputs are never donated.
  bool donates = true;

  /// Does not modify the module.
  Verdict check(mlir::ModuleOp module, const interpret::RuntimeValues &inputs);

private:
  Verdict checkWay(mlir::ModuleOp module, const interpret::RuntimeValues &inputs,
                   const std::vector<interpret::Bounded> &expected, bool folds);
  /// Runs a program in all ways on one client, whose name is `name`, and adds the comparison to
  /// `verdict`.
  void runWays(runtime::LoadedExecutable &program, const std::string &name,
               const interpret::RuntimeValues &inputs,
               const std::vector<interpret::Bounded> &expected, Verdict &verdict);
  /// Runs the program once; returns a description of the mismatch, or "". If `bits` is empty, sets
  /// it to the bytes of the results, otherwise the results must equal it.
  Result<std::string> runOnce(runtime::LoadedExecutable &program,
                              const interpret::RuntimeValues &inputs,
                              const std::vector<interpret::Bounded> &expected, bool given,
                              std::string *bits, interpret::Compared &compared);

  struct NamedClient {
    std::string name;
    std::unique_ptr<runtime::Client> client;
  };

  Options options;
  bool isGpu = false;
  std::vector<NamedClient> clients;
  std::unique_ptr<VirtualGpuFindings> findings; // of a virtual GPU
};

} // namespace tilewright::tools

#endif // TOOLS_TILEWRIGHT_REDUCE_AGAINSTEVALUATOR_H
