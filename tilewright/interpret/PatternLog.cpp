#include "tilewright/interpret/PatternLog.h"

#include "tilewright/interpret/PassLog.h"
#include "tilewright/interpret/StopAt.h"
#include "tilewright/support/Concat.h"

#include "mlir/IR/Diagnostics.h"

namespace tilewright::interpret {

void PatternLog::notifyPatternBegin(const mlir::Pattern &pattern, mlir::Operation *op) {
  context = op->getContext();
  subject = describe(op);
  reason.clear();
  ForwardingListener::notifyPatternBegin(pattern, op);
}

void PatternLog::notifyMatchFailure(mlir::Location location,
                                    llvm::function_ref<void(mlir::Diagnostic &)> giveReason) {
  mlir::Diagnostic diagnostic(location, mlir::DiagnosticSeverity::Remark);
  giveReason(diagnostic);
  reason = diagnostic.str();
  ForwardingListener::notifyMatchFailure(location, giveReason);
}

void PatternLog::notifyPatternEnd(const mlir::Pattern &pattern, mlir::LogicalResult status) {
  const std::string name =
      pattern.getDebugName().empty() ? "an unnamed pattern" : pattern.getDebugName().str();
  if (mlir::succeeded(status))
    PassLog::print(pass, context, subject, concat(name, " applies"));
  else
    PassLog::print(
        pass, context, subject,
        concat(name, " does not apply: ", reason.empty() ? "it gives no reason" : reason));
  ForwardingListener::notifyPatternEnd(pattern, status);
}

} // namespace tilewright::interpret
