// The candidates of each unknown, and their costs.
#include "tilewright/transform/tile/solve/Equations.h"
#include "tilewright/dialect/tile/SortOps.h"
#include "tilewright/dialect/tile/WindowOps.h"

#include "tilewright/transform/tile/solve/Candidates.h"
#include "tilewright/transform/tile/solve/Work.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace tilewright;
using namespace tilewright::solve;
using sm::Axis, sm::Layout;

/// The maximum number of layouts of an unknown. It is reached only if many different matmuls are
/// connected.
static constexpr size_t maxCandidates = 24;
/// The maximum number of registers of a layout; a thread would spill more to local memory.
static constexpr int64_t maxLayoutRegisters = 1024;

unsigned LayoutPool::intern(const Layout &layout) {
  llvm::SmallVector<unsigned, 1> &ids = byHash[hash_value(layout)];
  for (unsigned id : ids)
    if (layouts[id] == layout)
      return id;
  layouts.push_back(layout);
  ids.push_back(static_cast<unsigned>(layouts.size() - 1));
  return ids.back();
}

//===- Candidates ---------------------------------------------------------===//

bool Equations::propose(unsigned id, const std::optional<Layout> &layout) {
  Unknown &unknown = unknowns[id];
  if (!layout || unknown.isFixed || unknown.candidates.size() >= maxCandidates)
    return false;
  if (layout->rank() != static_cast<int64_t>(unknown.shape.size()) ||
      layout->extent(Axis::lane) != machine.lanes || layout->extent(Axis::warp) != machine.warps ||
      layout->extent(Axis::reg) > maxLayoutRegisters || !layout->isDense(Axis::reg))
    return false;
  for (int64_t dim = 0; dim < layout->rank(); ++dim)
    if (layout->cover(dim) < unknown.shape[dim])
      return false;
  const unsigned interned = pool.intern(*layout);
  if (llvm::is_contained(unknown.candidates, interned))
    return false;
  unknown.candidates.push_back(interned);
  return true;
}

void Equations::addCandidates() {
  // Tiles of the same shape and element width share their seed layouts.
  std::map<std::pair<std::vector<int64_t>, int64_t>, std::vector<Layout>> seeds;
  auto seed = [&](unsigned id) {
    Unknown &unknown = unknowns[id];
    auto [entry, isNew] = seeds.try_emplace(
        {std::vector<int64_t>(unknown.shape.begin(), unknown.shape.end()), unknown.elementBits});
    if (isNew)
      entry->second = blockedLayouts(unknown.shape, unknown.elementBits, machine);
    for (const Layout &layout : entry->second)
      propose(id, layout);
  };
  for (unsigned id = 0; id < unknowns.size(); ++id)
    if (isa<tile::LoadOp, tile::StoreOp, tile::GatherOp, tile::ScatterOp, tile::UpdateOp,
            tile::ReducePartsOp, tile::StorePartsOp>(unknowns[id].ops.front()))
      seed(id);
  // Propagates layouts along each edge in both directions, so that a choice without conversions
  // exists. Returns whether a candidate was added. Ops are in dataflow order, so a few rounds reach
  // nearly all of them.
  auto spread = [&] {
    bool any = false;
    auto along = [&](const TileUse &use) {
      auto found = definitionOf.find(use.operand->get());
      if (found == definitionOf.end())
        return;
      const TileDefinition &definition = definitions[found->second];
      if (definition.unknown == use.unknown)
        return;
      for (size_t i = 0; i < unknowns[definition.unknown].candidates.size(); ++i) {
        std::optional<unsigned> layout = layoutOf(definition, i);
        if (!layout || unknowns[use.unknown].isFixed)
          continue;
        if (use.relation == Relation::viewSource)
          layout = throughView(use, *layout, /*toSource=*/false);
        if (layout)
          any |= propose(use.unknown, pool[*layout]);
      }
      if (definition.relation != Relation::same)
        return;
      for (size_t i = 0; i < unknowns[use.unknown].candidates.size(); ++i)
        if (std::optional<unsigned> layout = neededBy(use, i))
          any |= propose(definition.unknown, pool[*layout]);
    };
    for (const TileUse &use : uses)
      along(use);
    for (const TileUse &use : llvm::reverse(uses))
      along(use);
    return any;
  };
  for (int round = 0; round < 4 && spread(); ++round)
    ;
  // Seed unknowns that no access reaches with layouts of their own.
  for (unsigned id = 0; id < unknowns.size(); ++id)
    if (unknowns[id].candidates.empty() && !unknowns[id].isFixed) {
      seed(id);
      for (int round = 0; round < 2 && spread(); ++round)
        ;
    }
}

