// Lowers custom calls: library functions, no-ops at run time, and user handlers.
#include "tilewright/target/cpu/lower/Lowering.h"

#include "tilewright/dialect/stablehlo/ops/CallOps.h"

using namespace mlir;

namespace tilewright::cpu {

/// Annotations of placement or sharding, which earlier stages have already processed.
static bool isIdentity(StringRef target) {
  return llvm::is_contained({"Sharding", "SPMDFullToShardShape", "SPMDShardToFullShape",
                             "LayoutConstraint", "annotate_device_placement", "MoveToHost",
                             "MoveToDevice", "xla.sdy.FuncResultSharding"},
                            target);
}

/// The minor-to-major orders of all values, concatenated; row-major if the call does not specify
/// one.
static SmallVector<int64_t> layoutsOf(std::optional<ArrayAttr> layouts, ValueRange values) {
  SmallVector<int64_t> flat;
  for (auto [number, value] : llvm::enumerate(values)) {
    auto type = dyn_cast<RankedTensorType>(value.getType());
    if (layouts && number < layouts->size()) {
      for (const APInt &dim : cast<DenseIntElementsAttr>((*layouts)[number]).getValues<APInt>())
        flat.push_back(dim.getSExtValue());
    } else if (type) {
      for (int64_t dim = type.getRank() - 1; dim >= 0; --dim)
        flat.push_back(dim);
    }
    if (!type) // a token, which a plan passes as an array of rank 1
      flat.push_back(0);
  }
  return flat;
}

/// Pairs of a result and the input that it shares memory with.
static FailureOr<SmallVector<int64_t>> aliasesOf(stablehlo::CustomCallOp call) {
  SmallVector<int64_t> pairs;
  if (std::optional<ArrayAttr> aliases = call.getOutputOperandAliases())
    for (Attribute entry : *aliases) {
      auto alias = cast<stablehlo::OutputOperandAliasAttr>(entry);
      ArrayRef<int64_t> output = alias.getOutputTupleIndices();
      if (output.size() > 1 || !alias.getOperandTupleIndices().empty())
        return refuse(call, "aliases an element of a nested tuple, which is not supported");
      pairs.push_back(output.empty() ? 0 : output[0]);
      pairs.push_back(alias.getOperandIndex());
    }
  return pairs;
}

LogicalResult Lowering::lowerCustomCall(Operation *op) {
  auto call = cast<stablehlo::CustomCallOp>(op);
  StringRef target = call.getCallTargetName();
  if (isIdentity(target) && call.getInputs().size() == 1 && call->getNumResults() == 1 &&
      call.getInputs()[0].getType() == call->getResult(0).getType()) {
    call->replaceAllUsesWith(call.getInputs());
    call->erase();
    return success();
  }
  FailureOr<SmallVector<int64_t>> aliases = aliasesOf(call);
  if (failed(aliases))
    return failure();
  // JAX also writes the dictionary of a typed call as a separate attribute, for older consumers.
  Attribute backend = call->getAttrOfType<DictionaryAttr>("mhlo.backend_config");
  auto version = stablehlo::CustomCallApiVersion::API_VERSION_TYPED_FFI;
  if (!backend) {
    backend = call.getBackendConfig().value_or(Attribute());
    version = call.getApiVersion();
  }
  if (target == "mhlo.topk" || target == "TopK")
    return lowerTopK(op, call->getAttrOfType<DictionaryAttr>("mhlo.attributes"));
  OpBuilder builder(op);
  if (!backend) // version 4 has a dictionary as configuration, earlier ones a string
    backend = version == stablehlo::CustomCallApiVersion::API_VERSION_TYPED_FFI
                  ? Attribute(builder.getDictionaryAttr({}))
                  : Attribute(builder.getStringAttr(""));
  auto made = exec::CustomCallOp::create(
      builder, op->getLoc(), op->getResultTypes(), builder.getStringAttr(target), call.getInputs(),
      builder.getI32IntegerAttr(static_cast<int32_t>(version)), backend,
      call.getHasSideEffect() ? builder.getUnitAttr() : UnitAttr(),
      aliases->empty() ? DenseI64ArrayAttr() : builder.getDenseI64ArrayAttr(*aliases));
  // Pass the layouts that the handler expects; LAPACK routines, for example, expect column-major.
  if (call.getOperandLayouts() || call.getResultLayouts()) {
    made->setAttr("operand_layouts", builder.getDenseI64ArrayAttr(
                                         layoutsOf(call.getOperandLayouts(), call.getInputs())));
    made->setAttr("result_layouts", builder.getDenseI64ArrayAttr(
                                        layoutsOf(call.getResultLayouts(), call.getResults())));
  }
  op->replaceAllUsesWith(made);
  op->erase();
  return success();
}

} // namespace tilewright::cpu
