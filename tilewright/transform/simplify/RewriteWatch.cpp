#include "tilewright/transform/simplify/RewriteWatch.h"

#include "tilewright/interpret/StopAt.h"
#include "tilewright/support/Concat.h"
#include "tilewright/transform/simplify/Rules.h"

#include "mlir/IR/Diagnostics.h"

#include <algorithm>

using namespace mlir;

namespace tilewright::simplify {

/// The number of most recent rewrites to record, so that the error can name the rules that do not
/// terminate.
static constexpr int64_t rulesKept = 64;

/// Wraps a pattern and applies it through the watch.
class RewriteWatch::Guard : public RewritePattern {
public:
  static std::unique_ptr<Guard> before(std::unique_ptr<RewritePattern> rule, RewriteWatch &watch) {
    std::optional<OperationName> kind = rule->getRootKind();
    return std::unique_ptr<Guard>(kind ? new Guard(kind->getStringRef(), std::move(rule), watch)
                                       : new Guard(MatchAnyOpTypeTag(), std::move(rule), watch));
  }

  LogicalResult matchAndRewrite(Operation *op, PatternRewriter &rewriter) const override {
    return watch.apply(*rule, op, rewriter);
  }

private:
  template <typename Root>
  Guard(Root root, std::unique_ptr<RewritePattern> guarded, RewriteWatch &watch)
      : RewritePattern(root, guarded->getBenefit(), guarded->getContext()),
        rule(std::move(guarded)), watch(watch) {
    setDebugName(rule->getDebugName());
  }

  std::unique_ptr<RewritePattern> rule;
  RewriteWatch &watch;
};

void RewriteWatch::watch(RewritePatternSet &patterns) {
  for (std::unique_ptr<RewritePattern> &pattern : patterns.getNativePatterns())
    pattern = Guard::before(std::move(pattern), *this);
}

void RewriteWatch::notifyOperationInserted(Operation *op, OpBuilder::InsertPoint previous) {
  // An op that a rule only moves had a place before, and keeps its origin.
  if (applied && !previous.isSet())
    originOfOp[op] = applied->origin;
}

void RewriteWatch::notifyOperationErased(Operation *op) {
  originOfOp.erase(op);
  if (applied && applied->op == op)
    applied->op = nullptr;
}

LogicalResult RewriteWatch::apply(const RewritePattern &rule, Operation *op,
                                  PatternRewriter &rewriter) {
  if (!complaint.empty() || interpret::mustStopAt(op))
    return rewriter.notifyMatchFailure(op, complaint.empty() ? "the work limit is reached"
                                                             : "an error has stopped rewriting");
  // Most ops are never rewritten, so keep a new origin only if the rule applies.
  auto known = originOfOp.find(op);
  const bool isNew = known == originOfOp.end();
  const size_t origin = isNew ? origins.size() : known->second;
  if (isNew)
    origins.push_back({op->getName(), op->getLoc()});
  std::optional<Measure> before;
  if (checksProgress)
    before = measureOf(root);
  applied = {op, origin};
  LogicalResult result = rule.matchAndRewrite(op, rewriter);
  const bool isStillThere = applied->op != nullptr;
  applied.reset();
  if (failed(result)) {
    if (isNew)
      origins.pop_back();
    return result;
  }
  if (isStillThere)
    originOfOp[op] = origin;
  const int64_t count = ++origins[origin].rewrites;
  if (count > maxRewrites - rulesKept)
    lastRules.push_back(rule.getDebugName());
  if (count > maxRewrites)
    complainOfRewrites(origins[origin]);
  if (before)
    if (Measure after = measureOf(root); !isProgress(rule.getDebugName(), *before, after))
      complainOfProgress(origins[origin], rule.getDebugName(), *before, after);
  return result;
}

void RewriteWatch::complainOfRewrites(const Origin &origin) {
  llvm::sort(lastRules);
  lastRules.erase(llvm::unique(lastRules), lastRules.end());
  std::string names;
  for (StringRef rule : lastRules)
    names += concat(names.empty() ? "" : ", ", rule.str());
  complaint =
      concat("'", origin.name.getStringRef().str(), "' and the ops derived from it were rewritten ",
             origin.rewrites, " times, most recently by ", names,
             "; this is a compiler bug, unless simplify.max-rewrites is set low");
  place = origin.location;
}

void RewriteWatch::complainOfProgress(const Origin &origin, StringRef rule, const Measure &before,
                                      const Measure &after) {
  complaint =
      concat("rule ", rule.str(), " made no progress on '", origin.name.getStringRef().str(),
             "': ", toString(before), " became ", toString(after));
  place = origin.location;
}

LogicalResult RewriteWatch::verdict() const {
  if (complaint.empty())
    return success();
  return emitError(*place) << idOf(Error::simplifyEndless) << " simplify: " << complaint;
}

} // namespace tilewright::simplify
