// simplify-inline: flattens the program into one @main.
#include "tilewright/dialect/exec/ExecDialect.h"
#include "tilewright/dialect/stablehlo/ops/CallOps.h"
#include "tilewright/interpret/PassLog.h"
#include "tilewright/interpret/StopAt.h"
#include "tilewright/transform/simplify/ApproxTopK.h"
#include "tilewright/transform/simplify/Passes.h"
#include "tilewright/transform/simplify/RaggedDot.h"
#include "tilewright/transform/simplify/ScaledDot.h"

#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Remarks.h"
#include "mlir/IR/SymbolTable.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;

namespace tilewright::simplify {
#define GEN_PASS_DEF_INLINEPASS
#include "tilewright/transform/simplify/Passes.h.inc"

namespace {

/// A call or a composite that is replaced by the body of its callee.
struct Site {
  Operation *op;
  StringRef callee;
};

struct Inline : impl::InlinePassBase<Inline> {
  using InlinePassBase::InlinePassBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    if (keep.empty()) {
      kept.insert("chlo.erf");
      // GPUs have no library; there, kernels compute the sort in the decomposition.
      if (!exec::targetOf(module).isGpu())
        kept.insert("chlo.top_k");
    }
    for (const std::string &name : keep)
      kept.insert(name);
    makeTopKExact(module);
    if (!kept.contains("chlo.ragged_dot"))
      expandRaggedDots(module);
    if (failed(expandScaledDots(module)))
      return signalPassFailure();
    dropControlDependencies(module);
    SymbolTable symbols(module);

    // Flatten callees before callers, so that each body is flat when it is cloned.
    SmallVector<func::FuncOp> roots;
    for (func::FuncOp function : module.getOps<func::FuncOp>())
      if (function.isPublic())
        roots.push_back(function);
    for (func::FuncOp root : roots)
      if (failed(flatten(root, symbols)))
        return signalPassFailure();
    eraseUnusedFunctions(module);
  }

  /// Removes JAX's control_dep(src, dst), which requests that `src` is computed before `dst`. No
  /// value depends on that order, and the schedule chooses its own.
  static void dropControlDependencies(ModuleOp module) {
    SmallVector<stablehlo::CustomCallOp> requests;
    module.walk([&](stablehlo::CustomCallOp op) {
      if (op.getCallTargetName() == "control_dep" && op.getNumResults() == 0)
        requests.push_back(op);
    });
    for (stablehlo::CustomCallOp op : requests) {
      remark::missed(op.getLoc(), remark::RemarkOpts::name("inline").category("simplify"))
          << remark::add("{0}", "control_dep is ignored")
          << remark::reason("{0}", "the schedule phase chooses the order of ops");
      op.erase();
    }
  }

  /// Whether it takes the largest of a single element: then its decomposition folds to the operand
  /// and zero.
  static bool isTopOfOne(stablehlo::CompositeOp op) {
    auto type = op.getNumOperands() == 1 ? dyn_cast<RankedTensorType>(op.getOperand(0).getType())
                                         : RankedTensorType();
    return op.getName() == "chlo.top_k" && type && type.getRank() > 0 &&
           type.getShape().back() == 1;
  }

  std::optional<Site> siteOf(Operation *op) const {
    if (auto call = dyn_cast<func::CallOp>(op))
      return Site{op, call.getCallee()};
    if (auto composite = dyn_cast<stablehlo::CompositeOp>(op))
      if (!kept.contains(composite.getName()) || isTopOfOne(composite))
        return Site{op, composite.getDecomposition()};
    return std::nullopt;
  }

