#include "tilewright/transform/distribute/Modes.h"

#include "tilewright/dialect/stablehlo/ops/ControlFlowOps.h"
#include "tilewright/dialect/stablehlo/ops/LinearAlgebraOps.h"
#include "tilewright/transform/distribute/local/Local.h"

#include "llvm/ADT/FoldingSet.h"
#include "llvm/ADT/bit.h"

#include <map>

using namespace mlir;

namespace tilewright::distribute {

using numerics::AxisRef;
using numerics::MeshCoordinates;

uint64_t scattered(uint64_t value) {
  value = (value + 1) * 0x9E3779B97F4A7C15;
  value = (value ^ value >> 29) * 0xBF58476D1CE4E5B9;
  return value ^ value >> 32;
}

void Wants::add(int sharding, int uses) {
  sum += scattered(static_cast<uint64_t>(sharding)) * static_cast<uint64_t>(uses);
  for (Want &one : all)
    if (one.sharding == sharding) {
      one.uses += uses;
      if (one.uses == 0) {
        std::swap(one, all.back());
        all.pop_back();
      }
      return;
    }
  all.push_back({sharding, uses});
}

static Sharding shardingOf(const Choice &choice, const ShardingRule::Dims &dims) {
  Sharding sharding{choice.mesh, std::vector<Axes>(dims.size()), {}};
  for (auto [axes, numbers] : llvm::zip_equal(sharding.dims, dims))
    for (int loop : numbers)
      for (const AxisRef &axis : choice.loops[static_cast<size_t>(loop)])
        append(axes, axis);
  return sharding;
}

Sharding wantedBy(const GraphNode &node, const Choice &choice, size_t in) {
  Sharding sharding = shardingOf(choice, node.rule.operands[in]);
  if (!choice.open.empty() &&
      llvm::is_contained(node.linear[static_cast<size_t>(choice.linear)], in))
    sharding.unreduced = choice.open;
  sharding.combine = node.combine;
  return nested(node.outerIn, std::move(sharding));
}

Sharding computedBy(const GraphNode &node, const Choice &choice, size_t out) {
  Sharding sharding = shardingOf(choice, node.rule.results[out]);
  sharding.unreduced = choice.open;
  sharding.combine = node.combine;
  for (auto [loop, axes] : llvm::zip_equal(node.rule.loops, choice.loops))
    if (loop.kind == LoopKind::reduced && !axes.empty()) {
      sharding.unreduced.insert(sharding.unreduced.end(), axes.begin(), axes.end());
      sharding.combine = loop.combine;
    }
  if (sharding.unreduced.size() > 1)
    sharding.unreduced = ordered(std::move(sharding.unreduced));
  return nested(node.outerOut, std::move(sharding));
}

/// The flops of products.
static double flopsOf(const GraphNode &node) {
  if (!node.isOp)
    return 0;
  auto elements = [](Value value) {
    auto type = dyn_cast<RankedTensorType>(value.getType());
    return type && type.hasStaticShape() ? static_cast<double>(type.getNumElements()) : 0.0;
  };
  if (isa<stablehlo::DotGeneralOp, stablehlo::DotOp>(node.op)) {
    double products = 2;
    for (const Loop &loop : node.rule.loops)
      products *= static_cast<double>(loop.size);
    return products;
  }
  if (auto convolution = dyn_cast<stablehlo::ConvolutionOp>(node.op)) {
    const auto features =
        static_cast<unsigned>(convolution.getDimensionNumbers().getKernelOutputFeatureDimension());
    const int64_t count =
        cast<RankedTensorType>(convolution.getRhs().getType()).getDimSize(features);
    return 2 * elements(convolution.getResult()) * elements(convolution.getRhs()) /
           static_cast<double>(std::max<int64_t>(count, 1));
  }
  return 0; // others are bound by memory
}

Modes::Modes(const ShardingGraph &graph, Prices &prices)
    : graph(graph), prices(prices), made(graph.nodes.size()) {
  for (const GraphNode &node : graph.nodes) {
    flops.push_back(flopsOf(node));
    auto types = [&](ArrayRef<int> values) {
      SmallVector<int, 3> all;
      for (int value : values)
        all.push_back(prices.typeOf(graph.values[static_cast<size_t>(value)].value.getType()));
      return all;
    };
    inTypes.push_back(types(node.inValues));
    outTypes.push_back(types(node.outs));
  }
  findAlike();
}

static void addTo(llvm::FoldingSetNodeID &id, const llvm::SmallVector<ShardingRule::Dims> &values) {
  id.AddInteger(values.size());
  for (const ShardingRule::Dims &dims : values) {
    id.AddInteger(dims.size());
    for (const ShardingRule::Dim &dim : dims) {
      id.AddInteger(dim.size());
      for (int loop : dim)
        id.AddInteger(loop);
    }
  }
}

/// Whether the modes of a node depend only on its rule, its types, and how often it runs. Shifted
/// loops are priced by the op itself.
static bool hasPlainModes(const GraphNode &node) {
  return node.isOp && !node.isFixed && node.outerIn.isReplicated() &&
         node.outerOut.isReplicated() && llvm::none_of(node.rule.loops, [](const Loop &loop) {
           return loop.kind == LoopKind::shifted;
         });
}

void Modes::findAlike() {
  std::map<llvm::FoldingSetNodeID, int> first;
  for (int number = 0; number < static_cast<int>(graph.nodes.size()); ++number) {
    const auto at = static_cast<size_t>(number);
    const GraphNode &node = graph.nodes[at];
    if (!hasPlainModes(node)) {
      firstAlike.push_back(number);
      continue;
    }
    llvm::FoldingSetNodeID id;
    for (const Loop &loop : node.rule.loops) {
      id.AddInteger(loop.size);
      id.AddInteger(static_cast<int>(loop.kind));
      id.AddString(loop.combine);
    }
    addTo(id, node.rule.operands);
    addTo(id, node.rule.results);
    for (const auto *types : {&inTypes[at], &outTypes[at]})
      for (int type : *types)
        id.AddInteger(type);
    id.AddInteger(node.linear.size());
    for (const auto &operands : node.linear) {
      id.AddInteger(operands.size());
      for (unsigned operand : operands)
        id.AddInteger(operand);
    }
    id.AddString(node.combine);
    id.AddPointer(node.manualAxes);
    for (double figure : {flops[at], node.repeats})
      id.AddInteger(llvm::bit_cast<uint64_t>(figure));
    firstAlike.push_back(first.try_emplace(std::move(id), number).first->second);
  }
}

bool Modes::isActive(const std::shared_ptr<const MeshCoordinates> &mesh, size_t axis) const {
  return llvm::any_of(active,
                      [&](const MeshAxisRef &one) { return one.mesh == mesh && one.axis == axis; });
}

Axes Modes::projected(const std::shared_ptr<const MeshCoordinates> &mesh, Axes axes) const {
  if (llvm::all_of(axes, [&](const AxisRef &axis) { return isActive(mesh, axis.axis); }))
    return axes;
  Axes left;
  for (const AxisRef &axis : axes)
    if (isActive(mesh, axis.axis))
      append(left, axis);
  return left;
}

Sharding Modes::projected(Sharding sharding) const {
  for (Axes &axes : sharding.dims)
    axes = projected(sharding.mesh, std::move(axes));
  sharding.unreduced = projected(sharding.mesh, std::move(sharding.unreduced));
  return sharding;
}

double Modes::workOf(const GraphNode &node, int number, const Mode &mode) const {
  double shards = 1, bytes = 0;
  for (const Axes &axes : mode.choice.loops)
    shards *= static_cast<double>(countOf(axes));
  const auto at = static_cast<size_t>(number);
  for (auto [type, sharding] : llvm::zip_equal(outTypes[at], mode.gives))
    bytes += prices.shardBytes(type, sharding);
  if (node.isOp)
    for (auto [type, sharding] : llvm::zip_equal(inTypes[at], mode.wants))
      bytes += prices.shardBytes(type, sharding);
  if (!node.isOp && isa_and_nonnull<stablehlo::WhileOp>(node.op) && !mode.gives.empty())
    bytes = prices.shardBytes(outTypes[at][0], mode.gives[0]) * prices.ratios.carried /
            prices.ratios.touched;
  double sent = 0; // by the op itself, along shifted loops
  if (node.isOp)
    for (auto [loop, axes] : llvm::zip_equal(node.rule.loops, mode.choice.loops))
      if (loop.kind == LoopKind::shifted && !axes.empty()) {
        const OpPlan plan{node.rule, mode.choice.mesh, mode.choice.loops, mode.choice.open};
        sent = prices.ratios.message + static_cast<double>(localWireBytes(node.op, plan));
        break;
      }
  return sent + flops[at] / shards * prices.ratios.flop + bytes * prices.ratios.touched +
         (mode.choice.open.empty() ? 0 : prices.ratios.openOp);
}

Mode Modes::make(int number, Choice choice) {
  const GraphNode &node = graph.nodes[static_cast<size_t>(number)];
  Mode mode;
  mode.number = ++modeCount;
  mode.choice = std::move(choice);
  for (size_t in = 0; in < node.ins.size(); ++in)
    mode.wants.push_back(prices.intern(projected(wantedBy(node, mode.choice, in))));
  for (size_t out = 0; out < node.outs.size(); ++out)
    mode.gives.push_back(prices.intern(projected(computedBy(node, mode.choice, out))));
  mode.work = workOf(node, number, mode) * node.repeats;
  return mode;
}

bool fits(const ShardingGraph &graph, const GraphNode &node, const Choice &choice) {
  bool reducesOther = false;
  for (auto [loop, axes] : llvm::zip_equal(node.rule.loops, choice.loops)) {
    if (!axes.empty() && loop.kind == LoopKind::whole)
      return false;
    reducesOther |=
        !axes.empty() && loop.kind == LoopKind::reduced && loop.combine != "stablehlo.add";
  }
  return !(reducesOther && !choice.open.empty()) && divides(graph, node, choice);
}

bool divides(const ShardingGraph &graph, const GraphNode &node, const Choice &choice) {
  auto check = [&](const auto &dimsOfAll, ArrayRef<int> values) {
    for (auto [dims, value] : llvm::zip_equal(dimsOfAll, values)) {
      if (dims.empty())
        continue;
      ArrayRef<int64_t> shape =
          cast<RankedTensorType>(graph.values[static_cast<size_t>(value)].value.getType())
              .getShape();
      for (auto [dim, numbers] : llvm::enumerate(dims)) {
        bool isFull = true;
        for (int loop : numbers) {
          const int64_t count = countOf(choice.loops[static_cast<size_t>(loop)]);
          if (count == 1) {
            isFull &= node.rule.loop(loop).size == 1;
            continue;
          }
          // In a manual computation, the shape of a tie is the one inside the body.
          const int64_t size =
              numbers.size() > 1 || !node.isOp ? node.rule.loop(loop).size : shape[dim];
          if (!isFull || size % count != 0)
            return false;
          isFull = size == count;
        }
      }
    }
    return true;
  };
  return check(node.rule.operands, node.inValues) && check(node.rule.results, node.outs);
}

static Axes without(const Axes &axes, size_t axis) {
  Axes left;
  for (const AxisRef &one : axes)
    if (one.axis != axis)
      append(left, one);
  return left;
}

static bool has(const Axes &axes, size_t axis) {
  return llvm::any_of(axes, [&](const AxisRef &one) { return one.axis == axis; });
}

const std::vector<Mode> &Modes::placing(int number, const Mode &now, const MeshAxisRef &axis) {
  const std::vector<Mode> *&found = placed[{&now, numberOf(axis)}];
  if (!found)
    found = &findPlacing(firstAlike[static_cast<size_t>(number)], now.choice, axis);
  return *found;
}

const std::vector<Mode> &Modes::findPlacing(int number, const Choice &now,
                                            const MeshAxisRef &axis) {
  Choice base = now;
  if (!base.mesh || base.mesh == axis.mesh) {
    for (Axes &axes : base.loops)
      axes = without(axes, axis.axis);
    base.open = without(base.open, axis.axis);
  }
  auto &all = made[static_cast<size_t>(number)];
  for (const Placing &one : all)
    if (one.axis == axis && one.base == base)
      return one.modes;
  std::vector<Mode> modes = makePlacing(number, base, axis);
  return all.emplace_back(std::move(base), axis, std::move(modes)).modes;
}

std::vector<Mode> Modes::makePlacing(int number, Choice base, const MeshAxisRef &axis) {
  const GraphNode &node = graph.nodes[static_cast<size_t>(number)];
  // Without the axis, inner loops of a dimension may be split although an outer one is whole.
  if (!divides(graph, node, base))
    for (const auto *values : {&node.rule.operands, &node.rule.results})
      for (const ShardingRule::Dims &dims : *values)
        for (const ShardingRule::Dim &dim : dims)
          if (dim.size() > 1)
            for (int loop : dim)
              base.loops[static_cast<size_t>(loop)].clear();
  bool isFixed = false; // whether the program says where the axis is
  if (node.isFixed && node.mesh) {
    for (size_t loop = 0; loop < node.fixed.size(); ++loop)
      if (node.isClosed[loop])
        base.loops[loop] = projected(node.mesh, node.fixed[loop]);
    base.open = projected(node.mesh, node.fixedOpen);
    base.mesh = node.mesh;
    isFixed = node.mesh == axis.mesh &&
              (has(node.fixedOpen, axis.axis) ||
               llvm::any_of(node.fixed, [&](const Axes &axes) { return has(axes, axis.axis); }));
  }
  const bool isEmpty =
      base.open.empty() && llvm::all_of(base.loops, [](const Axes &axes) { return axes.empty(); });
  if (isEmpty)
    base.mesh = nullptr;
  std::vector<Mode> modes;
  modes.push_back(make(number, base));
  const numerics::MeshAxis &whole = axis.mesh->mesh().axes[axis.axis];
  auto surrounds = [&](const Sharding &outer) {
    return outer.mesh && outer.mesh != axis.mesh && !outer.isReplicated();
  };
  if (isFixed || (base.mesh && base.mesh != axis.mesh) || surrounds(node.outerIn) ||
      surrounds(node.outerOut) ||
      (node.manualAxes && llvm::is_contained(*node.manualAxes, whole.name)))
    return modes;
  base.mesh = axis.mesh;
  const AxisRef ref{axis.axis, 1, whole.size};
  auto offer = [&](Choice choice) {
    if (fits(graph, node, choice) &&
        llvm::none_of(modes, [&](const Mode &mode) { return mode.choice == choice; }))
      modes.push_back(make(number, std::move(choice)));
  };
  auto isFree = [&](int loop) {
    return node.rule.loop(loop).kind != LoopKind::whole &&
           (!node.isFixed || !node.isClosed[static_cast<size_t>(loop)]);
  };
  for (int loop = 0; loop < static_cast<int>(node.rule.loops.size()); ++loop) {
    if (!isFree(loop))
      continue;
    Choice inner = base;
    append(inner.loops[static_cast<size_t>(loop)], ref);
    offer(std::move(inner));
    if (base.loops[static_cast<size_t>(loop)].empty())
      continue;
    Choice outer = base;
    Axes &first = outer.loops[static_cast<size_t>(loop)];
    first.insert(first.begin(), ref);
    offer(std::move(outer));
  }
  // If a dimension has several loops, the axis may be split among them.
  for (const auto *values : {&node.rule.operands, &node.rule.results})
    for (const ShardingRule::Dims &dims : *values)
      for (const ShardingRule::Dim &dim : dims) {
        if (dim.size() < 2)
          continue;
        Axes all;
        for (int loop : dim)
          for (const AxisRef &one : base.loops[static_cast<size_t>(loop)])
            append(all, one);
        append(all, ref);
        Choice split = base;
        for (auto [loop, axes] : llvm::zip_equal(dim, axesPerLoop(node.rule, dim, all)))
          split.loops[static_cast<size_t>(loop)] = axes;
        offer(std::move(split));
      }
  if (node.isFixed)
    return modes;
  for (int set = 0; set < static_cast<int>(node.linear.size()); ++set) {
    if (!base.open.empty() && base.linear != set)
      continue;
    Choice open = base;
    open.linear = set;
    open.open.push_back(ref);
    open.open = ordered(open.open);
    offer(std::move(open));
  }
  return modes;
}

} // namespace tilewright::distribute