std::optional<unsigned> Equations::throughView(const TileUse &use, unsigned layout, bool toSource) {
  if (!use.map)
    return std::nullopt;
  auto [entry, isNew] = views.try_emplace({use.mapNumber, layout, toSource});
  if (isNew)
    if (std::optional<Layout> result = toSource ? sm::sourceLayout(pool[layout], *use.map)
                                                : sm::resultLayout(pool[layout], *use.map))
      entry->second = pool.intern(*result);
  return entry->second;
}

std::optional<unsigned> Equations::reduced(unsigned layout, ArrayRef<int64_t> dims) {
  auto [entry, isNew] =
      reductions.try_emplace({layout, std::vector<int64_t>(dims.begin(), dims.end())});
  if (isNew)
    if (std::optional<Layout> result = pool[layout].reduce(dims))
      entry->second = pool.intern(*result);
  return entry->second;
}

std::optional<unsigned> Equations::layoutOf(const TileDefinition &definition, size_t candidate) {
  const unsigned layout = unknowns[definition.unknown].candidates[candidate];
  if (definition.relation == Relation::same)
    return layout;
  return reduced(layout, cast<tile::ReduceOp>(definition.value.getDefiningOp()).getDims());
}

std::optional<unsigned> Equations::neededBy(const TileUse &use, size_t candidate) {
  const Unknown &unknown = unknowns[use.unknown];
  switch (use.relation) {
  case Relation::lhs:
    return unknown.operands[candidate].lhs;
  case Relation::rhs:
    return unknown.operands[candidate].rhs;
  case Relation::lhsScale:
    return unknown.operands[candidate].lhsScale;
  case Relation::rhsScale:
    return unknown.operands[candidate].rhsScale;
  case Relation::viewSource:
    return throughView(use, unknown.candidates[candidate], /*toSource=*/true);
  default:
    return unknown.candidates[candidate];
  }
}

//===- Costs --------------------------------------------------------------===//

double Equations::convertCycles(unsigned from, unsigned to, RankedTensorType type) {
  if (from == to)
    return 0;
  auto [entry, isNew] = converts.try_emplace({from, to, type.getAsOpaquePointer()});
  if (isNew)
    entry->second =
        convertCost(pool[from], pool[to], type.getShape(), bitsOf(type.getElementType()), machine)
            .cycles;
  return entry->second;
}

double Equations::accessCycles(unsigned layout, Operation *op) {
  MemRefType whole;
  for (Value operand : op->getOperands())
    if (auto memory = dyn_cast<MemRefType>(operand.getType()))
      whole = memory;
  const bool isStore = op->getNumResults() == 0;
  RankedTensorType type = tileType(isStore ? op->getOperand(0) : op->getResult(0));
  auto strides = op->getAttrOfType<DenseI64ArrayAttr>("strides");
  auto [entry, isNew] =
      accesses.try_emplace({layout, whole.getAsOpaquePointer(), type.getAsOpaquePointer(),
                            strides ? strides.getAsOpaquePointer() : nullptr, isStore});
  if (isNew)
    entry->second = accessCost(pool[layout], type.getShape(), whole.getShape(),
                               strides ? strides.asArrayRef() : ArrayRef<int64_t>(),
                               bitsOf(type.getElementType()), isStore, machine);
  return entry->second;
}

/// The cost of accesses at computed indices, one for each element. Neighbours along the last
/// dimension are assumed to be neighbours in memory, as in whole rows.
double Equations::elementAccessCycles(unsigned layout, Operation *op) {
  RankedTensorType type = tileType(op->getNumResults() == 0 ? op->getOperand(0) : op->getResult(0));
  // Rows of an odd length rule out vectors.
  SmallVector<int64_t> whole(type.getShape());
  if (!whole.empty())
    whole.back() |= 1;
  const int64_t bits = bitsOf(type.getElementType());
  return computeCost(pool[layout], 8, bits, machine) +
         accessCost(pool[layout], type.getShape(), whole, {}, bits, op->getNumResults() == 0,
                    machine);
}

