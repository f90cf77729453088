// cpu-lower-attention: attention as a call of the library, with functions for its scores.
#include "tilewright/dialect/exec/LibraryOps.h"
#include "tilewright/dialect/exec/SoftmaxOps.h"
#include "tilewright/target/cpu/Passes.h"
#include "tilewright/target/cpu/emit/AttentionEmitter.h"

#include "mlir/IR/IRMapping.h"
#include "mlir/IR/SymbolTable.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace tilewright::cpu {

#define GEN_PASS_DEF_CPULOWERATTENTIONPASS
#include "tilewright/target/cpu/Passes.h.inc"

namespace {

/// The strides of each input of the body along queries and keys; inputs are the operands from
/// `first` on.
template <typename Op> SmallVector<int64_t> stridesOfInputs(Op op, unsigned first) {
  const auto query = static_cast<int64_t>(op.getSizes().size()) - 4, key = query + 1;
  SmallVector<int64_t> strides;
  for (unsigned input = first; input < op->getNumOperands(); ++input) {
    auto type = cast<RankedTensorType>(op->getOperand(input).getType());
    ArrayRef<int64_t> dims = cast<DenseI64ArrayAttr>(op.getDims()[input]).asArrayRef();
    int64_t ofQuery = 0, ofKey = 0, stride = 1;
    for (size_t i = dims.size(); i-- > 0; stride *= type.getDimSize(static_cast<unsigned>(i))) {
      if (dims[i] == query)
        ofQuery = stride;
      if (dims[i] == key)
        ofKey = stride;
    }
    strides.append({ofQuery, ofKey});
  }
  return strides;
}

/// A scalar function that returns values of the body, from the body's arguments from `first` on.
func::FuncOp functionOf(Operation *op, ValueRange results, unsigned first, StringRef name,
                        ArrayRef<int64_t> strides) {
  Block &body = op->getRegion(0).front();
  OpBuilder builder(op->getContext());
  ArrayRef<BlockArgument> arguments = body.getArguments().drop_front(first);
  SmallVector<Type> types;
  for (BlockArgument argument : arguments)
    types.push_back(argument.getType());
  auto function =
      func::FuncOp::create(op->getLoc(), name, builder.getFunctionType(types, results.getTypes()));
  function.setPrivate();
  Block *entry = function.addEntryBlock();
  builder.setInsertionPointToEnd(entry);
  IRMapping mapping;
  mapping.map(arguments, entry->getArguments());
  // Clone only the ops that compute the results: the visibility does not read the product.
  llvm::SetVector<Operation *> needed;
  SmallVector<Value> work(results);
  while (!work.empty())
    if (Operation *source = work.pop_back_val().getDefiningOp(); source && needed.insert(source))
      llvm::append_range(work, source->getOperands());
  for (Operation &inner : body.without_terminator())
    if (needed.contains(&inner))
      builder.clone(inner, mapping);
  SmallVector<Value> returned;
  for (Value result : results)
    returned.push_back(mapping.lookup(result));
  func::ReturnOp::create(builder, op->getLoc(), returned);
  function->setAttr(scoreAttribute, builder.getDenseI64ArrayAttr(strides));
  return function;
}

/// The lists of all tensors, one after the other.
SmallVector<int64_t> joined(ArrayAttr lists) {
  SmallVector<int64_t> dims;
  for (Attribute list : lists)
    llvm::append_range(dims, cast<DenseI64ArrayAttr>(list).asArrayRef());
  return dims;
}

struct CpuLowerAttention : impl::CpuLowerAttentionPassBase<CpuLowerAttention> {
  void runOnOperation() override {
    SymbolTable symbols(getOperation());
    SmallVector<Operation *> ops;
    getOperation().walk([&](Operation *op) {
      if (isa<exec::SoftmaxDotOp, exec::SoftmaxDotBackwardOp>(op))
        ops.push_back(op);
    });
    for (Operation *op : ops) {
      OpBuilder builder(op);
      Operation *call = isa<exec::SoftmaxDotOp>(op)
                            ? lower(builder, cast<exec::SoftmaxDotOp>(op), symbols)
                            : lower(builder, cast<exec::SoftmaxDotBackwardOp>(op), symbols);
      op->replaceAllUsesWith(call);
      op->erase();
    }
  }

  static Operation *lower(OpBuilder &builder, exec::SoftmaxDotOp op, SymbolTable &symbols) {
    auto yield = cast<exec::YieldScoreOp>(op.getBody().front().getTerminator());
    const SmallVector<int64_t> strides = stridesOfInputs(op, 3);
    SmallVector<Value> results = {yield.getScore()};
    if (yield.getFactor())
      results.push_back(yield.getFactor());
    func::FuncOp score = functionOf(op, results, 0, "score", strides);
    score->setAttr(weightAttribute, op.getWeightTypeAttr());
    SmallVector<Attribute> bodies = {FlatSymbolRefAttr::get(symbols.insert(score))};
    IntegerAttr masked;
    if (yield.getVisible()) {
      func::FuncOp visible = functionOf(op, yield.getVisible(), 1, "visible", strides);
      bodies.push_back(FlatSymbolRefAttr::get(symbols.insert(visible)));
      masked = builder.getI64IntegerAttr(
          static_cast<int64_t>(op.getMaskedScoreAttr().getValue().bitcastToAPInt().getZExtValue()));
    }
    return exec::AttentionOp::create(builder, op.getLoc(), op->getResultTypes(), op.getOperands(),
                                     op.getSizes(), joined(op.getDims()), op.getWeightType(),
                                     masked, builder.getArrayAttr(bodies));
  }

  static Operation *lower(OpBuilder &builder, exec::SoftmaxDotBackwardOp op, SymbolTable &symbols) {
    auto yield = cast<exec::YieldGradientOp>(op.getBody().front().getTerminator());
    const SmallVector<int64_t> strides = stridesOfInputs(op, 5);
    func::FuncOp gradient =
        functionOf(op, {yield.getWeight(), yield.getGradient()}, 0, "gradient", strides);
    gradient->setAttr(gradientAttribute,
                      builder.getTypeArrayAttr({op.getWeightType(), op.getGradientType()}));
    SmallVector<Attribute> bodies = {FlatSymbolRefAttr::get(symbols.insert(gradient))};
    if (yield.getVisible()) {
      func::FuncOp visible = functionOf(op, yield.getVisible(), 3, "visible", strides);
      bodies.push_back(FlatSymbolRefAttr::get(symbols.insert(visible)));
    }
    return exec::AttentionBackwardOp::create(
        builder, op.getLoc(), op->getResultTypes(), op.getOperands(), op.getSizes(),
        joined(op.getDims()), op.getWeightType(), op.getGradientType(), op.getGradients(),
        static_cast<bool>(yield.getVisible()), builder.getArrayAttr(bodies));
  }
};

} // namespace
} // namespace tilewright::cpu
