// Evaluation: one run of a program on one rank, and the interface that op handlers use.
#ifndef TILEWRIGHT_INTERPRET_EVALUATION_H
#define TILEWRIGHT_INTERPRET_EVALUATION_H

#include "tilewright/interpret/Evaluator.h"
#include "tilewright/interpret/Plan.h"
#include "tilewright/interpret/RuntimeValue.h"
#include "tilewright/interpret/ScalarFunction.h"
#include "tilewright/interpret/kernels/RandomBits.h"
#include "tilewright/interpret/ranks/Ranks.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/SymbolTable.h"

namespace tilewright::interpret {

/// The values of one activation of a function.
struct Frame {
  const FunctionPlan &plan;
  std::vector<RuntimeValue> slots;
};

/// Immutable state that the ranks of one evaluation share.
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
  ///  - interpretFunction: no function has this name, or the inputs do not match it.
  ///  - interpretDepth: calls are nested too deeply.
  Result<RuntimeValues> call(llvm::StringRef function, RuntimeValues inputs);

  /// Runs a region of the function that `frame` belongs to.
  Result<RuntimeValues> run(mlir::Region &region, RuntimeValues arguments, Frame &frame);

  Program &program;
  Context context;
  const Rank rank;
  /// The random stream of `rng`; each rank has its own.
  RandomStream random;

private:
  Result<const FunctionPlan *> planOf(mlir::func::FuncOp function);
  Status runOp(const PlannedOp &planned, Frame &frame);

  llvm::DenseMap<mlir::Operation *, std::unique_ptr<FunctionPlan>> plans;
  int64_t callDepth = 0;
  int64_t regionDepth = 0;
  /// Whether the error being returned already contains a location.
  bool failurePlaced = false;
};

/// One op to be evaluated, with its operands and results.
class OpCall {
public:
  OpCall(mlir::Operation *op, Evaluation &evaluation, Frame &frame)
      : op(op), evaluation(evaluation), frame(frame) {}

  mlir::Operation *const op;
  Evaluation &evaluation;
  Frame &frame;
  RuntimeValues operands;
  RuntimeValues results;
  /// Set while the results of quantized types are computed as expressed values.
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

  /// Sets the op's results to those of a kernel.
  Status give(Result<Tensor> tensor);
  Status give(Result<std::vector<Tensor>> tensors);
  Status give(Result<RuntimeValues> values);

  Result<RuntimeValues> run(mlir::Region &region, RuntimeValues arguments) {
    return evaluation.run(region, std::move(arguments), frame);
  }
  /// Translates a scalar region to a function. The function refers to this call's frame, so it must
  /// not outlive the call.
  Result<ScalarFunction> scalarFunction(mlir::Region &region);
};

/// Maps op names to handlers. Each function below adds the handlers of one topic.
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
/// Evaluates the custom call that stablehlo::isRaggedAllToAll() recognizes.
///  - raggedRows (E6030)
Status evaluateRaggedAllToAll(OpCall &call);
void addTileHandlers(HandlerTable &table);

/// Registers a handler that takes the op as its own class:
///   add<stablehlo::IotaOp>(table, [](stablehlo::IotaOp op, OpCall &call) { … });
template <typename Op, typename Function> void add(HandlerTable &table, Function) {
  table[Op::getOperationName()] = [](OpCall &call) -> Status {
    return Function()(llvm::cast<Op>(call.op), call);
  };
}
/// Registers a named function as a handler: add<stablehlo::WhileOp, evaluateWhile>(table).
template <typename Op, Status (*function)(Op, OpCall &)> void add(HandlerTable &table) {
  table[Op::getOperationName()] = [](OpCall &call) -> Status {
    return function(llvm::cast<Op>(call.op), call);
  };
}

/// Dequantizes the operands, evaluates the op on the expressed values, and quantizes its results.
/// An op without quantized types runs directly.
Status onExpressedValues(OpCall &call, Handler handler);

/// Like add(), for ops that compute with elements and so must see expressed values instead of the
/// storage of quantized operands.
template <typename Op, Status (*function)(Op, OpCall &)> void addArithmetic(HandlerTable &table) {
  table[Op::getOperationName()] = [](OpCall &call) -> Status {
    return onExpressedValues(
        call, [](OpCall &call) -> Status { return function(llvm::cast<Op>(call.op), call); });
  };
}

} // namespace tilewright::interpret

#endif // TILEWRIGHT_INTERPRET_EVALUATION_H
