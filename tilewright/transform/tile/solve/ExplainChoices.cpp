// Explains contradictions and choices in sentences.
#include "tilewright/dialect/source/Source.h"
#include "tilewright/transform/tile/solve/Equations.h"
#include "tilewright/transform/tile/solve/Work.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace tilewright;
using namespace tilewright::solve;

static std::string describe(Operation *op) {
  std::string text;
  llvm::raw_string_ostream out(text);
  out << "'" << op->getName() << "'";
  if (FileLineColLoc line = source::lineOf(op->getLoc()))
    out << " at " << line.getFilename().getValue() << ":" << line.getLine();
  return text;
}

std::string Equations::explain(ArrayRef<unsigned> contradiction) const {
  std::string text;
  llvm::raw_string_ostream out(text);
  if (contradiction.size() == 1) {
    const Unknown &unknown = unknowns[contradiction[0]];
    out << describe(unknown.ops.front()) << " has no layout: "
        << (unknown.refusal.empty()
                ? "its elements would go through shared memory, which has only " +
                      std::to_string(machine.sharedBytes) + " bytes; use smaller tiles"
                : unknown.refusal);
    return text;
  }
  out << "no combination of layouts fits these " << contradiction.size() << " ops: ";
  llvm::interleave(
      contradiction, out,
      [&](unsigned id) {
        out << describe(unknowns[id].ops.front()) << " (" << unknowns[id].candidates.size()
            << " layouts)";
      },
      ", ");
  // Several unknowns that have candidates exclude each other only if a conversion between them is
  // impossible.
  llvm::SmallVector<std::pair<Operation *, Operation *>> said;
  for (const TileUse &use : uses) {
    auto found = definitionOf.find(use.operand->get());
    if (found == definitionOf.end() || !llvm::is_contained(contradiction, use.unknown) ||
        !llvm::is_contained(contradiction, definitions[found->second].unknown))
      continue;
    auto type = tileType(use.operand->get());
    const int64_t bytes = type.getNumElements() * bitsOf(type.getElementType()) / 8;
    Value made = use.operand->get();
    Operation *maker =
        made.getDefiningOp() ? made.getDefiningOp() : made.getParentBlock()->getParentOp();
    const std::pair<Operation *, Operation *> pair(maker, use.operand->getOwner());
    if (bytes <= machine.sharedBytes || llvm::is_contained(said, pair))
      continue;
    said.push_back(pair);
    out << "; between " << describe(maker) << " and " << describe(use.operand->getOwner())
        << " a tile of " << bytes << " bytes would go through shared memory, which has only "
        << machine.sharedBytes << " bytes; use smaller tiles";
  }
  return text;
}

std::string Equations::explainChoice(unsigned id, const ChoiceProblem &problem,
                                     const ChoiceSolution &solution) const {
  const Unknown &unknown = unknowns[id];
  const unsigned chosen = solution.choice[id];
  std::string text;
  llvm::raw_string_ostream out(text);
  out << describe(unknown.ops.front());
  if (unknown.ops.size() > 1)
    out << " and " << unknown.ops.size() - 1 << " more";
  out << ": " << pool[unknown.candidates[chosen]]
      << llvm::formatv(", {0:f0} of {1:f0} cycles", problem.values[id][chosen], solution.cost);
  ChoiceProblem without = problem;
  without.values[id][chosen] = impossible;
  std::optional<ChoiceSolution> next = solveChoices(without);
  if (unknown.candidates.size() == 1)
    out << "; it is the only candidate";
  else if (!next)
    out << "; no other candidate is possible";
  else
    out << "; the best of " << unknown.candidates.size() - 1 << " other candidates, "
        << pool[unknown.candidates[next->choice[id]]]
        << llvm::formatv(", takes {0:f0} more", next->cost - solution.cost);
  return text;
}

std::string Equations::layoutOf(unsigned id, const ChoiceSolution &solution) const {
  return pool[unknowns[id].candidates[solution.choice[id]]].str();
}

std::string Equations::tileOf(unsigned id) const {
  std::string text;
  llvm::raw_string_ostream out(text);
  llvm::interleave(unknowns[id].shape, out, "x");
  return text;
}
