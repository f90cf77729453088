#include "tilewright/target/CustomCalls.h"

#include "tilewright/dialect/exec/CallLayouts.h"
#include "tilewright/dialect/exec/ExecDialect.h"
#include "tilewright/dialect/stablehlo/Collectives.h"
#include "tilewright/support/Errors.h"
#include "tilewright/target/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"

using namespace mlir;

namespace tilewright::target {

#define GEN_PASS_DEF_LOWERCUSTOMCALLSPASS
#include "tilewright/target/Passes.h.inc"

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

/// Pairs of a result and the input with which it shares memory. Fails if one is an element of a
/// nested tuple.
static FailureOr<SmallVector<int64_t>> aliasesOf(stablehlo::CustomCallOp call) {
  SmallVector<int64_t> pairs;
  if (std::optional<ArrayAttr> aliases = call.getOutputOperandAliases())
    for (Attribute entry : *aliases) {
      auto alias = cast<stablehlo::OutputOperandAliasAttr>(entry);
      ArrayRef<int64_t> output = alias.getOutputTupleIndices();
      if (output.size() > 1 || !alias.getOperandTupleIndices().empty())
        return failure();
      pairs.push_back(output.empty() ? 0 : output[0]);
      pairs.push_back(alias.getOperandIndex());
    }
  return pairs;
}

std::string lowerCustomCall(stablehlo::CustomCallOp call) {
  StringRef target = call.getCallTargetName();
  if (isIdentity(target) && call.getInputs().size() == 1 && call->getNumResults() == 1 &&
      call.getInputs()[0].getType() == call->getResult(0).getType()) {
    call->replaceAllUsesWith(call.getInputs());
    call->erase();
    return "";
  }
  FailureOr<SmallVector<int64_t>> aliases = aliasesOf(call);
  if (failed(aliases))
    return "aliases an element of a nested tuple, which is not supported";
  // JAX also writes the dictionary of a typed call as a separate attribute, for older consumers.
  Attribute backend = call->getAttrOfType<DictionaryAttr>("mhlo.backend_config");
  auto version = stablehlo::CustomCallApiVersion::API_VERSION_TYPED_FFI;
  if (!backend) {
    backend = call.getBackendConfig().value_or(Attribute());
    version = call.getApiVersion();
  }
  OpBuilder builder(call);
  if (!backend) // version 4 has a dictionary as configuration, earlier ones a string
    backend = version == stablehlo::CustomCallApiVersion::API_VERSION_TYPED_FFI
                  ? Attribute(builder.getDictionaryAttr({}))
                  : Attribute(builder.getStringAttr(""));
  auto made = exec::CustomCallOp::create(
      builder, call.getLoc(), call->getResultTypes(), builder.getStringAttr(target),
      call.getInputs(), builder.getI32IntegerAttr(static_cast<int32_t>(version)), backend,
      call.getHasSideEffect() ? builder.getUnitAttr() : UnitAttr(),
      aliases->empty() ? DenseI64ArrayAttr() : builder.getDenseI64ArrayAttr(*aliases));
  // Pass the layouts that the handler expects; LAPACK routines, for example, expect column-major.
  if (call.getOperandLayouts() || call.getResultLayouts()) {
    made->setAttr("operand_layouts", builder.getDenseI64ArrayAttr(
                                         layoutsOf(call.getOperandLayouts(), call.getInputs())));
    made->setAttr("result_layouts", builder.getDenseI64ArrayAttr(
                                        layoutsOf(call.getResultLayouts(), call.getResults())));
  }
  if (call->hasAttr(exec::transposedAttr))
    made->setAttr(exec::transposedAttr, builder.getUnitAttr());
  call->replaceAllUsesWith(made);
  call->erase();
  return "";
}

namespace {

/// Whether the name is that of another dialect's op, written as a call. It has no handler: only a
/// target's own library or kernels can compute it.
bool isForeignOp(StringRef target) { return target.starts_with("mhlo.") || target == "TopK"; }

struct LowerCustomCalls : impl::LowerCustomCallsPassBase<LowerCustomCalls> {
  void runOnOperation() override {
    SmallVector<stablehlo::CustomCallOp> calls;
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (!function.isPrivate()) // a private function is never called: it only describes another op
        function.walk([&](stablehlo::CustomCallOp call) { calls.push_back(call); });
    for (stablehlo::CustomCallOp call : calls) {
      if (isForeignOp(call.getCallTargetName()) || stablehlo::isCollective(call))
        continue;
      if (std::string why = lowerCustomCall(call); !why.empty()) {
        call.emitError() << idOf(Error::planOp) << " transform: '" << call->getName() << "' @"
                         << call.getCallTargetName() << " " << why;
        signalPassFailure();
      }
    }
  }
};

} // namespace
} // namespace tilewright::target
