// Lowers custom calls: those that represent library functions here, all others as for every target.
#include "tilewright/target/CustomCalls.h"
#include "tilewright/target/cpu/lower/Lowering.h"

using namespace mlir;

namespace tilewright::cpu {

LogicalResult Lowering::lowerCustomCall(Operation *op) {
  auto call = cast<stablehlo::CustomCallOp>(op);
  StringRef target = call.getCallTargetName();
  if (target == "mhlo.topk" || target == "TopK")
    return lowerTopK(op, call->getAttrOfType<DictionaryAttr>("mhlo.attributes"));
  if (std::string why = target::lowerCustomCall(call); !why.empty())
    return refuse(op, why);
  return success();
}

} // namespace tilewright::cpu