double Equations::costOf(const Unknown &unknown, size_t candidate) {
  const unsigned id = unknown.candidates[candidate];
  double cycles = 0;
  for (Operation *op : unknown.ops) {
    double own = 0;
    if (isa<tile::LoadOp, tile::StoreOp, tile::ReducePartsOp, tile::StorePartsOp>(op))
      own = accessCycles(id, op);
    else if (auto map = dyn_cast<tile::MapOp>(op))
      own = computeCost(pool[id], static_cast<double>(opsOf(map.getBody())), unknown.elementBits,
                        machine);
    else if (auto reduce = dyn_cast<tile::ReduceOp>(op))
      own = reduceCost(pool[id], reduce.getDims(), static_cast<double>(opsOf(reduce.getCombiner())),
                       unknown.elementBits, machine);
    else if (auto scan = dyn_cast<tile::ScanOp>(op))
      own = reduceCost(pool[id], {static_cast<int64_t>(scan.getDim())},
                       2.0 * static_cast<double>(opsOf(scan.getCombiner())), unknown.elementBits,
                       machine);
    else if (auto sort = dyn_cast<tile::SortOp>(op))
      own =
          sortCost(pool[id], unknown.shape, static_cast<int64_t>(sort.getDim()),
                   static_cast<double>(opsOf(sort.getComparator())), unknown.elementBits, machine);
    else if (isa<tile::GatherOp, tile::ScatterOp, tile::UpdateOp, tile::CarryOp>(op))
      own = elementAccessCycles(id, op);
    else if (isa<tile::TakeOp, tile::BucketOp>(op)) // a few accesses per element
      own = computeCost(pool[id], 32, unknown.elementBits, machine);
    else if (isa<tile::DotOp>(op))
      own = unknown.instructionCycles[candidate];
    cycles += own * tripCount(op);
  }
  return cycles;
}

ChoiceProblem Equations::problem() {
  ChoiceProblem problem;
  for (const Unknown &unknown : unknowns) {
    std::vector<double> costs;
    for (size_t i = 0; i < unknown.candidates.size(); ++i)
      costs.push_back(costOf(unknown, i));
    // Give an unknown without candidates an impossible value, which is a contradiction by itself.
    if (costs.empty())
      costs.push_back(impossible);
    problem.addVariable(std::move(costs));
  }
  auto countOf = [&](unsigned unknown) { return unknowns[unknown].candidates.size(); };
  for (const TileUse &use : uses) {
    auto type = tileType(use.operand->get());
    // If no source layout matches the view's layout, the view moves the elements between threads.
    std::vector<std::optional<unsigned>> needed;
    for (size_t i = 0; i < countOf(use.unknown); ++i) {
      needed.push_back(neededBy(use, i));
      if (!needed.back())
        problem.values[use.unknown][i] +=
            tripCount(use.operand->getOwner()) * moveCost(pool[unknowns[use.unknown].candidates[i]],
                                                          type.getNumElements(),
                                                          bitsOf(type.getElementType()), machine);
    }
    auto found = definitionOf.find(use.operand->get());
    if (found == definitionOf.end())
      continue;
    const TileDefinition &definition = definitions[found->second];
    const double iterations = tripCount(use.operand->get());
    auto cost = [&](size_t from, size_t to) {
      std::optional<unsigned> made = layoutOf(definition, from);
      if (!made)
        return impossible;
      return needed[to] ? iterations * convertCycles(*made, *needed[to], type) : 0;
    };
    if (definition.unknown == use.unknown) {
      for (size_t i = 0; i < needed.size(); ++i)
        problem.values[use.unknown][i] += cost(i, i);
      continue;
    }
    if (needed.empty() || countOf(definition.unknown) == 0)
      continue;
    ChoiceProblem::Edge edge{definition.unknown, use.unknown, {}};
    for (size_t i = 0; i < countOf(definition.unknown); ++i)
      for (size_t j = 0; j < needed.size(); ++j)
        edge.cost.push_back(cost(i, j));
    problem.edges.push_back(std::move(edge));
  }
  return problem;
}

Certificate Equations::certificate(const ChoiceSolution &solution) {
  Certificate certificate;
  certificate.lanes = machine.lanes, certificate.warps = machine.warps;
  certificate.cycles = solution.cost;
  for (const TileDefinition &definition : definitions)
    certificate.values[definition.value] =
        pool[*layoutOf(definition, solution.choice[definition.unknown])];
  for (const TileUse &use : uses) {
    if (std::optional<unsigned> needed = neededBy(use, solution.choice[use.unknown]))
      certificate.uses[use.operand] = pool[*needed];
    else
      certificate.moved.insert(use.operand->getOwner());
  }
  return certificate;
}
