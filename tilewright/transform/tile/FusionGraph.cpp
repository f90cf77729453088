#include "tilewright/transform/tile/FusionGraph.h"

#include "tilewright/dialect/indexing/IndexingRelation.h"
#include "tilewright/dialect/stablehlo/StablehloOps.h"
#include "tilewright/transform/tile/LinearForm.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace tilewright::tile {

static ArrayRef<int64_t> shapeOf(Value value) {
  return cast<RankedTensorType>(value.getType()).getShape();
}
static Type elementOf(Value value) {
  return cast<RankedTensorType>(value.getType()).getElementType();
}

class GraphBuilder {
public:
  GraphBuilder(exec::FusionOp fusion, FusionGraph &graph, std::string &reason)
      : block(fusion.getBody().front()), context(fusion.getContext()), graph(graph),
        reason(reason) {}

  bool build() {
    for (BlockArgument argument : block.getArguments()) {
      auto type = dyn_cast<RankedTensorType>(argument.getType());
      if (!type || !type.hasStaticShape())
        return fail("an input is not a tensor of static shape");
      addDims(argument);
    }
    for (Operation &op : block.without_terminator()) {
      std::string why;
      if (!indexing::canTile(&op, &why))
        return fail("'" + op.getName().getStringRef().str() + "' " + why);
      if (indexing::isRowOp(&op))
        return fail("'" + op.getName().getStringRef().str() +
                    "' needs whole rows, so it has kernels of its own");
      if (const char *refusal = refuseUpdate(op))
        return fail("'" + op.getName().getStringRef().str() + "' " + refusal);
      addOp(op);
    }
    for (Operation &op : block.without_terminator())
      relate(op);
    for (Operation &op : block.without_terminator())
      if (isa<stablehlo::ReshapeOp>(op) && !inputOf(op.getResult(0)))
        dimensions.unifyLists(dims[op.getOperand(0)], dims[op.getResult(0)]);
    for (Operation &op : block.without_terminator())
      addNode(op);
    for (Value value : block.getTerminator()->getOperands()) {
      while (auto reshape = value.getDefiningOp<stablehlo::ReshapeOp>())
        value = reshape.getOperand();
      graph.outputs.push_back(valueOf(value));
    }
    graph.mergeDimensions();
    return true;
  }

private:
  bool fail(std::string why) {
    reason = std::move(why);
    return false;
  }

  /// Why an op cannot overwrite a part of its operand in this kernel; null if it can, or if it does
  /// not overwrite any.
  const char *refuseUpdate(Operation &op) {
    if (!indexing::updateOf(&op))
      return nullptr;
    Value target = op.getOperand(0);
    for (; target.getDefiningOp<stablehlo::ReshapeOp>();
         target = target.getDefiningOp()->getOperand(0))
      if (!target.hasOneUse())
        return "overwrites a value that the kernel also reads";
    if (!isa<BlockArgument>(target))
      return "overwrites a value that the kernel computes, which is not in memory";
    if (!target.hasOneUse())
      return "overwrites a value that the kernel also reads";
    for (Operation *user = &op; user != block.getTerminator(); user = *user->user_begin())
      if (!user->hasOneUse() || (user != &op && !isa<stablehlo::ReshapeOp>(user)))
        return "has a result that the kernel also reads";
    return nullptr;
  }

  void addDims(Value value) {
    SmallVector<Dimensions::Id> ids;
    for (int64_t size : shapeOf(value))
      ids.push_back(dimensions.add(size));
    dims[value] = std::move(ids);
  }

  void addOp(Operation &op) {
    for (Value result : op.getResults())
      addDims(result);
    indexing::IndexingRelation relation = *indexing::indexingRelation(&op);
    Value update = indexing::updateOf(&op);
    SmallVector<Dimensions::Id> domain = dims[update ? update : op.getResult(0)];
    for (int64_t size : relation.reducedSizes())
      domain.push_back(dimensions.add(size));
    domains[&op] = std::move(domain);
    relations[&op] = std::move(relation);
  }

  /// The fusion input at the start of a chain of reshapes, which are only views of its memory; null
  /// if there is none.
  BlockArgument inputOf(Value value) {
    while (auto reshape = value.getDefiningOp<stablehlo::ReshapeOp>())
      value = reshape.getOperand();
    return dyn_cast<BlockArgument>(value);
  }

