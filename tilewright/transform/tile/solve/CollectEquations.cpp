// Turns a kernel into unknowns: finds ops that share a layout, and edges between the others.
#include "tilewright/dialect/tile/SortOps.h"
#include "tilewright/dialect/tile/WindowOps.h"
#include "tilewright/transform/tile/solve/Candidates.h"
#include "tilewright/transform/tile/solve/Equations.h"
#include "tilewright/transform/tile/solve/Work.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace tilewright;
using namespace tilewright::solve;

namespace {
/// Collects unknowns and unifies those that must have the same layout.
struct Collector {
  struct Slot {
    unsigned parent;
    Operation *op;
    Value tile; // for the shape
    bool joins; // unifies with its neighbours
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

  /// Rejects the op. Only the first rejection is kept.
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
    // A rematerialized value gets a layout only at its uses.
    if (op->getNumResults() == 1 && isRematerialised(op->getResult(0)))
      return;
    if (auto load = dyn_cast<tile::LoadOp>(op)) {
      define(load, add(op, load, false));
    } else if (auto store = dyn_cast<tile::StoreOp>(op)) {
      use(store.getTileMutable(), add(op, store.getTile(), false));
    } else if (auto reduced = dyn_cast<tile::ReducePartsOp>(op)) {
      define(reduced, add(op, reduced, false));
    } else if (auto store = dyn_cast<tile::StorePartsOp>(op)) {
      use(store.getTileMutable(), add(op, store.getTile(), false));
    } else if (isa<tile::MapOp, tile::GatherOp, tile::ScatterOp, tile::UpdateOp, tile::ScanOp,
                   tile::SortOp, tile::CarryOp>(op)) {
      // Operand 0 of an op without results is the tile that it writes.
      const unsigned slot =
          add(op, op->getNumResults() == 0 ? op->getOperand(0) : op->getResult(0), true);
      for (OpOperand &operand : op->getOpOperands())
        if (tileType(operand.get()))
          use(operand, slot);
      for (Value result : op->getResults())
        define(result, slot);
    } else if (auto bucket = dyn_cast<tile::BucketOp>(op)) {
      const unsigned slot = add(op, bucket.getDigits(), true);
      use(bucket.getDigitsMutable(), slot);
      for (OpOperand &operand : bucket.getInputsMutable())
        use(operand, slot);
      for (Value result : bucket.getResults())
        define(result, slot);
      define(bucket.getStarts(), add(op, bucket.getStarts(), true));
    } else if (auto take = dyn_cast<tile::TakeOp>(op)) {
      const unsigned slot = add(op, take.getResult(), true);
      use(take.getIndicesMutable(), slot);
      define(take.getResult(), slot);
      use(take.getSourceMutable(), add(op, take.getSource(), true));
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
      const unsigned slot = add(op, dot, false);
      use(dot.getLhsMutable(), slot, Relation::lhs);
      use(dot.getRhsMutable(), slot, Relation::rhs);
      use(dot.getAccMutable(), slot);
      if (dot.getLhsScale()) {
        use(*dot.getLhsScaleMutable().begin(), slot, Relation::lhsScale);
        use(*dot.getRhsScaleMutable().begin(), slot, Relation::rhsScale);
      }
      define(dot, slot);
    } else if (!isa<tensor::ExtractOp>(op)) {
      for (Value value : op->getOperands())
        if (tileType(value))
          return refuse(op, "is not supported by the layout solver");
      for (Value value : op->getResults())
        if (tileType(value))
          return refuse(op, "is not supported by the layout solver");
      if (op->getNumRegions() != 0)
        op->walk([&](Operation *inner) {
          if (inner->getName().getDialectNamespace() == "tile")
            refuse(op, "has tiles in its region, which only scf.for may have");
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
  // Unify the unknowns at both ends of an edge if they share a layout.
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

  // Whether the kernel computes an operand of a product, possibly from the sums of another one.
  int64_t products = 0;
  bool isChained = false;
  kernel.walk([&](tile::DotOp dot) {
    ++products;
    isChained |= dot.getLhs().getDefiningOp<tile::MapOp>() != nullptr;
  });
  isChained &= products > 1;
  // The candidates of a matmul are those that its instruction prescribes.
  for (Unknown &unknown : equations.unknowns) {
    Operation *op = unknown.ops.front();
    if (auto dot = dyn_cast<tile::DotOp>(op)) {
      unknown.isFixed = true;
      if (!takesDot(dot, unknown.refusal))
        continue;
      ArrayRef<int64_t> lhs = tileType(dot.getLhs()).getShape();
      const int64_t bits = bitsOf(tileType(dot.getLhs()).getElementType());
      const int64_t lines =
          dot.getLhsScale() ? tileType(dot.getLhsScale()).getShape().drop_back().back() : 0;
      for (const DotLayouts &layouts :
           mmaLayouts(unknown.shape, lhs.back(), bits, machine, lines, isChained)) {
        unknown.candidates.push_back(equations.pool.intern(layouts.accumulator));
        unknown.operands.push_back(
            {equations.pool.intern(layouts.lhs), equations.pool.intern(layouts.rhs)});
        if (lines > 0) {
          unknown.operands.back().lhsScale = equations.pool.intern(layouts.lhsScale);
          unknown.operands.back().rhsScale = equations.pool.intern(layouts.rhsScale);
        }
        unknown.instructionCycles.push_back(layouts.cycles);
      }
      if (unknown.candidates.empty())
        unknown.refusal = "block scales are distributed over 1, 2, 4 or 8 warps";
    }
  }
  equations.addCandidates();
  return equations;
}
