// PatternLog: logs every attempt of a rewrite pattern.
#ifndef TILEWRIGHT_INTERPRET_PATTERNLOG_H
#define TILEWRIGHT_INTERPRET_PATTERNLOG_H

#include "mlir/IR/PatternMatch.h"

#include <string>

namespace tilewright::interpret {

/// Prints to the PassLog of `pass` which patterns were applied to which ops, and why the others
/// were not: the reasons that they gave to `notifyMatchFailure`. Forwards every notification to
/// `next`, which may be null.
///
///   PatternLog log("simplify-canonicalize", config.getListener());
///   config.setListener(&log);
class PatternLog : public mlir::RewriterBase::ForwardingListener {
public:
  PatternLog(llvm::StringRef pass, mlir::OpBuilder::Listener *next)
      : ForwardingListener(next), pass(pass) {}

  void notifyPatternBegin(const mlir::Pattern &pattern, mlir::Operation *op) override;
  void notifyMatchFailure(mlir::Location location,
                          llvm::function_ref<void(mlir::Diagnostic &)> giveReason) override;
  void notifyPatternEnd(const mlir::Pattern &pattern, mlir::LogicalResult status) override;

private:
  const std::string pass;
  // The state of the current attempt. `subject` describes the op; it is set before the attempt,
  // because a pattern may erase the op.
  mlir::MLIRContext *context = nullptr;
  std::string subject, reason;
};

} // namespace tilewright::interpret

#endif // TILEWRIGHT_INTERPRET_PATTERNLOG_H