  /// Splits the dimensions of a convolution with groups that contain the group: `group * size +
  /// index`. Returns the dimension of lhs that was split, or -1.
  int64_t splitGroups(stablehlo::ConvolutionOp op) {
    const bool ofFeatures = op.getFeatureGroupCount() > 1;
    const auto groups =
        static_cast<int64_t>(std::max(op.getFeatureGroupCount(), op.getBatchGroupCount()));
    if (groups == 1)
      return -1;
    auto numbers = op.getDimensionNumbers();
    const int64_t lhsDim =
        ofFeatures ? numbers.getInputFeatureDimension() : numbers.getInputBatchDimension();
    const Dimensions::Id lhs = dims[op.getLhs()][static_cast<size_t>(lhsDim)];
    const Dimensions::Id output =
        dims[op.getResult()][static_cast<size_t>(numbers.getOutputFeatureDimension())];
    const Dimensions::Id group = dimensions.add(groups);
    const Dimensions::Id inOutput = dimensions.add(dimensions.sizeOf(output) / groups);
    // The index within the group is an input feature of the kernel, or a batch of the result.
    const Dimensions::Id inLhs =
        ofFeatures
            ? dims[op.getRhs()][static_cast<size_t>(numbers.getKernelInputFeatureDimension())]
            : dims[op.getResult()][static_cast<size_t>(numbers.getOutputBatchDimension())];
    const bool isSplit = dimensions.unifyLists(output, {group, inOutput}) &&
                         dimensions.unifyLists(lhs, {group, inLhs});
    return isSplit ? lhsDim : -1;
  }

  /// Unifies two dimensions if an index is a plain dimension of the same size; pins the dimensions
  /// of all other indices.
  void relate(Operation &op) {
    if (isa<stablehlo::ReshapeOp>(op))
      return;
    ArrayRef<Dimensions::Id> domain = domains[&op];
    for (Value result : op.getResults().drop_front())
      for (auto [a, b] : llvm::zip_equal(dims[op.getResult(0)], dims[result]))
        dimensions.unify(a, b);
    auto convolution = dyn_cast<stablehlo::ConvolutionOp>(op);
    const int64_t grouped = convolution ? splitGroups(convolution) : -1;
    for (const indexing::OperandRelation &relation : relations[&op].operands) {
      ArrayRef<Dimensions::Id> operand = dims[op.getOperand(relation.operand)];
      for (auto [i, id, expr] : llvm::enumerate(operand, relation.map.getResults())) {
        if (relation.operand == 0 && static_cast<int64_t>(i) == grouped)
          continue;
        auto dim = dyn_cast<AffineDimExpr>(expr);
        if (dim && dimensions.sizeOf(domain[dim.getPosition()]) == dimensions.sizeOf(id)) {
          dimensions.unify(domain[dim.getPosition()], id);
          continue;
        }
        auto constant = dyn_cast<AffineConstantExpr>(expr);
        if (constant && constant.getValue() == 0 && dimensions.sizeOf(id) == 1)
          continue;
        // A convolution reads zeros next to a single element.
        if (convolution && dimensions.sizeOf(id) == 1)
          dimensions.keep(id);
        dimensions.pin(id);
        expr.walk([&](AffineExpr inner) {
          if (auto dim = dyn_cast<AffineDimExpr>(inner))
            dimensions.pin(domain[dim.getPosition()]);
        });
      }
    }
  }

  void setDomain(Node &node, ArrayRef<Dimensions::Id> domain, size_t resultDims) {
    for (auto [i, id] : llvm::enumerate(domain)) {
      if (i == resultDims)
        node.rank = static_cast<unsigned>(node.sizes.size());
      for (Dimensions::Id leaf : dimensions.leaves(id)) {
        node.sizes.push_back(dimensions.sizeOf(leaf));
        node.classes.push_back(leaf);
      }
    }
    if (domain.size() == resultDims)
      node.rank = static_cast<unsigned>(node.sizes.size());
  }

  ValueRef valueOf(Value value) {
    if (auto found = values.find(value); found != values.end())
      return found->second;
    // This is the first use of an input, or of a reshape of an input.
    BlockArgument argument = inputOf(value);
    Node node;
    node.input = static_cast<int>(argument.getArgNumber());
    node.elementTypes.push_back(elementOf(value));
    setDomain(node, dims[value], dims[value].size());
    graph.nodes.push_back(std::move(node));
    return values[value] = {static_cast<unsigned>(graph.nodes.size() - 1), 0};
  }

