#include "tilewright/driver/Hints.h"

#include "tilewright/dialect/exec/ExecDialect.h"
#include "tilewright/dialect/exec/Hint.h"
#include "tilewright/dialect/source/Source.h"
#include "tilewright/dialect/stablehlo/ops/LinearAlgebraOps.h"
#include "tilewright/support/Concat.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/Diagnostics.h"

using namespace mlir;

namespace tilewright::driver {

static constexpr llvm::StringLiteral openHints = "exec.hints";

/// The text of a user's hint for an op; null if there is none.
static StringAttr textOf(Operation *op) {
  auto annotations = op->getAttrOfType<DictionaryAttr>("mhlo.frontend_attributes");
  return annotations ? annotations.getAs<StringAttr>("tilewright") : StringAttr();
}

Status attachHints(ModuleOp module) {
  Status status;
  SmallVector<Attribute> texts;
  // JAX annotates every op of a scope. Ops that are not products have no tile to set.
  module.walk([&](Operation *op) {
    StringAttr text = textOf(op);
    if (!text || !isa<stablehlo::DotGeneralOp, stablehlo::DotOp, stablehlo::ConvolutionOp>(op))
      return WalkResult::advance();
    std::string why;
    const std::optional<exec::Hint> hint = exec::Hint::parse(text.getValue(), why);
    if (!hint) {
      status = Status(Error::optionValue, concat("hint '", text.getValue().str(), "' of ",
                                                 source::placeAndNameOf(op->getLoc()), ": ", why));
      return WalkResult::interrupt();
    }
    exec::setHint(op, *hint);
    if (auto canonical = StringAttr::get(module.getContext(), hint->toString());
        !llvm::is_contained(texts, canonical))
      texts.push_back(canonical);
    return WalkResult::advance();
  });
  if (!texts.empty())
    module->setDiscardableAttr(openHints, ArrayAttr::get(module.getContext(), texts));
  return status;
}

void reportOpenHints(ModuleOp module) {
  auto open = dyn_cast_if_present<ArrayAttr>(module->getDiscardableAttr(openHints));
  const bool isGpu = exec::targetOf(module).isGpu();
  for (Attribute text : open ? open.getValue() : ArrayRef<Attribute>())
    emitWarning(module.getLoc())
        << "hint '" << cast<StringAttr>(text).getValue() << "' is not used: "
        << (isGpu ? "its product became part of another kernel; 'tilewright explain fusion' shows "
                    "which"
                  : "the library of a CPU chooses tiles when it runs; 'tilewright tune' measures "
                    "them");
  module->removeDiscardableAttr(openHints);
}

} // namespace tilewright::driver