  /// Inlines all calls in `root` and, first, in the functions that it calls. Depth-first with an
  /// explicit stack, because a chain of calls may be as long as the program.
  LogicalResult flatten(func::FuncOp root, SymbolTable &symbols) {
    SmallVector<std::pair<func::FuncOp, bool>> stack{{root, false}};
    while (!stack.empty()) {
      auto [function, calleesDone] = stack.pop_back_val();
      if (opCount.contains(function))
        continue;
      SmallVector<Site> sites;
      int64_t count = 0;
      function.getBody().walk([&](Operation *op) {
        if (interpret::mustStopAt(op))
          return WalkResult::interrupt();
        ++count;
        if (std::optional<Site> site = siteOf(op))
          sites.push_back(*site);
        else if (auto composite = dyn_cast<stablehlo::CompositeOp>(op); composite && calleesDone)
          TILEWRIGHT_LOG(getArgument(), op, "is kept: targets support '", composite.getName(), "'");
        return WalkResult::advance();
      });
      if (WorkLimit::mustStop())
        return failure();
      if (!calleesDone) {
        stack.push_back({function, true});
        open.insert(function);
        for (const Site &site : sites) {
          auto callee = symbols.lookup<func::FuncOp>(site.callee);
          if (!callee || callee.isExternal())
            return site.op->emitOpError("calls '@") << site.callee << "', which has no body";
          if (open.contains(callee))
            return site.op->emitOpError("calls '@") << site.callee << "' recursively";
          if (!opCount.contains(callee))
            stack.push_back({callee, false});
        }
        continue;
      }
      open.erase(function);
      for (const Site &site : sites)
        // Inlining removes the call and the callee's return.
        count += opCount.lookup(symbols.lookup(site.callee)) - 2;
      if (count > maxOps)
        return function.emitError()
               << idOf(Error::simplifyTooLarge) << " simplify: '@" << function.getName() << "' has "
               << count << " operations once its calls are inlined, but the limit is "
               << maxOps.getValue() << "; raise simplify.max-ops";
      for (const Site &site : sites) {
        if (interpret::mustStopAt(site.op))
          return failure();
        TILEWRIGHT_LOG(getArgument(), site.op, "is replaced by the ",
                       opCount.lookup(symbols.lookup(site.callee)), " ops of '@", site.callee, "'");
        inlineSite(site, symbols.lookup<func::FuncOp>(site.callee));
      }
      opCount[function] = count;
    }
    return success();
  }

  void inlineSite(const Site &site, func::FuncOp callee) {
    OpBuilder builder(site.op);
    IRMapping mapping;
    Block &body = callee.getBody().front();
    mapping.map(body.getArguments(), site.op->getOperands());
    for (Operation &op : body.without_terminator()) {
      Operation *copy = builder.clone(op, mapping);
      copy->walk([&](Operation *inner) {
        inner->setLoc(CallSiteLoc::get(inner->getLoc(), site.op->getLoc()));
      });
    }
    for (auto [result, value] :
         llvm::zip_equal(site.op->getResults(), body.getTerminator()->getOperands()))
      result.replaceAllUsesWith(mapping.lookupOrDefault(value));
    site.op->erase();
  }

  /// Erases private functions that no public function reaches.
  static void eraseUnusedFunctions(ModuleOp module) {
    llvm::StringMap<func::FuncOp> unseen;
    SmallVector<func::FuncOp> seen;
    for (func::FuncOp function : module.getOps<func::FuncOp>()) {
      if (function.isPublic())
        seen.push_back(function);
      else
        unseen[function.getName()] = function;
    }
    auto see = [&](StringRef name) {
      if (auto found = unseen.find(name); found != unseen.end()) {
        seen.push_back(found->second);
        unseen.erase(found);
      }
    };
    while (!seen.empty())
      seen.pop_back_val().walk([&](Operation *op) {
        if (auto composite = dyn_cast<stablehlo::CompositeOp>(op))
          see(composite.getDecomposition());
        if (auto call = dyn_cast<stablehlo::CustomCallOp>(op); call && call.getCalledComputations())
          for (auto symbol : call.getCalledComputations()->getAsRange<FlatSymbolRefAttr>())
            see(symbol.getValue());
      });
    for (auto &entry : unseen)
      entry.second.erase();
  }

  llvm::StringSet<> kept;
  /// Functions whose callees are being flattened, to detect recursion.
  DenseSet<Operation *> open;
  /// The number of ops of each flattened function.
  DenseMap<Operation *, int64_t> opCount;
};

} // namespace
} // namespace tilewright::simplify
