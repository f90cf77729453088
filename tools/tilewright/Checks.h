// The checks by which programs verify their own results (check.expect_eq …), for `tilewright run`.
#ifndef TOOLS_TILEWRIGHT_CHECKS_H
#define TOOLS_TILEWRIGHT_CHECKS_H

#include "tilewright/interpret/RuntimeValue.h"

#include <string_view>
#include <vector>

namespace mlir::func {
class FuncOp;
} // namespace mlir::func

namespace tilewright::tools {

/// Compares an actual result with the expected one.
using Check = Status (*)(const interpret::Tensor &actual, const interpret::Tensor &expected);

/// The check that a custom call names, with the name and the tolerance that it has in
/// interpret::CustomCalls::standard(); null if it names none.
Check checkNamed(std::string_view target);

/// Replaces the checks in the body of `function` by results: two for each, what it compares. A
/// Replaces the checks in the body of `function` by results: two for each check, the values that it
/// compares. So a machine that cannot call the host can run the program, and judge() compares
/// afterwards. Returns the checks in the order of their results, which follow the program's
/// results.
std::vector<Check> checksAsResults(mlir::func::FuncOp function);

/// Takes the results of `checks` from the end of `results` and compares them. Fails like the first
/// check that does not hold.
Status judge(const std::vector<Check> &checks, interpret::RuntimeValues &results);

} // namespace tilewright::tools

#endif // TOOLS_TILEWRIGHT_CHECKS_H
