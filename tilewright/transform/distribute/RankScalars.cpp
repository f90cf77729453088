#include "tilewright/transform/distribute/RankScalars.h"

#include "tilewright/dialect/stablehlo/ops/BinaryOps.h"
#include "tilewright/dialect/stablehlo/ops/CollectiveOps.h"
#include "tilewright/dialect/stablehlo/ops/CreationOps.h"
#include "tilewright/dialect/stablehlo/ops/DataMovementOps.h"
#include "tilewright/dialect/stablehlo/ops/IndexingOps.h"
#include "tilewright/dialect/stablehlo/ops/UnaryOps.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Matchers.h"

#include <algorithm>
#include <optional>

using namespace mlir;

namespace tilewright::distribute {

size_t RankCoordinates::count(AxisSet axes) const {
  const std::vector<MeshAxis> &all = coordinates.mesh().axes;
  int64_t count = 1;
  for (size_t i = 0; i < all.size(); ++i)
    if (axes >> i & 1)
      count *= all[i].size;
  return static_cast<size_t>(count);
}

AxisSet RankCoordinates::variesOf(const std::vector<int64_t> &table) const {
  AxisSet bits = 0;
  if (table.size() == 1)
    return bits;
  for (size_t axis = 0; axis < coordinates.mesh().axes.size(); ++axis)
    for (int64_t position = 0; position < ranks(); ++position) {
      // Compare with the preceding neighbour on the axis.
      if (coordinates.coordinate(axis, position) == 0)
        continue;
      const int64_t here = coordinates.rankAt(position),
                    before = coordinates.rankAt(position - coordinates.stride(axis));
      if (table[static_cast<size_t>(here)] != table[static_cast<size_t>(before)]) {
        bits |= AxisSet(1) << axis;
        break;
      }
    }
  return bits;
}

GroupFacts RankCoordinates::factsOf(const interpret::RankGroups &groups) const {
  GroupFacts facts;
  std::vector<int64_t> groupOf(static_cast<size_t>(ranks()), -1);
  bool coversAll = true;
  for (size_t i = 0; i < groups.size(); ++i)
    for (int64_t rank : groups[i])
      groupOf[static_cast<size_t>(rank)] = static_cast<int64_t>(i);
  coversAll = std::find(groupOf.begin(), groupOf.end(), -1) == groupOf.end();
  facts.varies = variesOf(groupOf);
  if (!coversAll || groups.size() != count(facts.varies))
    return facts;
  const AxisSet within = coordinates.mesh().proper() & ~facts.varies;
  facts.isAligned = std::all_of(groups.begin(), groups.end(), [&](const auto &group) {
    if (group.size() != groups[0].size())
      return false;
    for (size_t i = 0; i < group.size(); ++i)
      if (along(within, group[i]) != along(within, groups[0][i]))
        return false;
    return true;
  });
  return facts;
}

const std::vector<int64_t> *RankScalars::find(Value value) const {
  auto found = tables.find(value);
  return found == tables.end() ? nullptr : &found->second;
}

AxisSet RankScalars::varies(Value value) const {
  const Table *table = find(value);
  return table ? coordinates.variesOf(*table) : 0;
}

/// The integer or boolean type of a single-element tensor; null otherwise.
static IntegerType integerOf(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor || !tensor.hasStaticShape() || tensor.getNumElements() != 1)
    return {};
  auto integer = dyn_cast<IntegerType>(tensor.getElementType());
  return integer && integer.getWidth() <= 32 ? integer : IntegerType();
}
static int64_t wrapped(int64_t value, IntegerType type) {
  const unsigned width = type.getWidth();
  const auto bits = static_cast<uint64_t>(value) & ((uint64_t(1) << width) - 1);
  if (type.isUnsigned() || width == 1)
    return static_cast<int64_t>(bits);
  return static_cast<int64_t>(bits << (64 - width)) >> (64 - width);
}

bool RankScalars::visit(Operation *op) {
  if (op->getNumResults() != 1)
    return false;
  IntegerType type = integerOf(op->getResult(0).getType());
  if (!type)
    return false;
  Table table;
  if (isa<stablehlo::PartitionIdOp, stablehlo::ReplicaIdOp>(op)) {
    const bool isPartition = isa<stablehlo::PartitionIdOp>(op);
    for (int64_t rank = 0; rank < coordinates.ranks(); ++rank)
      table.push_back(isPartition ? rank % grid.partitions : rank / grid.partitions);
  } else if (DenseIntElementsAttr constant; matchPattern(op, m_Constant(&constant))) {
    const APInt value = *constant.value_begin<APInt>();
    table = {type.isUnsigned() || type.getWidth() == 1 ? static_cast<int64_t>(value.getZExtValue())
                                                       : value.getSExtValue()};
  } else if (!visitSlice(op, table) && !visitElementwise(op, table)) {
    // Ops in a loop are visited repeatedly, so an earlier visit may have left a table.
    tables.erase(op->getResult(0));
    return false;
  }
  for (int64_t &value : table)
    value = wrapped(value, type);
  tables[op->getResult(0)] = std::move(table);
  return true;
}