  void addNode(Operation &op) {
    if (inputOf(op.getResult(0)))
      return;
    Node node;
    node.op = &op;
    for (Value result : op.getResults())
      node.elementTypes.push_back(elementOf(result));
    ArrayRef<Dimensions::Id> domain = domains[&op];
    const indexing::IndexingRelation &relation = relations[&op];
    node.reduces = !relation.reducedSizes().empty() ||
                   isa<stablehlo::ReduceOp, stablehlo::DotGeneralOp, stablehlo::ConvolutionOp>(op);
    setDomain(node, domain, relation.resultRank);

    // Express the op's dimensions in terms of their factors.
    SmallVector<LinearForm> forms;
    size_t position = 0;
    for (Dimensions::Id id : domain) {
      SmallVector<Dimensions::Id> leaves = dimensions.leaves(id);
      LinearForm form(node.sizes.size());
      int64_t stride = 1;
      for (size_t i = leaves.size(); i-- > 0;) {
        form.coefficients[position + i] = stride;
        stride *= dimensions.sizeOf(leaves[i]);
      }
      position += leaves.size();
      forms.push_back(std::move(form));
    }
    if (auto iota = dyn_cast<stablehlo::IotaOp>(op)) {
      const LinearForm &form = forms[iota.getIotaDimension()];
      for (auto [dim, stride] : llvm::enumerate(form.coefficients))
        if (stride != 0)
          node.iotaStrides.push_back({static_cast<unsigned>(dim), stride});
    }
    SmallVector<AffineExpr> symbols;
    for (const indexing::Position &position : relation.positions) {
      graph.positions.push_back({valueOf(op.getOperand(position.operand)), position.limit});
      symbols.push_back(
          getAffineSymbolExpr(static_cast<unsigned>(graph.positions.size() - 1), context));
    }
    for (const indexing::OperandRelation &operand : relation.operands)
      node.operands.push_back(edge(op.getOperand(operand.operand), operand, forms, node, symbols));
    // A dimension with a start is pinned, so it has one factor, or none if its size is 1.
    for (const indexing::GatherStart &start : relation.starts) {
      unsigned place = 0;
      for (Dimensions::Id id : ArrayRef(dims[op.getOperand(0)]).take_front(start.dim))
        place += static_cast<unsigned>(dimensions.leaves(id).size());
      if (!dimensions.leaves(dims[op.getOperand(0)][start.dim]).empty())
        node.starts.push_back({place, start.relation, start.limit});
    }
    if (isa<stablehlo::ConvolutionOp>(op))
      setUnits(node);
    graph.nodes.push_back(std::move(node));
    for (Value result : op.getResults())
      values[result] = {static_cast<unsigned>(graph.nodes.size() - 1),
                        cast<OpResult>(result).getResultNumber()};
  }

  static SmallVector<LinearForm> dimsOf(const Node &node) {
    SmallVector<LinearForm> forms;
    for (size_t dim = 0; dim < node.sizes.size(); ++dim)
      forms.push_back(LinearForm::dim(node.sizes.size(), dim));
    return forms;
  }

  /// Finds indices that add two dimensions of a convolution. The smaller dimension gets tiles of
  /// one element.
  static void setUnits(Node &node) {
    for (AffineExpr expr : node.operands[0].index) {
      if (!linearForm(expr, dimsOf(node), node.sizes))
        continue;
      SmallVector<unsigned> added;
      for (unsigned dim = 0; dim < node.sizes.size(); ++dim)
        if (expr.isFunctionOfDim(dim))
          added.push_back(dim);
      if (added.size() == 2)
        node.units.push_back(node.sizes[added[1]] <= node.sizes[added[0]] ? added[1] : added[0]);
    }
    llvm::sort(node.units);
    for (Edge &edge : node.operands)
      edge.units = node.units;
  }

