#include "tilewright/transform/simplify/ApproxTopK.h"

#include "tilewright/dialect/stablehlo/ops/CallOps.h"
#include "tilewright/dialect/stablehlo/ops/ControlFlowOps.h"
#include "tilewright/dialect/stablehlo/ops/DataMovementOps.h"
#include "tilewright/dialect/stablehlo/ops/ReductionOps.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"

using namespace mlir;

namespace tilewright::simplify {
namespace {

struct TopK {
  func::FuncOp comparator;
  int64_t dimension = 0;
  SmallVector<Value> inputs;
};

/// The call's configuration. For older readers, JAX may write it as a separate attribute.
DictionaryAttr configOf(stablehlo::CustomCallOp call) {
  if (auto beside = call->getAttrOfType<DictionaryAttr>("mhlo.backend_config"))
    return beside;
  return dyn_cast_or_null<DictionaryAttr>(call.getBackendConfig().value_or(Attribute()));
}

/// The parameters of a call; nullopt if it does not have the form that JAX generates: n tensors, n
/// scalars as initial values, and a function that compares n pairs of entries.
std::optional<TopK> topKOf(stablehlo::CustomCallOp call, ModuleOp module) {
  DictionaryAttr config = configOf(call);
  auto dimension = config ? config.getAs<IntegerAttr>("reduction_dim") : nullptr;
  std::optional<ArrayAttr> called = call.getCalledComputations();
  const size_t count = call->getNumResults();
  if (!dimension || !called || called->size() != 1 || call.getInputs().size() != 2 * count)
    return std::nullopt;
  auto comparator =
      module.lookupSymbol<func::FuncOp>(cast<FlatSymbolRefAttr>((*called)[0]).getValue());
  if (!comparator || comparator.isExternal() || comparator.getNumArguments() != 2 * count ||
      comparator.getNumResults() != 1)
    return std::nullopt;
  TopK topK{comparator, dimension.getInt(), llvm::to_vector(call.getInputs().take_front(count))};
  for (auto [input, result] : llvm::zip_equal(topK.inputs, call->getResults())) {
    auto from = dyn_cast<RankedTensorType>(input.getType());
    auto to = dyn_cast<RankedTensorType>(result.getType());
    if (!from || !to || !from.hasStaticShape() || !to.hasStaticShape() || topK.dimension < 0 ||
        from.getRank() != to.getRank() || topK.dimension >= from.getRank())
      return std::nullopt;
    for (unsigned dim = 0; dim < from.getRank(); ++dim)
      if (to.getDimSize(dim) > from.getDimSize(dim) ||
          (dim != topK.dimension && to.getDimSize(dim) != from.getDimSize(dim)))
        return std::nullopt;
  }
  return topK;
}

void sortInstead(stablehlo::CustomCallOp call, TopK topK) {
  OpBuilder builder(call);
  const Location location = call.getLoc();
  auto sort = stablehlo::SortOp::create(builder, location, ValueRange(topK.inputs).getTypes(),
                                        topK.inputs, builder.getI64IntegerAttr(topK.dimension),
                                        builder.getBoolAttr(true));
  {
    OpBuilder::InsertionGuard guard(builder);
    ArrayRef<Type> scalars = topK.comparator.getArgumentTypes();
    Block *body = builder.createBlock(&sort->getRegion(0), {}, scalars,
                                      SmallVector<Location>(scalars.size(), location));
    auto compared = func::CallOp::create(builder, location, topK.comparator, body->getArguments());
    stablehlo::ReturnOp::create(builder, location, compared.getResults());
  }
  for (auto [sorted, result] : llvm::zip_equal(sort->getResults(), call->getResults())) {
    auto type = cast<RankedTensorType>(result.getType());
    const SmallVector<int64_t> first(static_cast<size_t>(type.getRank()), 0), step(first.size(), 1);
    result.replaceAllUsesWith(
        stablehlo::SliceOp::create(builder, location, type, sorted, first, type.getShape(), step));
  }
  call.erase();
}

} // namespace

void makeTopKExact(ModuleOp module) {
  SmallVector<stablehlo::CustomCallOp> calls;
  module.walk([&](stablehlo::CustomCallOp call) {
    if (call.getCallTargetName() == "ApproxTopK")
      calls.push_back(call);
  });
  for (stablehlo::CustomCallOp call : calls)
    if (std::optional<TopK> topK = topKOf(call, module))
      sortInstead(call, *topK);
}

} // namespace tilewright::simplify
