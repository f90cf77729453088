// The evaluator: the reference interpreter.
#ifndef TILEWRIGHT_INTERPRET_EVALUATOR_H
#define TILEWRIGHT_INTERPRET_EVALUATOR_H

#include "tilewright/interpret/RuntimeValue.h"
#include "tilewright/interpret/evaluate/CustomCalls.h"
#include "tilewright/interpret/ranks/Ranks.h"
#include "tilewright/support/Options.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringRef.h"

namespace tilewright::interpret {

/// Runs a function of a verified module on a single rank.
///
///   TILEWRIGHT_ASSIGN(RuntimeValues outputs, evaluate(module, "main", {x, y}, options));
///
/// Failures name the op and its source location. Exceeding a limit of the options gives
/// RESOURCE_EXHAUSTED.
///  - interpretFunction: the function does not exist, or the inputs do not match it.
Result<RuntimeValues> evaluate(mlir::ModuleOp module, llvm::StringRef function,
                               RuntimeValues inputs, Context context = {},
                               const CustomCalls &customCalls = CustomCalls::standard());

/// Like evaluate(), but runs the function on every rank of a grid; `inputs` is indexed by rank. All
/// ranks share the limits; a copy of `context` that the caller keeps shows their progress. `feeds`
/// serves infeed and outfeed and is updated.
Result<std::vector<RuntimeValues>>
evaluateRanks(mlir::ModuleOp module, llvm::StringRef function, RankGrid grid,
              std::vector<RuntimeValues> inputs, Context context = {},
              const CustomCalls &customCalls = CustomCalls::standard(), Feeds *feeds = nullptr);

/// Whether ops of this name can be evaluated.
bool isEvaluated(llvm::StringRef operationName);

} // namespace tilewright::interpret

#endif // TILEWRIGHT_INTERPRET_EVALUATOR_H