  Edge edge(Value operand, const indexing::OperandRelation &relation, ArrayRef<LinearForm> forms,
            const Node &node, ArrayRef<AffineExpr> symbols) {
    Edge edge;
    edge.source = valueOf(operand);
    SmallVector<AffineExpr> exprs;
    for (const LinearForm &form : forms)
      exprs.push_back(form.toExpr(context));
    // If an index is a quotient, the bound applies to its dividend, even if the quotient was
    // simplified.
    auto bound = [&](AffineExpr index, int64_t step, int64_t size) -> Bound {
      std::optional<LinearForm> form = linearForm(index, forms, node.sizes);
      return {form ? form->toExpr(context) : index.replaceDimsAndSymbols(exprs, symbols),
              (size - 1) * step + 1, step};
    };
    for (auto [dim, id, expr, size] :
         llvm::enumerate(dims[operand], relation.map.getResults(), shapeOf(operand))) {
      std::optional<LinearForm> form = linearForm(expr, forms, node.sizes);
      AffineExpr general = expr.replaceDimsAndSymbols(exprs, symbols);
      if (relation.mayLeave) {
        auto [dividend, step] =
            relation.spread.empty() ? std::pair(expr, int64_t(1)) : relation.spread[dim];
        if (!form || step != 1 || !form->isWithin(size, node.sizes))
          edge.bounds.push_back(bound(dividend, step, size));
      }
      SmallVector<Dimensions::Id> leaves = dimensions.leaves(id);
      SmallVector<AffineExpr> index(leaves.size());
      for (size_t i = leaves.size(); i-- > 0;) {
        const int64_t minor = dimensions.sizeOf(leaves[i]);
        auto parts = i > 0 && form ? form->divide(minor, node.sizes) : std::nullopt;
        index[i] = i == 0 && form ? form->toExpr(context)
                   : parts        ? parts->second.toExpr(context)
                   : i == 0       ? general
                                  : general % minor;
        if (i > 0) {
          form = parts ? std::optional(parts->first) : std::nullopt;
          general = general.floorDiv(minor);
        }
      }
      llvm::append_range(edge.index, index);
    }
    return edge;
  }

  Block &block;
  MLIRContext *context;
  FusionGraph &graph;
  std::string &reason;
  Dimensions dimensions;
  llvm::DenseMap<Value, SmallVector<Dimensions::Id>> dims;
  llvm::DenseMap<Operation *, SmallVector<Dimensions::Id>> domains;
  llvm::DenseMap<Operation *, indexing::IndexingRelation> relations;
  llvm::DenseMap<Value, ValueRef> values;
};

std::optional<FusionGraph> FusionGraph::create(exec::FusionOp fusion, std::string &reason) {
  FusionGraph graph;
  if (!GraphBuilder(fusion, graph, reason).build())
    return std::nullopt;
  return graph;
}

ElementsAttr FusionGraph::constantOf(ValueRef value) const {
  for (;;) {
    const Node &node = nodes[value.node];
    if (!node.op)
      return {};
    if (auto constant = dyn_cast<stablehlo::ConstantOp>(node.op))
      return constant.getValue();
    if (!isa<stablehlo::BroadcastInDimOp, stablehlo::ReshapeOp, stablehlo::TransposeOp,
             stablehlo::SliceOp, stablehlo::DynamicSliceOp, stablehlo::ReverseOp>(node.op))
      return {};
    value = node.operands.front().source;
  }
}

bool FusionGraph::isEmpty(ValueRef value) const {
  return llvm::is_contained(nodes[value.node].shape(), 0);
}

//===- Merging ------------------------------------------------------------===//

/// Whether `major` and `minor` occur in the list only as adjacent pairs.
static bool standTogether(ArrayRef<Dimensions::Id> list, Dimensions::Id major,
                          Dimensions::Id minor) {
  for (size_t i = 0; i < list.size(); ++i) {
    if (list[i] == major && (i + 1 == list.size() || list[i + 1] != minor))
      return false;
    if (list[i] == minor && (i == 0 || list[i - 1] != major))
      return false;
  }
  return true;
}

bool FusionGraph::canMerge(Dimensions::Id major, Dimensions::Id minor) const {
  if (major == minor)
    return false;
  for (const Node &node : nodes) {
    ArrayRef<Dimensions::Id> classes = node.classes;
    if (!standTogether(classes.take_front(node.rank), major, minor) ||
        !standTogether(classes.drop_front(node.rank), major, minor))
      return false;
    auto isConcerned = [&](unsigned dim) { return classes[dim] == major || classes[dim] == minor; };
    for (auto [dim, stride] : node.iotaStrides)
      if (isConcerned(dim))
        return false;
    for (const Edge &edge : node.operands) {
      ArrayRef<Dimensions::Id> source = nodes[edge.source.node].classes;
      for (auto [p, expr] : llvm::enumerate(edge.index)) {
        if (auto dim = dyn_cast<AffineDimExpr>(expr)) {
          // An access must use the two dimensions as an adjacent pair, in the same order.
          const unsigned q = dim.getPosition();
          if (source[p] != classes[q] &&
              (isConcerned(q) || source[p] == major || source[p] == minor))
            return false;
          if (source[p] == major) {
            auto next = dyn_cast<AffineDimExpr>(edge.index[p + 1]);
            if (!next || next.getPosition() != q + 1)
              return false;
          }
          continue;
        }
        if (source[p] == major || source[p] == minor)
          return false;
        bool concerned = false;
        expr.walk([&](AffineExpr inner) {
          if (auto dim = dyn_cast<AffineDimExpr>(inner))
            concerned |= isConcerned(dim.getPosition());
        });
        if (concerned)
          return false;
      }
      for (const Bound &bound : edge.bounds) {
        bool concerned = false;
        bound.index.walk([&](AffineExpr inner) {
          if (auto dim = dyn_cast<AffineDimExpr>(inner))
            concerned |= isConcerned(dim.getPosition());
        });
        // If the index is a plain dimension whose size equals the bound, it is always in bounds.
        auto dim = dyn_cast<AffineDimExpr>(bound.index);
        if (concerned && !(dim && node.sizes[dim.getPosition()] == bound.size))
          return false;
      }
    }
  }
  return true;
}

