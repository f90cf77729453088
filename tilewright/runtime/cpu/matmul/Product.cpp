#include "tilewright/runtime/cpu/matmul/Product.h"

#include "tilewright/support/Concat.h"

namespace tilewright::runtime::cpu {

using numerics::spelling;

Product::Product(MatmulProblem given, Candidates &candidates)
    : problem(std::move(given)), preferred(problem), candidates(candidates) {}

std::string Product::problemName(unsigned threads) const {
  auto sideName = [](const Placement &placement) {
    return placement.isEven() ? concat(placement.stride) : std::string("listed");
  };
  std::string name = concat("dot ", spelling(problem.lhsType), " ", spelling(problem.rhsType), " ",
                            spelling(problem.resultType), " ", problem.rows, "x", problem.summed,
                            "x", problem.columns, " strides ", sideName(problem.lhsRows), ",",
                            sideName(problem.lhsSummed), " ", sideName(problem.rhsSummed), ",",
                            sideName(problem.rhsColumns), " ", sideName(problem.resultRows), ",",
                            sideName(problem.resultColumns));
  if (problem.batchCount() != 1)
    name += concat(" batch ", problem.batchCount());
  return concat(name, ", ", CpuFeatures::host().name(), ", ", threads, " threads");
}

void Product::Contender::run(const MatmulOperands &operands, ThreadPool &pool) const {
  if (oneDnn)
    oneDnn->run(operands, pool);
  else
    matmul->run(operands, pool);
}

std::vector<Product::Contender> Product::contenders(unsigned threads) const {
  std::vector<Contender> all;
  auto addOurs = [&](const Matmul::Choice &choice) {
    auto matmul = std::make_unique<Matmul>(problem, CpuFeatures::host(), choice);
    std::string name = matmul->name();
    for (const Contender &other : all)
      if (other.name == name)
        return;
    all.push_back({std::move(name), std::move(matmul), nullptr});
  };
  addOurs({});
  addOurs({.allowDirect = false});
  addOurs({.allowVector = false, .allowDirect = false});
  addOurs({.allowVector = false, .allowDirect = false, .allowNarrowPanels = false});
  if (auto oneDnn = OneDnnMatmul::create(problem, threads))
    all.push_back({OneDnnMatmul::name(), nullptr, std::move(oneDnn)});
  return all;
}

void Product::decide(const MatmulOperands &operands, ThreadPool &pool) const {
  std::lock_guard lock(mutex);
  if (isDecided.load(std::memory_order_relaxed))
    return;
  if (candidates.settings().measure && preferred.path() != Matmul::Path::empty) {
    std::vector<Contender> all = contenders(pool.threadCount());
    std::vector<std::string> names;
    for (const Contender &each : all)
      names.push_back(each.name);
    const size_t choice = candidates.choose(problemName(pool.threadCount()), names,
                                            [&](size_t i) { all[i].run(operands, pool); });
    if (choice > 0)
      winner = std::make_unique<Contender>(std::move(all[choice]));
  }
  isDecided.store(true, std::memory_order_release);
}

void Product::run(const MatmulOperands &operands, ThreadPool &pool) const {
  if (operands.epilogue.apply || operands.lhsPrologue.make || operands.rhsPrologue.make)
    return preferred.run(operands, pool);
  if (!isDecided.load(std::memory_order_acquire))
    decide(operands, pool);
  if (winner)
    winner->run(operands, pool);
  else
    preferred.run(operands, pool);
}

} // namespace tilewright::runtime::cpu
