#include "tilewright/transform/tile/solve/Equations.h"

#include "tilewright/transform/tile/solve/Candidates.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

#include <numeric>

using namespace mlir;
using namespace tilewright;
using namespace tilewright::solve;
using sm::Axis, sm::Layout;

/// The most layouts that an unknown chooses among. More are found only where many different
/// products meet.
static constexpr size_t mostCandidates = 24;
/// A thread with more registers of one tile would hold it in local memory.
static constexpr int64_t mostRegisters = 1024;

static RankedTensorType tileType(Value value) {
  return dyn_cast<RankedTensorType>(value.getType());
}

static int64_t bitsOf(Type type) {
  if (type.isIndex())
    return 64;
  if (auto complex = dyn_cast<ComplexType>(type))
    return 2 * complex.getElementType().getIntOrFloatBitWidth();
  return type.getIntOrFloatBitWidth();
}

unsigned LayoutPool::intern(const Layout &layout) {
  llvm::SmallVector<unsigned, 1> &ids = byHash[hash_value(layout)];
  for (unsigned id : ids)
    if (layouts[id] == layout)
      return id;
  layouts.push_back(layout);
  ids.push_back(static_cast<unsigned>(layouts.size() - 1));
  return ids.back();
}

//===- What is computed again ---------------------------------------------===//

/// Whether a view moves whole dimensions only: every layout of its result has one of its source.
static bool movesWholeDimensions(tile::ViewOp view) {
  auto source = tileType(view.getSource());
  std::optional<sm::ViewMap> map =
      sm::viewMapOf(view.getMap(), view.getType().getShape(), source.getShape());
  if (!map)
    return false;
  for (auto [dim, form] : llvm::enumerate(map->source)) {
    if (form.constant != 0 || form.pieces.size() > 1)
      return false;
    if (form.pieces.empty() ? source.getDimSize(dim) > 1
                            : form.pieces[0].stride != 1 || form.pieces[0].weight != 1 ||
                                  form.pieces[0].size != map->resultShape[form.pieces[0].dim])
      return false;
  }
  return true;
}

/// Ops on scalars that one element of a map takes.
static int64_t opsOf(Region &body) {
  int64_t count = 0;
  for (Operation &op : body.front().without_terminator())
    count += op.getName().getDialectNamespace() == "math" ? 8 : 1;
  return count;
}

bool solve::isRematerialised(Value value) {
  Operation *op = value.getDefiningOp();
  if (!op)
    return false;
  if (isa<tile::IotaOp>(op))
    return true;
  if (auto load = dyn_cast<tile::LoadOp>(op))
    return load.getType().getNumElements() == 1;
  if (auto view = dyn_cast<tile::ViewOp>(op))
    return isRematerialised(view.getSource()) && movesWholeDimensions(view);
  if (auto map = dyn_cast<tile::MapOp>(op))
    return opsOf(map.getBody()) <= 8 && llvm::all_of(map.getInputs(), isRematerialised);
  return false;
}

double solve::turnsOf(Operation *op) {
  double turns = 1;
  for (auto loop = op->getParentOfType<scf::ForOp>(); loop;
       loop = loop->getParentOfType<scf::ForOp>()) {
    std::optional<int64_t> low = getConstantIntValue(loop.getLowerBound()),
                           high = getConstantIntValue(loop.getUpperBound()),
                           step = getConstantIntValue(loop.getStep());
    turns *=
        low && high && step && *step > 0
            ? std::max<double>(1, static_cast<double>(*high - *low) / static_cast<double>(*step))
            : 8;
  }
  return turns;
}

/// How often a value is made: an argument of a loop's body is, in every turn.
static double turnsOf(Value value) {
  if (Operation *op = value.getDefiningOp())
    return turnsOf(op);
  Block *block = value.getParentBlock();
  return block->empty() ? 1 : turnsOf(&block->front());
}

//===- From the kernel ----------------------------------------------------===//

namespace {
/// Collects unknowns; those of equal layouts are joined.
struct Collector {
  struct Slot {
    unsigned parent;
    Operation *op;
    Value tile; // for the shape
    bool joins; // with whatever it meets
  };
  std::vector<Slot> slots;
  struct PendingUse {
    OpOperand *operand;
    unsigned slot;
    Relation relation;
    std::optional<sm::ViewMap> map;
  };
  std::vector<PendingUse> uses;
  std::vector<std::pair<Value, std::pair<unsigned, Relation>>> definitions;
  Operation *unknownOp = nullptr;
  std::string error;

