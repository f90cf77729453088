#include "tools/tilewright/Checks.h"

#include "tilewright/dialect/stablehlo/StablehloOps.h"
#include "tilewright/interpret/Checks.h"
#include "tilewright/support/Concat.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace tilewright::interpret;

namespace tilewright::tools {

Check checkNamed(std::string_view target) {
  if (target == "check.expect_eq")
    return expectEqual;
  if (target == "check.expect_close")
    return [](const Tensor &actual, const Tensor &expected) {
      return expectClose(actual, expected, 3);
    };
  if (target == "check.expect_almost_eq")
    return [](const Tensor &actual, const Tensor &expected) {
      return expectAlmostEqual(actual, expected, 0.001);
    };
  return nullptr;
}

std::vector<Check> checksAsResults(mlir::func::FuncOp function) {
  std::vector<Check> checks;
  if (!function.getBody().hasOneBlock())
    return checks;
  mlir::Operation *end = function.getBody().front().getTerminator();
  llvm::SmallVector<mlir::Value> compared;
  for (auto call :
       llvm::make_early_inc_range(function.getBody().getOps<stablehlo::CustomCallOp>())) {
    const llvm::StringRef target = call.getCallTargetName();
    Check check = checkNamed({target.data(), target.size()});
    // The compiler rejects a check that does not compare two tensors of one type.
    if (!check || call->getNumOperands() != 2 || call->getNumResults() != 0 ||
        call->getOperand(0).getType() != call->getOperand(1).getType())
      continue;
    checks.push_back(check);
    llvm::append_range(compared, call->getOperands());
    call->erase();
  }
  if (checks.empty())
    return checks;
  const unsigned first = function.getNumResults();
  for (auto [i, value] : llvm::enumerate(compared))
    if (mlir::failed(function.insertResult(first + unsigned(i), value.getType(), {})))
      llvm_unreachable("results can be added to a function at its end");
  end->insertOperands(end->getNumOperands(), compared);
  return checks;
}

Status judge(const std::vector<Check> &checks, RuntimeValues &results) {
  const size_t first = results.size() - 2 * checks.size();
  Status verdict;
  for (size_t i = 0; i < checks.size() && verdict.isOk(); ++i)
    verdict = checks[i](results[first + 2 * i].tensor(), results[first + 2 * i + 1].tensor());
  results.erase(results.begin() + ptrdiff_t(first), results.end());
  return verdict;
}

} // namespace tilewright::tools