/// Replaces each dimension in `expr` by the dimension at its new position.
static AffineExpr renamed(AffineExpr expr, ArrayRef<unsigned> position) {
  SmallVector<AffineExpr> dims;
  for (unsigned p : position)
    dims.push_back(getAffineDimExpr(p, expr.getContext()));
  return expr.replaceDims(dims);
}

/// Merges each adjacent pair (`major`, `minor`) into one dimension.
void FusionGraph::merge(Dimensions::Id major, Dimensions::Id minor) {
  // Rewrite all operands first, while their sources still have the old dimensions.
  for (Node &node : nodes)
    for (Edge &edge : node.operands) {
      ArrayRef<Dimensions::Id> source = nodes[edge.source.node].classes;
      SmallVector<AffineExpr> index;
      for (auto [p, expr] : llvm::enumerate(edge.index))
        if (source[p] != minor)
          index.push_back(expr);
      if (&edge == node.operands.begin())
        for (Start &start : node.starts)
          start.dim -= static_cast<unsigned>(llvm::count(source.take_front(start.dim), minor));
      edge.index = std::move(index);
    }
  for (Node &node : nodes) {
    SmallVector<int64_t> sizes;
    SmallVector<Dimensions::Id> classes;
    SmallVector<unsigned> position;
    unsigned rank = node.rank;
    for (size_t d = 0; d < node.sizes.size(); ++d) {
      if (node.classes[d] == minor) {
        sizes.back() *= node.sizes[d];
        rank -= d < node.rank;
      } else {
        sizes.push_back(node.sizes[d]);
        classes.push_back(node.classes[d]);
      }
      position.push_back(static_cast<unsigned>(sizes.size() - 1));
    }
    for (Edge &edge : node.operands) {
      for (AffineExpr &expr : edge.index)
        expr = renamed(expr, position);
      for (Bound &bound : edge.bounds)
        bound.index = renamed(bound.index, position);
      for (unsigned &dim : edge.units)
        dim = position[dim];
    }
    for (unsigned &dim : node.units)
      dim = position[dim];
    for (auto &[dim, stride] : node.iotaStrides)
      dim = position[dim];
    node.sizes = std::move(sizes);
    node.classes = std::move(classes);
    node.rank = rank;
  }
}

void FusionGraph::mergeDimensions() {
  // Drop bounds that always hold because the dimension's size is at most the bound.
  for (Node &node : nodes)
    for (Edge &edge : node.operands)
      llvm::erase_if(edge.bounds, [&](const Bound &bound) {
        auto dim = dyn_cast<AffineDimExpr>(bound.index);
        return dim && bound.step == 1 && node.sizes[dim.getPosition()] <= bound.size;
      });
  // A pair that can be merged is adjacent in some node. Merging another pair does not make a
  // refused pair mergeable, so do not test it again.
  llvm::DenseSet<std::pair<Dimensions::Id, Dimensions::Id>> refused;
  for (size_t n = 0; n < nodes.size(); ++n)
    for (size_t i = 0; i + 1 < nodes[n].classes.size();) {
      const std::pair pair(nodes[n].classes[i], nodes[n].classes[i + 1]);
      if (i + 1 != nodes[n].rank && !refused.contains(pair) && canMerge(pair.first, pair.second)) {
        merge(pair.first, pair.second);
        continue;
      }
      if (i + 1 != nodes[n].rank)
        refused.insert(pair);
      ++i;
    }
}

} // namespace tilewright::tile