  unsigned find(unsigned slot) {
    while (slots[slot].parent != slot)
      slot = slots[slot].parent = slots[slots[slot].parent].parent;
    return slot;
  }

  unsigned add(Operation *op, Value tile, bool joins) {
    const auto slot = static_cast<unsigned>(slots.size());
    slots.push_back({slot, op, tile, joins});
    return slot;
  }

  void use(OpOperand &operand, unsigned slot, Relation relation = Relation::same,
           std::optional<sm::ViewMap> map = {}) {
    uses.push_back({&operand, slot, relation, std::move(map)});
  }

  void define(Value value, unsigned slot, Relation relation = Relation::same) {
    definitions.push_back({value, {slot, relation}});
  }

  /// Refuses the op; the first refusal counts.
  void refuse(Operation *op, const Twine &reason) {
    if (!unknownOp) {
      unknownOp = op;
      error = reason.str();
    }
  }

  void collect(Block &block) {
    for (Operation &op : block)
      collect(&op);
  }

  void collect(Operation *op) {
    if (auto loop = dyn_cast<scf::ForOp>(op)) {
      collectLoop(loop);
      return;
    }
    // Nothing is known of what is computed again until somebody uses it.
    if (op->getNumResults() == 1 && isRematerialised(op->getResult(0)))
      return;
    if (auto load = dyn_cast<tile::LoadOp>(op)) {
      define(load, add(op, load, false));
    } else if (auto store = dyn_cast<tile::StoreOp>(op)) {
      use(store.getTileMutable(), add(op, store.getTile(), false));
    } else if (isa<tile::MapOp, tile::GatherOp, tile::ScanOp>(op)) {
      const unsigned slot = add(op, op->getResult(0), true);
      for (OpOperand &operand : op->getOpOperands())
        if (tileType(operand.get()))
          use(operand, slot);
      for (Value result : op->getResults())
        define(result, slot);
    } else if (auto view = dyn_cast<tile::ViewOp>(op)) {
      std::optional<sm::ViewMap> map = sm::viewMapOf(view.getMap(), view.getType().getShape(),
                                                     tileType(view.getSource()).getShape());
      const unsigned slot = add(op, view, false);
      use(view.getSourceMutable(), slot, Relation::viewSource, std::move(map));
      define(view, slot);
    } else if (auto reduce = dyn_cast<tile::ReduceOp>(op)) {
      const unsigned slot = add(op, reduce.getInputs().front(), false);
      for (OpOperand &operand : reduce.getInputsMutable())
        use(operand, slot);
      for (Value result : reduce.getResults())
        define(result, slot, Relation::reduced);
    } else if (auto dot = dyn_cast<tile::DotOp>(op)) {
      if (dot.getLhsScale())
        return refuse(op, "has block scales, which no instruction of this chip takes");
      const unsigned slot = add(op, dot, false);
      use(dot.getLhsMutable(), slot, Relation::lhs);
      use(dot.getRhsMutable(), slot, Relation::rhs);
      use(dot.getAccMutable(), slot);
      define(dot, slot);
    } else if (!isa<tensor::ExtractOp>(op)) {
      for (Value value : op->getOperands())
        if (tileType(value))
          return refuse(op, "is no op on tiles that has layouts");
      for (Value value : op->getResults())
        if (tileType(value))
          return refuse(op, "is no op on tiles that has layouts");
      if (op->getNumRegions() != 0)
        op->walk([&](Operation *inner) {
          if (inner->getName().getDialectNamespace() == "tile")
            refuse(op, "has tiles in its region; only scf.for may");
        });
    }
  }

  void collectLoop(scf::ForOp loop) {
    auto yields = cast<scf::YieldOp>(loop.getBody()->getTerminator());
    for (auto [i, argument] : llvm::enumerate(loop.getRegionIterArgs())) {
      if (!tileType(argument))
        continue;
      const unsigned slot = add(loop, argument, true);
      use(loop.getInitArgsMutable()[i], slot);
      define(argument, slot);
      define(loop.getResult(i), slot);
      use(yields->getOpOperand(static_cast<unsigned>(i)), slot);
    }
    for (Operation &op : loop.getBody()->without_terminator())
      collect(&op);
  }
};
} // namespace

