#include "tilewright/runtime/cpu/matmul/Product.h"

#include "tilewright/support/Concat.h"

namespace tilewright::runtime::cpu {

using numerics::spelling;

Product::Product(MatmulProblem given, Candidates &candidates, Form form)
    : problem(std::move(given)), preferred(problem), candidates(candidates), form(form) {}

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
  if (form == Form::fused)
    name += " with an epilogue";
  return concat(name, ", ", CpuFeatures::host().name(), ", ", threads, " threads, ",
                CpuFeatures::modelOfHost(), ", kernels " TILEWRIGHT_MATMUL_SOURCES);
}

void Product::Contender::run(const MatmulOperands &operands, ThreadPool &pool) const {
  if (oneDnn)
    oneDnn->run(operands, pool);
  else
    matmul->run(operands, pool);
}

std::vector<Product::Contender> Product::contenders(unsigned threads, Decision &decision) const {
  std::vector<Contender> all;
  auto addOurs = [&](const Matmul::Choice &choice) {
    auto matmul = std::make_unique<Matmul>(problem, CpuFeatures::host(), choice);
    Candidate candidate{matmul->name(), matmul->order(threads)};
    for (const Candidate &other : decision.candidates)
      if (other.name == candidate.name)
        return;
    decision.candidates.push_back(std::move(candidate));
    all.push_back({std::move(matmul), nullptr});
  };
  addOurs({});
  addOurs({.allowDirect = false});
  const Matmul::Choice panels{.allowVector = false, .allowDirect = false};
  addOurs(panels);
  // Other tiles matter only if there are several.
  for (auto [rows, columns] : {std::pair<int64_t, int64_t>{128, 256}, {256, 128}, {512, 512}})
    if (problem.rows > rows / 2 && problem.columns > columns / 2) {
      Matmul::Choice tiles = panels;
      tiles.maxRows = rows, tiles.maxColumns = columns;
      addOurs(tiles);
    }
  addOurs({.allowVector = false, .allowDirect = false, .allowNarrowPanels = false});
  if (form == Form::fused) {
    decision.absent.push_back("onednn: cannot call the epilogue");
  } else if (auto oneDnn = OneDnnMatmul::create(problem, threads)) {
    const bool isExact = decision.candidates.front().order == "exact";
    decision.candidates.push_back({OneDnnMatmul::name(), isExact ? "exact" : "onednn"});
    all.push_back({nullptr, std::move(oneDnn)});
  } else {
    decision.absent.push_back(OneDnnMatmul::whyAbsent());
  }
  return all;
}

static void ignoreSums(void *const *, int64_t, int64_t, int64_t, int64_t, const void *, int64_t) {}

void Product::decide(MatmulOperands operands, ThreadPool &pool) const {
  std::lock_guard lock(mutex);
  if (isDecided.load(std::memory_order_relaxed))
    return;
  if (candidates.canChoose() && preferred.path() != Matmul::Path::empty) {
    Decision decision{.problem = problemName(pool.threadCount())};
    std::vector<Contender> all = contenders(pool.threadCount(), decision);
    if (form == Form::fused)
      operands.epilogue = {ignoreSums, nullptr};
    const size_t choice =
        candidates.choose(std::move(decision), [&](size_t i) { all[i].run(operands, pool); });
    if (choice > 0)
      winner = std::make_unique<Contender>(std::move(all[choice]));
  }
  isDecided.store(true, std::memory_order_release);
}

void Product::run(const MatmulOperands &operands, ThreadPool &pool) const {
  const Form given = operands.epilogue.apply ? Form::fused : Form::plain;
  if (given != form || operands.lhsPrologue.make || operands.rhsPrologue.make)
    return preferred.run(operands, pool);
  if (!isDecided.load(std::memory_order_acquire))
    decide(operands, pool);
  if (winner)
    winner->run(operands, pool);
  else
    preferred.run(operands, pool);
}

} // namespace tilewright::runtime::cpu
