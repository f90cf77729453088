#include "tilewright/interpret/Evaluator.h"

#include "tilewright/interpret/Evaluation.h"

namespace tilewright::interpret {

static const HandlerTable &handlers() {
  static const HandlerTable table = [] {
    HandlerTable table;
    addElementwiseHandlers(table);
    addQuantizedHandlers(table);
    addRandomHandlers(table);
    addMovementHandlers(table);
    addIndexingHandlers(table);
    addDynamicShapeHandlers(table);
    addLinearAlgebraHandlers(table);
    addReductionHandlers(table);
    addControlFlowHandlers(table);
    addCallHandlers(table);
    addCollectiveHandlers(table);
    addShardingHandlers(table);
    addTileHandlers(table);
    return table;
  }();
  return table;
}

Handler handlerNamed(llvm::StringRef operationName) { return handlers().lookup(operationName); }

bool isEvaluated(llvm::StringRef operationName) { return handlers().contains(operationName); }

/// Copies the value if it is a view into the module, which may be destroyed before the results.
static Result<RuntimeValue> detached(RuntimeValue value, Context &context) {
  if (value.isTensor()) {
    if (value.tensor().isOwned())
      return value;
    TILEWRIGHT_ASSIGN(Tensor copy, value.takeTensor().intoSoleOwner(context));
    return RuntimeValue(std::move(copy));
  }
  if (!value.isTuple())
    return value;
  RuntimeValues elements;
  for (const RuntimeValue &element : value.elements()) {
    TILEWRIGHT_ASSIGN(RuntimeValue copy, detached(element, context));
    elements.push_back(std::move(copy));
  }
  return RuntimeValue::tuple(std::move(elements));
}

Result<std::vector<RuntimeValues>> evaluateRanks(mlir::ModuleOp module, llvm::StringRef function,
                                                 RankGrid grid, std::vector<RuntimeValues> inputs,
                                                 Context context, const CustomCalls &customCalls,
                                                 Feeds *feeds) {
  assert(static_cast<int64_t>(inputs.size()) == grid.count());
  Program program(module, customCalls);
  World world(grid, feeds ? std::move(*feeds) : Feeds());
  auto results = world.run([&](int64_t rank) -> Result<RuntimeValues> {
    Evaluation evaluation(program, context, Rank{&world, rank});
    TILEWRIGHT_ASSIGN(RuntimeValues outputs,
                      evaluation.call(function, std::move(inputs[static_cast<size_t>(rank)])));
    for (RuntimeValue &output : outputs) {
      TILEWRIGHT_ASSIGN(output, detached(std::move(output), context));
    }
    return outputs;
  });
  if (feeds)
    *feeds = world.takeFeeds();
  return results;
}

Result<RuntimeValues> evaluate(mlir::ModuleOp module, llvm::StringRef function,
                               RuntimeValues inputs, Context context,
                               const CustomCalls &customCalls) {
  TILEWRIGHT_ASSIGN(std::vector<RuntimeValues> results,
                    evaluateRanks(module, function, RankGrid{}, {std::move(inputs)},
                                  std::move(context), customCalls));
  return std::move(results.front());
}

} // namespace tilewright::interpret
