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

/// LAPACK and the like, which the runtime's library has under the same name.
static bool isLibrary(StringRef target) {
  return target.starts_with("lapack_") && target.ends_with("_ffi");
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
  Attribute backend = call.getBackendConfig().value_or(Attribute());
  if (target == "mhlo.topk" || target == "TopK") {
    auto attributes = call->getAttrOfType<DictionaryAttr>("mhlo.attributes");
    Config config(op->getContext());
    if (attributes)
      for (NamedAttribute entry : attributes)
        config.flatten(entry.getName(), entry.getValue());
    replaceByLibrary(op, "top_k", config);
    return success();
  }
  if (isLibrary(target)) {
    Config config(op->getContext());
    if (auto dictionary = dyn_cast_or_null<DictionaryAttr>(backend))
      for (NamedAttribute entry : dictionary)
        if (!config.flatten(entry.getName(), entry.getValue()))
          return refuse(op, "has attribute '" + entry.getName().getValue() +
                                "', which is neither a number nor a string");
    config.set("operand_layouts", layoutsOf(call.getOperandLayouts(), call.getInputs()));
    config.set("result_layouts", layoutsOf(call.getResultLayouts(), call.getResults()));
    replaceByLibrary(op, target, config, {}, *aliases);
    return success();
  }
  OpBuilder builder(op);
  if (!backend) // the configuration of version 4 is a dictionary, before it is a string
    backend = call.getApiVersion() == stablehlo::CustomCallApiVersion::API_VERSION_TYPED_FFI
                  ? Attribute(builder.getDictionaryAttr({}))
                  : Attribute(builder.getStringAttr(""));
  auto made = exec::CustomCallOp::create(
      builder, op->getLoc(), op->getResultTypes(), builder.getStringAttr(target), call.getInputs(),
      builder.getI32IntegerAttr(static_cast<int32_t>(call.getApiVersion())), backend,
      call.getHasSideEffect() ? builder.getUnitAttr() : UnitAttr(),
      aliases->empty() ? DenseI64ArrayAttr() : builder.getDenseI64ArrayAttr(*aliases));
  // Handlers that ask for other orders of memory than row-major get none: say so to the runtime.
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