std::optional<Equations>
Equations::of(tile::KernelOp kernel, const Machine &machine,
              llvm::function_ref<bool(tile::DotOp, std::string &)> takesDot) {
  Collector collector;
  collector.collect(kernel.getBlock());
  if (collector.unknownOp) {
    collector.unknownOp->emitOpError() << collector.error;
    return std::nullopt;
  }
  // Equal layouts: what both ends of an edge share.
  llvm::DenseMap<Value, std::pair<unsigned, Relation>> made;
  for (auto &[value, definition] : collector.definitions)
    made[value] = definition;
  for (const Collector::PendingUse &use : collector.uses) {
    auto found = made.find(use.operand->get());
    if (found == made.end() || use.relation != Relation::same ||
        found->second.second != Relation::same)
      continue;
    const unsigned a = collector.find(found->second.first), b = collector.find(use.slot);
    if (collector.slots[a].joins && collector.slots[b].joins)
      collector.slots[std::max(a, b)].parent = std::min(a, b);
  }
  Equations equations(machine);
  std::vector<unsigned> number(collector.slots.size(), ~0U);
  for (unsigned slot = 0; slot < collector.slots.size(); ++slot) {
    unsigned &id = number[collector.find(slot)];
    const Collector::Slot &entry = collector.slots[slot];
    RankedTensorType type = tileType(entry.tile);
    if (id == ~0U) {
      id = static_cast<unsigned>(equations.unknowns.size());
      equations.unknowns.emplace_back();
      equations.unknowns[id].shape.assign(type.getShape().begin(), type.getShape().end());
      equations.unknowns[id].elementBits = 1;
    }
    Unknown &unknown = equations.unknowns[id];
    unknown.ops.push_back(entry.op);
    unknown.elementBits = std::max(unknown.elementBits, bitsOf(type.getElementType()));
  }
  for (auto &[value, definition] : collector.definitions) {
    equations.definitionOf[value] = static_cast<unsigned>(equations.definitions.size());
    equations.definitions.push_back(
        {value, number[collector.find(definition.first)], definition.second});
  }
  std::map<std::tuple<const void *, const void *, const void *>, unsigned> maps;
  for (Collector::PendingUse &use : collector.uses) {
    unsigned mapNumber = 0;
    if (auto view = dyn_cast<tile::ViewOp>(use.operand->getOwner()))
      mapNumber = maps.try_emplace({view.getMapAttr().getAsOpaquePointer(),
                                    view.getType().getAsOpaquePointer(),
                                    view.getSource().getType().getAsOpaquePointer()},
                                   static_cast<unsigned>(maps.size()))
                      .first->second;
    equations.uses.push_back({use.operand, number[collector.find(use.slot)], use.relation,
                              std::move(use.map), mapNumber});
  }

  // Constants from instructions, seeds from accesses.
  for (Unknown &unknown : equations.unknowns) {
    Operation *op = unknown.ops.front();
    if (auto dot = dyn_cast<tile::DotOp>(op)) {
      unknown.isFixed = true;
      if (!takesDot(dot, unknown.refusal))
        continue;
      ArrayRef<int64_t> lhs = tileType(dot.getLhs()).getShape();
      const int64_t bits = bitsOf(tileType(dot.getLhs()).getElementType());
      for (const DotLayouts &layouts : mmaLayouts(unknown.shape, lhs.back(), bits, machine)) {
        unknown.candidates.push_back(equations.pool.intern(layouts.accumulator));
        unknown.operands.push_back(
            {equations.pool.intern(layouts.lhs), equations.pool.intern(layouts.rhs)});
        unknown.instructionCycles.push_back(layouts.cycles);
      }
    }
  }
  equations.addCandidates();
  return equations;
}

//===- Candidates ---------------------------------------------------------===//

