// The evaluator: what a program means, computed.
#ifndef TILEWRIGHT_INTERPRET_EVALUATOR_H
#define TILEWRIGHT_INTERPRET_EVALUATOR_H

#include "tilewright/interpret/CustomCalls.h"
#include "tilewright/interpret/Ranks.h"
#include "tilewright/interpret/RuntimeValue.h"
#include "tilewright/support/Options.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringRef.h"

namespace tilewright::interpret {

/// Runs a function of a verified module as the only process.
///
///   TILEWRIGHT_ASSIGN(RuntimeValues outputs, evaluate(module, "main", {x, y}, options));
///
/// Failures name the op and its source location. The limits of the options end
/// in RESOURCE_EXHAUSTED.
///  - interpretFunction: there is no such function, or the inputs do not fit it.
Result<RuntimeValues> evaluate(mlir::ModuleOp module, llvm::StringRef function,
                               RuntimeValues inputs, Context context = {},
                               const CustomCalls &customCalls = CustomCalls::standard());

/// The same on every rank of a grid, with inputs by rank; all ranks together
/// keep the limits, and a copy of `context` elsewhere shows how far they are. `feeds` serves infeed
/// and outfeed and is updated.
Result<std::vector<RuntimeValues>>
evaluateRanks(mlir::ModuleOp module, llvm::StringRef function, RankGrid grid,
              std::vector<RuntimeValues> inputs, Context context = {},
              const CustomCalls &customCalls = CustomCalls::standard(), Feeds *feeds = nullptr);

/// Every op that can be evaluated, by name.
bool isEvaluated(llvm::StringRef operationName);

} // namespace tilewright::interpret

#endif // TILEWRIGHT_INTERPRET_EVALUATOR_H