/// A dynamic_slice of one element of a constant, at an index that has a table.
bool RankScalars::visitSlice(Operation *op, Table &into) const {
  auto slice = dyn_cast<stablehlo::DynamicSliceOp>(op);
  if (!slice || op->getNumOperands() != 2)
    return false;
  DenseIntElementsAttr constant;
  const Table *index = find(op->getOperand(1));
  if (!index || !matchPattern(op->getOperand(0), m_Constant(&constant)))
    return false;
  std::vector<int64_t> values;
  for (const APInt &value : constant.getValues<APInt>())
    values.push_back(value.getSExtValue());
  for (int64_t at : *index)
    into.push_back(values[static_cast<size_t>(
        std::clamp<int64_t>(at, 0, static_cast<int64_t>(values.size()) - 1))]);
  return true;
}

/// Evaluates the op on one rank's operand values; nullopt if the op is not supported.
static std::optional<int64_t> compute(Operation *op, ArrayRef<int64_t> in) {
  if (isa<stablehlo::ConvertOp>(op)) {
    auto to =
        cast<IntegerType>(cast<RankedTensorType>(op->getResult(0).getType()).getElementType());
    return to.getWidth() == 1 ? int64_t(in[0] != 0) : in[0];
  }
  if (isa<stablehlo::ReshapeOp, stablehlo::BroadcastInDimOp>(op))
    return in[0];
  if (isa<stablehlo::NotOp>(op))
    return ~in[0];
  if (isa<stablehlo::NegateOp>(op))
    return -in[0];
  if (isa<stablehlo::AddOp>(op))
    // The sum of booleans is their disjunction.
    return op->getResult(0).getType() == op->getOperand(0).getType() &&
                   cast<RankedTensorType>(op->getResult(0).getType()).getElementType().isInteger(1)
               ? (in[0] | in[1])
               : in[0] + in[1];
  if (isa<stablehlo::SubtractOp>(op))
    return in[0] - in[1];
  if (isa<stablehlo::MultiplyOp>(op))
    return in[0] * in[1];
  if (isa<stablehlo::DivideOp>(op))
    return in[1] == 0 ? std::nullopt : std::optional(in[0] / in[1]);
  if (isa<stablehlo::RemainderOp>(op))
    return in[1] == 0 ? std::nullopt : std::optional(in[0] % in[1]);
  if (isa<stablehlo::MinimumOp>(op))
    return std::min(in[0], in[1]);
  if (isa<stablehlo::MaximumOp>(op))
    return std::max(in[0], in[1]);
  if (isa<stablehlo::AndOp>(op))
    return in[0] & in[1];
  if (isa<stablehlo::OrOp>(op))
    return in[0] | in[1];
  if (isa<stablehlo::XorOp>(op))
    return in[0] ^ in[1];
  if (isa<stablehlo::SelectOp>(op))
    return in[0] ? in[1] : in[2];
  if (isa<stablehlo::ClampOp>(op))
    return std::min(std::max(in[1], in[0]), in[2]);
  if (auto compare = dyn_cast<stablehlo::CompareOp>(op)) {
    switch (compare.getComparisonDirection()) {
    case stablehlo::ComparisonDirection::EQ:
      return in[0] == in[1];
    case stablehlo::ComparisonDirection::NE:
      return in[0] != in[1];
    case stablehlo::ComparisonDirection::LT:
      return in[0] < in[1];
    case stablehlo::ComparisonDirection::LE:
      return in[0] <= in[1];
    case stablehlo::ComparisonDirection::GT:
      return in[0] > in[1];
    case stablehlo::ComparisonDirection::GE:
      return in[0] >= in[1];
    }
  }
  return std::nullopt;
}

bool RankScalars::visitElementwise(Operation *op, Table &into) const {
  SmallVector<const Table *, 3> operands;
  size_t size = 1;
  if (op->getNumOperands() == 0 || op->getNumOperands() > 3 || op->getNumRegions() > 0)
    return false;
  for (Value operand : op->getOperands()) {
    const Table *table = find(operand);
    if (!table || !integerOf(operand.getType()))
      return false;
    operands.push_back(table);
    size = std::max(size, table->size());
  }
  SmallVector<int64_t, 3> in(operands.size());
  for (size_t i = 0; i < size; ++i) {
    for (auto [value, table] : llvm::zip_equal(in, operands))
      value = (*table)[table->size() == 1 ? 0 : i];
    std::optional<int64_t> out = compute(op, in);
    if (!out)
      return false;
    into.push_back(*out);
  }
  return true;
}

} // namespace tilewright::distribute
