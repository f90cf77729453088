// Equations: a kernel as unknown layouts, the constraints between them, and the cost of each
// choice.
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

/// Interns layouts, so that facts about pairs of layouts can be cached.
class LayoutPool {
public:
  unsigned intern(const sm::Layout &layout);
  const sm::Layout &operator[](unsigned id) const { return layouts[id]; }

private:
  std::vector<sm::Layout> layouts;
  std::map<size_t, llvm::SmallVector<unsigned, 1>> byHash;
};

/// An unknown: the layout that some ops share. Maps, gathers, scans and loop-carried tiles share a
/// layout with their neighbours. A load, a store, a view, a reduction (the layout of its input) and
/// a matmul (the layout of its accumulator) each have an unknown of their own.
struct Unknown {
  llvm::SmallVector<mlir::Operation *> ops;
  llvm::SmallVector<int64_t> shape;
  int64_t elementBits = 32;
  /// The candidate layouts and, for a matmul, the operand layouts of each candidate.
  llvm::SmallVector<unsigned> candidates;
  struct Operands {
    unsigned lhs = 0, rhs = 0, lhsScale = 0, rhsScale = 0; // no scales: 0
  };
  llvm::SmallVector<Operands> operands;
  llvm::SmallVector<double> instructionCycles;
  /// Whether no candidates may be added; true only for a matmul.
  bool isFixed = false;
  /// Why there is no candidate.
  std::string refusal;
};

/// How the layout of a value, or the layout that a use needs, is derived from the unknown.
enum class Relation { same, reduced, viewSource, lhs, rhs, lhsScale, rhsScale };

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
  /// Identifies the view's map together with the types of its result and source.
  unsigned mapNumber = 0;
};

class Equations {
public:
  /// Reads the kernel. Emits an error at the first unsupported op and returns nullopt.
  static std::optional<Equations> of(tile::KernelOp kernel, const Machine &machine,
                                     llvm::function_ref<bool(tile::DotOp, std::string &)> takesDot);

  /// The problem of choosing one candidate for each unknown.
  ChoiceProblem problem();
  /// The layouts of all values and uses in a solution.
  Certificate certificate(const ChoiceSolution &solution);
  /// Explains why the unknowns of a contradiction exclude each other. The caller reports this at
  /// the first op.
  std::string explain(llvm::ArrayRef<unsigned> contradiction) const;
  /// Explains the layout chosen for an unknown, its cost, and how many more cycles the best
  /// solution without this layout takes. `problem` must be the result of problem().
  std::string explainChoice(unsigned unknown, const ChoiceProblem &problem,
                            const ChoiceSolution &solution) const;
  /// The chosen layout as text, and the shape of its tile, such as "64x32".
  std::string layoutOf(unsigned unknown, const ChoiceSolution &solution) const;
  std::string tileOf(unsigned unknown) const;
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
  double elementAccessCycles(unsigned layout, mlir::Operation *op);
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