bool Equations::propose(unsigned id, const std::optional<Layout> &layout) {
  Unknown &unknown = unknowns[id];
  if (!layout || unknown.isFixed || unknown.candidates.size() >= mostCandidates)
    return false;
  if (layout->rank() != static_cast<int64_t>(unknown.shape.size()) ||
      layout->extent(Axis::lane) != machine.lanes || layout->extent(Axis::warp) != machine.warps ||
      layout->extent(Axis::reg) > mostRegisters || !layout->isDense(Axis::reg))
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
  // Tiles of one shape have one list.
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
    if (isa<tile::LoadOp, tile::StoreOp, tile::GatherOp>(unknowns[id].ops.front()))
      seed(id);
  // Each end of an edge may take the layout of the other, so that none need convert. Rounds until
  // nothing is new; a chain of n ops needs n in the worst order, but ops stand in the order of the
  // flow.
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
        if (!layout || use.relation == Relation::lhs || use.relation == Relation::rhs)
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
  // What no access reaches starts from itself.
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
    return unknown.operands[candidate].first;
  case Relation::rhs:
    return unknown.operands[candidate].second;
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
  auto load = dyn_cast<tile::LoadOp>(op);
  auto store = dyn_cast<tile::StoreOp>(op);
  auto whole = cast<MemRefType>(load ? load.getSource().getType() : store.getTarget().getType());
  RankedTensorType type = load ? load.getType() : tileType(store.getTile());
  DenseI64ArrayAttr strides = load ? load.getStridesAttr() : store.getStridesAttr();
  auto [entry, isNew] =
      accesses.try_emplace({layout, whole.getAsOpaquePointer(), type.getAsOpaquePointer(),
                            strides ? strides.getAsOpaquePointer() : nullptr, bool(store)});
  if (isNew)
    entry->second = accessCost(pool[layout], type.getShape(), whole.getShape(),
                               strides ? strides.asArrayRef() : ArrayRef<int64_t>(),
                               bitsOf(type.getElementType()), bool(store), machine);
  return entry->second;
}

double Equations::costOf(const Unknown &unknown, size_t candidate) {
  const unsigned id = unknown.candidates[candidate];
  double cycles = 0;
  for (Operation *op : unknown.ops) {
    double own = 0;
    if (isa<tile::LoadOp, tile::StoreOp>(op))
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
    else if (isa<tile::GatherOp>(op)) // an access each
      own = computeCost(pool[id], 32, unknown.elementBits, machine);
    else if (isa<tile::DotOp>(op))
      own = unknown.instructionCycles[candidate];
    cycles += own * turnsOf(op);
  }
  return cycles;
}

ChoiceProblem Equations::problem() {
  ChoiceProblem problem;
  for (const Unknown &unknown : unknowns) {
    std::vector<double> costs;
    for (size_t i = 0; i < unknown.candidates.size(); ++i)
      costs.push_back(costOf(unknown, i));
    // What has no layout has one that is impossible: a contradiction of one.
    if (costs.empty())
      costs.push_back(impossible);
    problem.addVariable(std::move(costs));
  }
  auto countOf = [&](unsigned unknown) { return unknowns[unknown].candidates.size(); };
  for (const TileUse &use : uses) {
    auto type = tileType(use.operand->get());
    // A view that its source's layout cannot follow moves the elements itself.
    std::vector<std::optional<unsigned>> needed;
    for (size_t i = 0; i < countOf(use.unknown); ++i) {
      needed.push_back(neededBy(use, i));
      if (!needed.back())
        problem.values[use.unknown][i] +=
            turnsOf(use.operand->getOwner()) * moveCost(pool[unknowns[use.unknown].candidates[i]],
                                                        type.getNumElements(),
                                                        bitsOf(type.getElementType()), machine);
    }
    auto found = definitionOf.find(use.operand->get());
    if (found == definitionOf.end())
      continue;
    const TileDefinition &definition = definitions[found->second];
    const double turns = ::turnsOf(use.operand->get());
    auto cost = [&](size_t from, size_t to) {
      std::optional<unsigned> made = layoutOf(definition, from);
      if (!made)
        return impossible;
      return needed[to] ? turns * convertCycles(*made, *needed[to], type) : 0;
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

//===- Contradictions -----------------------------------------------------===//

static std::string describe(Operation *op) {
  std::string text;
  llvm::raw_string_ostream out(text);
  out << "'" << op->getName() << "'";
  Location location = op->getLoc();
  if (auto line = location->findInstanceOf<FileLineColLoc>())
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
  out << "no layouts fit these " << contradiction.size() << " together: ";
  llvm::interleave(
      contradiction, out,
      [&](unsigned id) {
        out << describe(unknowns[id].ops.front()) << " (of " << unknowns[id].candidates.size()
            << " layouts)";
      },
      ", ");
  // Only a conversion can be impossible between two that are possible.
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
        << " a tile of " << bytes << " bytes would go through shared memory, which has "
        << machine.sharedBytes << "; use smaller tiles";
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
    out << "; there is no other";
  else if (!next)
    out << "; no other is possible";
  else
    out << "; of " << unknown.candidates.size() - 1 << " others the best, "
        << pool[unknown.candidates[next->choice[id]]]
        << llvm::formatv(", takes {0:f0} more", next->cost - solution.cost);
  return text;
}
