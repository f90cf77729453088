// Custom calls: those of the library, those that are nothing at run time, and handlers.
#include "tilewright/target/cpu/lower/Lowering.h"

#include "tilewright/dialect/stablehlo/CallOps.h"

using namespace mlir;

namespace tilewright::cpu {

/// Annotations that placed or sharded a value; when code is made they have been followed.
static bool isIdentity(StringRef target) {
  return llvm::is_contained({"Sharding", "SPMDFullToShardShape", "SPMDShardToFullShape",
                             "LayoutConstraint", "annotate_device_placement", "MoveToHost",
                             "MoveToDevice", "xla.sdy.FuncResultSharding"},
                            target);
}

/// Minor-to-major orders one after another; row-major where the call says nothing.
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

/// Pairs of result and input that share memory.
static FailureOr<SmallVector<int64_t>> aliasesOf(stablehlo::CustomCallOp call) {
  SmallVector<int64_t> pairs;
  if (std::optional<ArrayAttr> aliases = call.getOutputOperandAliases())
    for (Attribute entry : *aliases) {
      auto alias = cast<stablehlo::OutputOperandAliasAttr>(entry);
      ArrayRef<int64_t> output = alias.getOutputTupleIndices();
      if (output.size() > 1 || !alias.getOperandTupleIndices().empty())
        return refuse(call, "aliases a part of a nested tuple");
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
  // JAX writes the dictionary of a typed call beside the op, for readers that are older than it.
  Attribute backend = call->getAttrOfType<DictionaryAttr>("mhlo.backend_config");
  auto version = stablehlo::CustomCallApiVersion::API_VERSION_TYPED_FFI;
  if (!backend) {
    backend = call.getBackendConfig().value_or(Attribute());
    version = call.getApiVersion();
  }
  if (target == "mhlo.topk" || target == "TopK") {
    auto attributes = call->getAttrOfType<DictionaryAttr>("mhlo.attributes");
    Config config(op->getContext());
    if (attributes)
      for (NamedAttribute entry : attributes)
        config.flatten(entry.getName(), entry.getValue());
    replaceByLibrary(op, "top_k", config);
    return success();
  }
  OpBuilder builder(op);
  if (!backend) // the configuration of version 4 is a dictionary, before it is a string
    backend = version == stablehlo::CustomCallApiVersion::API_VERSION_TYPED_FFI
                  ? Attribute(builder.getDictionaryAttr({}))
                  : Attribute(builder.getStringAttr(""));
  auto made = exec::CustomCallOp::create(
      builder, op->getLoc(), op->getResultTypes(), builder.getStringAttr(target), call.getInputs(),
      builder.getI32IntegerAttr(static_cast<int32_t>(version)), backend,
      call.getHasSideEffect() ? builder.getUnitAttr() : UnitAttr(),
      aliases->empty() ? DenseI64ArrayAttr() : builder.getDenseI64ArrayAttr(*aliases));
  // How the handler wants its buffers to lie: LAPACK takes columns.
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
