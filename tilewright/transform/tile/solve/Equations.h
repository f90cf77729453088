// Equations: a kernel as unknown layouts, what ties them together, and what each choice costs.
#ifndef TILEWRIGHT_TRANSFORM_TILE_SOLVE_EQUATIONS_H
#define TILEWRIGHT_TRANSFORM_TILE_SOLVE_EQUATIONS_H

#include "tilewright/dialect/sm/SmDialect.h"
#include "tilewright/transform/tile/solve/Certificate.h"
#include "tilewright/transform/tile/solve/Costs.h"
#include "tilewright/transform/tile/solve/Search.h"

#include "llvm/ADT/DenseMap.h"

#include <map>
#include <string>

namespace tilewright::solve {

/// Layouts by number, so that what is known of a pair is looked up and not computed again.
class LayoutPool {
public:
  unsigned intern(const sm::Layout &layout);
  const sm::Layout &operator[](unsigned id) const { return layouts[id]; }

private:
  std::vector<sm::Layout> layouts;
  std::map<size_t, llvm::SmallVector<unsigned, 1>> byHash;
};

/// One unknown: the layout that some ops share. Maps, gathers, scans and what loops carry share
/// theirs with their neighbours; a load, a store, a view, a reduction (its input's) and a product
/// (its accumulator's) have their own.
struct Unknown {
  llvm::SmallVector<mlir::Operation *> ops;
  llvm::SmallVector<int64_t> shape;
  int64_t elementBits = 32;
  /// The layouts to choose from, and for a product those of its operands.
  llvm::SmallVector<unsigned> candidates;
  llvm::SmallVector<std::pair<unsigned, unsigned>> operands;
  llvm::SmallVector<double> instructionCycles;
  /// Only a product's candidates are complete from the start.
  bool isFixed = false;
  /// Why there is no candidate.
  std::string refusal;
};

/// How the layout of a value or the one that a use needs follows from the unknown's.
enum class Relation { same, reduced, viewSource, lhs, rhs };

struct TileDefinition {
  mlir::Value value;
  unsigned unknown;
  Relation relation = Relation::same;
};

struct TileUse {
  mlir::OpOperand *operand;
  unsigned unknown;
  Relation relation = Relation::same;
  std::optional<sm::ViewMap> map;
  /// Equal for equal maps between equal shapes.
  unsigned mapNumber = 0;
};

class Equations {
public:
  /// Reads the kernel. What it cannot express is in `error`, with the op.
  static std::optional<Equations> of(tile::KernelOp kernel, const Machine &machine,
                                     llvm::function_ref<bool(tile::DotOp, std::string &)> takesDot);

  /// The problem of choosing one candidate for each unknown.
  ChoiceProblem problem();
  /// What a choice means for values and uses.
  Certificate certificate(const ChoiceSolution &solution);
  /// Why the unknowns of a contradiction cannot be together, in words; the first op is where to
  /// report it.
  std::string explain(llvm::ArrayRef<unsigned> contradiction) const;
  /// What was chosen for an unknown and what it costs there, then how many cycles the best solution
  /// without it takes more. `problem` is this one's.
  std::string explainChoice(unsigned unknown, const ChoiceProblem &problem,
                            const ChoiceSolution &solution) const;
  mlir::Operation *opOf(unsigned unknown) const { return unknowns[unknown].ops.front(); }
  size_t unknownCount() const { return unknowns.size(); }

private:
  explicit Equations(const Machine &machine) : machine(machine) {}

  void addCandidates();
  bool propose(unsigned unknown, const std::optional<sm::Layout> &layout);
  std::optional<unsigned> layoutOf(const TileDefinition &definition, size_t candidate);
  std::optional<unsigned> neededBy(const TileUse &use, size_t candidate);
  std::optional<unsigned> throughView(const TileUse &use, unsigned layout, bool toSource);
  std::optional<unsigned> reduced(unsigned layout, llvm::ArrayRef<int64_t> dims);
  double convertCycles(unsigned from, unsigned to, mlir::RankedTensorType type);
  double accessCycles(unsigned layout, mlir::Operation *op);
  double costOf(const Unknown &unknown, size_t candidate);

  Machine machine;
  LayoutPool pool;
  std::vector<Unknown> unknowns;
  std::vector<TileDefinition> definitions;
  std::vector<TileUse> uses;
  llvm::DenseMap<mlir::Value, unsigned> definitionOf;
  std::map<std::tuple<unsigned, unsigned, const void *>, double> converts;
  std::map<std::tuple<unsigned, const void *, const void *, const void *, bool>, double> accesses;
  std::map<std::pair<unsigned, std::vector<int64_t>>, std::optional<unsigned>> reductions;
  std::map<std::tuple<unsigned, unsigned, bool>, std::optional<unsigned>> views;
};

} // namespace tilewright::solve

#endif // TILEWRIGHT_TRANSFORM_TILE_SOLVE_EQUATIONS_H
