// Evaluation: one run of one program on one rank. What handlers of ops see.
#ifndef TILEWRIGHT_INTERPRET_EVALUATION_H
#define TILEWRIGHT_INTERPRET_EVALUATION_H

#include "tilewright/interpret/Evaluator.h"
#include "tilewright/interpret/Plan.h"
#include "tilewright/interpret/Ranks.h"
#include "tilewright/interpret/RuntimeValue.h"
#include "tilewright/interpret/ScalarFunction.h"
#include "tilewright/interpret/kernels/RandomBits.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/SymbolTable.h"

namespace tilewright::interpret {

/// The values of one activation of a function.
struct Frame {
  const FunctionPlan &plan;
  std::vector<RuntimeValue> slots;
};

/// What the ranks of one evaluation share and none of them changes.
struct Program {
  mlir::ModuleOp module;
  mlir::SymbolTable symbols;
  const CustomCalls &customCalls;

  Program(mlir::ModuleOp module, const CustomCalls &customCalls)
      : module(module), symbols(module), customCalls(customCalls) {}
};

/// One rank's run. Not thread-safe: each rank has its own.
class Evaluation {
public:
  Evaluation(Program &program, Context context, Rank rank)
      : program(program), context(std::move(context)), rank(rank),
        random{static_cast<uint64_t>(rank.number), 0} {}

  /// Runs a function of the module.
  ///  - interpretFunction: there is none of this name, or the inputs do not fit it.
  ///  - interpretDepth: too many calls within calls.
  Result<RuntimeValues> call(llvm::StringRef function, RuntimeValues inputs);

  /// Runs a region of the function that `frame` belongs to.
  Result<RuntimeValues> run(mlir::Region &region, RuntimeValues arguments, Frame &frame);

  Program &program;
  Context context;
  const Rank rank;
  /// What `rng` draws from; each rank has its own numbers.
  RandomStream random;

private:
  Result<const FunctionPlan *> planOf(mlir::func::FuncOp function);
  Status runStep(const Step &step, Frame &frame);

  llvm::DenseMap<mlir::Operation *, std::unique_ptr<FunctionPlan>> plans;
  int64_t callDepth = 0;
  int64_t regionDepth = 0;
  /// Whether the failure on its way out already says where it happened.
  bool failurePlaced = false;
};

/// One op about to be evaluated.
class OpCall {
public:
  OpCall(mlir::Operation *op, Evaluation &evaluation, Frame &frame)
      : op(op), evaluation(evaluation), frame(frame) {}

  mlir::Operation *const op;
  Evaluation &evaluation;
  Frame &frame;
  RuntimeValues operands;
  RuntimeValues results;
  /// Set while results are still what quantized types express.
  bool givesExpressedValues = false;

  Context &context() { return evaluation.context; }

  const Tensor &tensor(size_t operand) const { return operands[operand].tensor(); }
  /// Operands `first`, `first + 1`, … as tensors.
  std::vector<Tensor> tensors(size_t first, size_t count) const;
  std::vector<Tensor> tensors() const { return tensors(0, operands.size()); }
  /// The elements of an integer operand.
  std::vector<int64_t> integers(size_t operand) const;

  mlir::RankedTensorType resultType(size_t result = 0) const;
  ElementType resultElementType(size_t result = 0) const;
  /// - interpretShape: the type has a dynamic dimension.
  Result<Shape> resultShape(size_t result = 0) const;

  /// Makes a kernel's answer the op's results.
  Status give(Result<Tensor> tensor);
  Status give(Result<std::vector<Tensor>> tensors);
  Status give(Result<RuntimeValues> values);

  Result<RuntimeValues> run(mlir::Region &region, RuntimeValues arguments) {
    return evaluation.run(region, std::move(arguments), frame);
  }
  /// A region over scalars as a function. It refers to this call's frame, so
  /// it must not outlive the call.
  Result<ScalarFunction> scalarFunction(mlir::Region &region);
};

/// The handlers of each subject, by op name.
using HandlerTable = llvm::StringMap<Handler>;
void addElementwiseHandlers(HandlerTable &table);
void addQuantizedHandlers(HandlerTable &table);
void addRandomHandlers(HandlerTable &table);
void addMovementHandlers(HandlerTable &table);
void addIndexingHandlers(HandlerTable &table);
void addDynamicShapeHandlers(HandlerTable &table);
void addLinearAlgebraHandlers(HandlerTable &table);
void addReductionHandlers(HandlerTable &table);
void addControlFlowHandlers(HandlerTable &table);
void addCallHandlers(HandlerTable &table);
void addCollectiveHandlers(HandlerTable &table);
void addShardingHandlers(HandlerTable &table);
void addTileHandlers(HandlerTable &table);

/// Adds `handle`, which takes the op as its own class:
///   add<stablehlo::IotaOp>(table, [](stablehlo::IotaOp op, OpCall &call) { … });
template <typename Op, typename Function> void add(HandlerTable &table, Function) {
  table[Op::getOperationName()] = [](OpCall &call) -> Status {
    return Function()(llvm::cast<Op>(call.op), call);
  };
}
/// The same for a function with a name: add<stablehlo::WhileOp, evaluateWhile>(table).
template <typename Op, Status (*function)(Op, OpCall &)> void add(HandlerTable &table) {
  table[Op::getOperationName()] = [](OpCall &call) -> Status {
    return function(llvm::cast<Op>(call.op), call);
  };
}

/// Evaluates an op on the values that quantized operands express, and quantizes
/// its results; an op without quantized types just runs.
Status onExpressedValues(OpCall &call, Handler handler);

/// As add(), for ops that compute with their elements and so must not see the
/// storage of quantized ones.
template <typename Op, Status (*function)(Op, OpCall &)> void addArithmetic(HandlerTable &table) {
  table[Op::getOperationName()] = [](OpCall &call) -> Status {
    return onExpressedValues(
        call, [](OpCall &call) -> Status { return function(llvm::cast<Op>(call.op), call); });
  };
}

} // namespace tilewright::interpret

#endif // TILEWRIGHT_INTERPRET_EVALUATION_H
