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

/// The strides of each input of the score function along queries and keys.
SmallVector<int64_t> stridesOfInputs(exec::SoftmaxDotOp op) {
  const auto query = static_cast<int64_t>(op.getSizes().size()) - 4, key = query + 1;
  SmallVector<int64_t> strides;
  for (unsigned input = 3; input < op.getOperands().size(); ++input) {
    auto type = cast<RankedTensorType>(op.getOperand(input).getType());
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

/// A scalar function that returns a value of the body, from the body's arguments from `first` on.
func::FuncOp functionOf(exec::SoftmaxDotOp op, Value result, unsigned first, StringRef name) {
  Block &body = op.getBody().front();
  OpBuilder builder(op.getContext());
  ArrayRef<BlockArgument> arguments = body.getArguments().drop_front(first);
  SmallVector<Type> types;
  for (BlockArgument argument : arguments)
    types.push_back(argument.getType());
  auto function =
      func::FuncOp::create(op.getLoc(), name, builder.getFunctionType(types, {result.getType()}));
  function.setPrivate();
  Block *entry = function.addEntryBlock();
  builder.setInsertionPointToEnd(entry);
  IRMapping mapping;
  mapping.map(arguments, entry->getArguments());
  // Only the ops that compute the result: visibility does not read the product.
  llvm::SetVector<Operation *> needed;
  SmallVector<Value> work = {result};
  while (!work.empty())
    if (Operation *source = work.pop_back_val().getDefiningOp(); source && needed.insert(source))
      llvm::append_range(work, source->getOperands());
  for (Operation &inner : body.without_terminator())
    if (needed.contains(&inner))
      builder.clone(inner, mapping);
  func::ReturnOp::create(builder, op.getLoc(), mapping.lookup(result));
  function->setAttr(scoreAttribute, builder.getDenseI64ArrayAttr(stridesOfInputs(op)));
  return function;
}

struct CpuLowerAttention : impl::CpuLowerAttentionPassBase<CpuLowerAttention> {
  void runOnOperation() override {
    SymbolTable symbols(getOperation());
    SmallVector<exec::SoftmaxDotOp> ops;
    getOperation().walk([&](exec::SoftmaxDotOp op) { ops.push_back(op); });
    for (exec::SoftmaxDotOp op : ops)
      lower(op, symbols);
  }

  static void lower(exec::SoftmaxDotOp op, SymbolTable &symbols) {
    OpBuilder builder(op);
    auto yield = cast<exec::YieldScoreOp>(op.getBody().front().getTerminator());
    func::FuncOp score = functionOf(op, yield.getScore(), 0, "score");
    score->setAttr(weightAttribute, op.getWeightTypeAttr());
    SmallVector<Attribute> bodies = {FlatSymbolRefAttr::get(symbols.insert(score))};
    IntegerAttr masked;
    if (yield.getVisible()) {
      func::FuncOp visible = functionOf(op, yield.getVisible(), 1, "visible");
      bodies.push_back(FlatSymbolRefAttr::get(symbols.insert(visible)));
      masked = builder.getI64IntegerAttr(
          static_cast<int64_t>(op.getMaskedScoreAttr().getValue().bitcastToAPInt().getZExtValue()));
    }
    SmallVector<int64_t> dims;
    for (Attribute list : op.getDims())
      llvm::append_range(dims, cast<DenseI64ArrayAttr>(list).asArrayRef());
    auto call = exec::AttentionOp::create(builder, op.getLoc(), op.getResult().getType(),
                                          op.getOperands(), op.getSizes(), dims, op.getWeightType(),
                                          masked, builder.getArrayAttr(bodies));
    op->replaceAllUsesWith(call.getOperation());
    op->erase();
  }
};

} // namespace
} // namespace tilewright::cpu
