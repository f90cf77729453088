// schedule-compare-orders: the predicted times of several orders of the same steps on a cluster.
#include "tilewright/predict/Simulate.h"
#include "tilewright/predict/XlaOrder.h"
#include "tilewright/transform/schedule/BlockProblem.h"
#include "tilewright/transform/schedule/Passes.h"

#include "llvm/Support/raw_ostream.h"

#include <numeric>

using namespace mlir;

namespace tilewright::schedule {

#define GEN_PASS_DEF_COMPAREORDERSPASS
#include "tilewright/transform/schedule/Passes.h.inc"

/// An order as a program for the simulator, with one class of ranks.
static predict::Program programOf(const OrderProblem &problem, const std::vector<unsigned> &order,
                                  int64_t ranks) {
  predict::Program program;
  program.classes = {{"all ranks", ranks}};
  program.names = {"step"};
  program.nodes.emplace_back().ops.resize(1);
  std::vector<uint32_t> exchangeOf(problem.steps.size());
  for (unsigned i : order) {
    const OrderStep &step = problem.steps[i];
    predict::Op op;
    if (step.kind == OrderStep::Kind::start) {
      exchangeOf[i] = static_cast<uint32_t>(program.exchanges.size());
      predict::Exchange exchange;
      exchange.name = "exchange";
      exchange.seconds = step.time * 1e-9;
      exchange.lane = exchange.level = step.lane;
      exchange.classes = {0};
      exchange.ranks = ranks;
      program.exchanges.push_back(exchange);
      op = {predict::Op::Kind::start, exchangeOf[i], 0};
    } else if (step.kind == OrderStep::Kind::done) {
      op = {predict::Op::Kind::done, exchangeOf[step.partner], 0};
    } else {
      op = {predict::Op::Kind::compute, 0, step.time * 1e-9};
    }
    program.nodes[0].ops[0].push_back(op);
  }
  return program;
}

namespace {

struct CompareOrders : impl::CompareOrdersPassBase<CompareOrders> {
  using CompareOrdersPassBase::CompareOrdersPassBase;

  void runOnOperation() override {
    func::FuncOp function = getOperation();
    if (function.isPrivate() || function.isExternal() || !hasCollective(function))
      return;
    Result<predict::Cluster> found = predict::findCluster(cluster);
    if (!found.isOk()) {
      function.emitError() << std::move(found).takeStatus().message();
      return signalPassFailure();
    }
    const StepCost cost(transform::Prices(exec::targetOf(function), *found));
    const BlockProblem described(function.getBody().front(), cost);
    const OrderProblem &problem = described.get();
    std::vector<unsigned> own(problem.steps.size());
    std::iota(own.begin(), own.end(), 0u);
    llvm::outs() << "order,seconds,compute,exposed,communication,peak bytes\n";
    print("program", problem, own, *found);
    print("xla", problem, predict::xlaOrder(problem), *found);
    print("xla latency hiding", problem, predict::xlaLatencyHidingOrder(problem), *found);
    print("ours", problem, predict::chooseOrder(problem, overlapMemory), *found);
  }

private:
  void print(StringRef name, const OrderProblem &problem, const std::vector<unsigned> &order,
             const predict::Cluster &cluster) {
    predict::SimulateOptions options;
    options.contention = cluster.contention;
    Result<predict::Outcome> outcome =
        predict::simulate(programOf(problem, order, cluster.ranks), options);
    if (!outcome.isOk()) {
      getOperation().emitError() << std::move(outcome).takeStatus().message();
      return signalPassFailure();
    }
    const predict::ClassTimes &times = outcome->classes[0];
    llvm::outs() << name << "," << times.end << "," << times.compute << "," << times.exposed << ","
                 << times.exchange << "," << predict::costOf(problem, order).peak << "\n";
  }
};

} // namespace
} // namespace tilewright::schedule
