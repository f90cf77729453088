// fuse-rows: for GPUs, turns sorts and scatters of sorted rows into fusions of their own.
#include "tilewright/dialect/exec/ExecDialect.h"
#include "tilewright/dialect/indexing/IndexingRelation.h"
#include "tilewright/dialect/indexing/SplatTable.h"
#include "tilewright/dialect/stablehlo/StablehloOps.h"
#include "tilewright/interpret/PassLog.h"
#include "tilewright/transform/TypeOf.h"
#include "tilewright/transform/fuse/Classify.h"
#include "tilewright/transform/fuse/Passes.h"

#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace tilewright::fuse {
#define GEN_PASS_DEF_FUSEROWSPASS
#include "tilewright/transform/fuse/Passes.h.inc"

namespace {

/// One sort, and how its fusion is built.
class SortFusion {
public:
  explicit SortFusion(stablehlo::SortOp op)
      : op(op), builder(op), type(typeOf(op.getInputs().front())),
        dim(static_cast<int64_t>(op.getDimension())) {
    if (dim < 0)
      dim += type.getRank();
  }

  void build();

private:
  bool isIndices(Value operand) const;
  std::optional<int64_t> slicedTo(Operation *user) const;
  void findKept();
  void moveLast();
  Value slice(Value value, int64_t size);

  stablehlo::SortOp op;
  OpBuilder builder;
  RankedTensorType type;
  int64_t dim;
  int64_t kept = 0; // the first elements along the dimension that are read
};

} // namespace

/// Whether an operand is the index along the sorted dimension, which a kernel need not read.
bool SortFusion::isIndices(Value operand) const {
  auto iota = operand.getDefiningOp<stablehlo::IotaOp>();
  return iota && typeOf(operand).getElementType().isInteger() &&
         static_cast<int64_t>(iota.getIotaDimension()) == dim;
}

/// The number of leading elements that a reader keeps, if it is such a slice.
std::optional<int64_t> SortFusion::slicedTo(Operation *user) const {
  auto slice = dyn_cast<stablehlo::SliceOp>(user);
  if (!slice)
    return std::nullopt;
  for (auto [each, size] : llvm::enumerate(type.getShape()))
    if (slice.getStartIndices()[each] != 0 || slice.getStrides()[each] != 1 ||
        (static_cast<int64_t>(each) != dim && slice.getLimitIndices()[each] != size))
      return std::nullopt;
  return slice.getLimitIndices()[static_cast<size_t>(dim)];
}

/// If all readers slice off the same number of leading elements, only these are computed.
void SortFusion::findKept() {
  const int64_t length = type.getDimSize(static_cast<unsigned>(dim));
  std::optional<int64_t> common;
  for (Operation *user : op->getUsers()) {
    const int64_t size = slicedTo(user).value_or(length);
    if (common && *common != size) {
      common = length;
      break;
    }
    common = size;
  }
  // An empty result is not worth a kernel, but its slice remains.
  kept = common && *common > 0 ? *common : length;
}

Value SortFusion::slice(Value value, int64_t size) {
  SmallVector<int64_t> shape(typeOf(value).getShape()), start(shape.size(), 0),
      step(shape.size(), 1);
  shape[static_cast<size_t>(dim)] = size;
  return stablehlo::SliceOp::create(builder, op.getLoc(),
                                    RankedTensorType::get(shape, typeOf(value).getElementType()),
                                    value, start, shape, step);
}

/// Replaces the sort by one along the last dimension, between transposes.
void SortFusion::moveLast() {
  SmallVector<int64_t> order, back(static_cast<size_t>(type.getRank()));
  for (int64_t each = 0; each < type.getRank(); ++each)
    if (each != dim)
      order.push_back(each);
  order.push_back(dim);
  for (auto [to, from] : llvm::enumerate(order))
    back[static_cast<size_t>(from)] = static_cast<int64_t>(to);
  auto moved = [](RankedTensorType type, ArrayRef<int64_t> order) {
    SmallVector<int64_t> shape;
    for (int64_t each : order)
      shape.push_back(type.getDimSize(static_cast<unsigned>(each)));
    return RankedTensorType::get(shape, type.getElementType());
  };
  SmallVector<Value> operands;
  SmallVector<Type> types;
  for (Value operand : op.getInputs()) {
    types.push_back(moved(typeOf(operand), order));
    operands.push_back(
        isIndices(operand)
            ? Value(stablehlo::IotaOp::create(builder, op.getLoc(), types.back(),
                                              static_cast<uint64_t>(type.getRank() - 1)))
            : Value(stablehlo::TransposeOp::create(builder, op.getLoc(), types.back(), operand,
                                                   order)));
  }
  auto last = stablehlo::SortOp::create(builder, op.getLoc(), types, operands,
                                        builder.getI64IntegerAttr(type.getRank() - 1),
                                        builder.getBoolAttr(op.getIsStable()));
  IRMapping mapping;
  op.getComparator().cloneInto(&last.getComparator(), mapping);
  // Moves slices before the transposes.
  dim = type.getRank() - 1;
  const int64_t length = type.getDimSize(static_cast<unsigned>(order.back()));
  for (auto [from, to] : llvm::zip_equal(op.getResults(), last.getResults())) {
    if (from.use_empty())
      continue;
    Value first = kept == length ? Value(to) : slice(to, kept);
    Value result = stablehlo::TransposeOp::create(builder, op.getLoc(), moved(typeOf(first), back),
                                                  first, back);
    if (kept == length) {
      from.replaceAllUsesWith(result);
      continue;
    }
    for (Operation *user : llvm::make_early_inc_range(from.getUsers())) {
      user->getResult(0).replaceAllUsesWith(result);
      user->erase();
    }
  }
  op.erase();
  op = last;
  type = typeOf(op.getInputs().front());
}

void SortFusion::build() {
  const int64_t length = type.getDimSize(static_cast<unsigned>(dim));
  if (op->use_empty())
    return op.erase();
  if (length == 1) {
    op.replaceAllUsesWith(ValueRange(op.getInputs()));
    return op.erase();
  }
  findKept();
  // Blocks sort columns in place only as long as many of them fit.
  constexpr int64_t longestColumn = 1024;
  if (dim + 1 != type.getRank() && length > longestColumn)
    moveLast();
  builder.setInsertionPoint(op);
  llvm::SmallSetVector<Value, 4> inputs;
  for (Value operand : op.getInputs())
    if (!isIndices(operand))
      inputs.insert(operand);
  SmallVector<OpResult> used;
  SmallVector<Type> types;
  for (OpResult result : op->getResults()) {
    if (result.use_empty())
      continue;
    used.push_back(result);
    SmallVector<int64_t> shape(typeOf(result).getShape());
    shape[static_cast<size_t>(dim)] = kept;
    types.push_back(RankedTensorType::get(shape, typeOf(result).getElementType()));
  }
  auto fusion = exec::FusionOp::create(builder, op.getLoc(), types, "sort", inputs.getArrayRef(),
                                       builder.getStringAttr("a sort by itself"));
  Block *block = builder.createBlock(&fusion.getBody());
  IRMapping mapping;
  for (Value input : inputs)
    mapping.map(input, block->addArgument(input.getType(), input.getLoc()));
  for (Value operand : op.getInputs())
    if (isIndices(operand) && !mapping.contains(operand))
      mapping.map(operand, builder.clone(*operand.getDefiningOp())->getResult(0));
  Operation *inner = builder.clone(*op, mapping);
  SmallVector<Value> yielded;
  for (OpResult result : used) {
    Value value = inner->getResult(result.getResultNumber());
    yielded.push_back(kept == length ? value : slice(value, kept));
  }
  exec::YieldOp::create(builder, op.getLoc(), yielded);
  for (auto [from, to] : llvm::zip_equal(used, fusion.getResults())) {
    if (kept == length) {
      from.replaceAllUsesWith(to);
      continue;
    }
    for (Operation *user : llvm::make_early_inc_range(from.getUsers())) {
      user->getResult(0).replaceAllUsesWith(to);
      user->erase();
    }
  }
  op.erase();
}

/// Turns a scatter of sorted rows into a fusion, with the gather that sorted them if nothing else
/// reads that.
static void fuseSegments(stablehlo::ScatterOp op) {
  OpBuilder builder(op);
  auto gather = op.getUpdates().front().getDefiningOp<stablehlo::GatherOp>();
  if (gather && (!gather->hasOneUse() || !indexing::isRowGather(gather)))
    gather = {};
  SmallVector<Value> inputs = {op.getInputs().front(), op.getScatterIndices()};
  if (gather)
    inputs.append({gather.getOperand(), gather.getStartIndices()});
  else
    inputs.push_back(op.getUpdates().front());
  auto fusion =
      exec::FusionOp::create(builder, op.getLoc(), op.getResultTypes(), "scatter", inputs,
                             builder.getStringAttr(gather ? "a scatter of rows that are sorted"
                                                          : "a scatter of sorted rows by itself"));
  Block *block = builder.createBlock(&fusion.getBody());
  for (Value input : inputs)
    block->addArgument(input.getType(), input.getLoc());
  Value updates = block->getArgument(2);
  if (gather) {
    IRMapping mapping;
    mapping.map(gather.getOperand(), block->getArgument(2));
    Operation *inner = builder.clone(*gather, mapping);
    inner->setOperand(1, block->getArgument(3));
    updates = inner->getResult(0);
  }
  // Each operand has its own argument, even if two operands are the same value.
  Operation *inner = builder.clone(*op);
  inner->setOperands({block->getArgument(0), block->getArgument(1), updates});
  Value table = op.getInputs().front();
  if (auto broadcast = table.getDefiningOp<stablehlo::BroadcastInDimOp>())
    table = broadcast.getOperand();
  if (auto constant = table.getDefiningOp<stablehlo::ConstantOp>())
    if (auto dense = dyn_cast<DenseElementsAttr>(constant.getValue()); dense && dense.isSplat())
      inner->setDiscardableAttr(indexing::splatTable, dense);
  exec::YieldOp::create(builder, op.getLoc(), inner->getResults());
  op.replaceAllUsesWith(fusion.getResults());
  op.erase();
  if (gather)
    gather.erase();
}

namespace {

struct FuseRows : impl::FuseRowsPassBase<FuseRows> {
  void runOnOperation() override {
    if (!exec::targetOf(getOperation()).isGpu() || getOperation().isPrivate())
      return;
    SmallVector<stablehlo::SortOp> sorts;
    SmallVector<stablehlo::ScatterOp> scatters;
    getOperation().walk<WalkOrder::PreOrder>([&](Operation *op) {
      auto sort = dyn_cast<stablehlo::SortOp>(op);
      std::string reason;
      if (auto scatter = dyn_cast<stablehlo::ScatterOp>(op);
          scatter && indexing::isSortedScatter(scatter) && indexing::canTile(scatter))
        scatters.push_back(scatter);
      if (sort && indexing::canTile(sort, &reason))
        sorts.push_back(sort);
      else if (sort)
        TILEWRIGHT_LOG(getArgument(), op, "does not become a kernel: it ", reason);
      const bool descends =
          op == getOperation() || isa<stablehlo::WhileOp, stablehlo::IfOp, stablehlo::CaseOp>(op);
      return descends ? WalkResult::advance() : WalkResult::skip();
    });
    for (stablehlo::SortOp sort : sorts)
      SortFusion(sort).build();
    for (stablehlo::ScatterOp scatter : scatters)
      fuseSegments(scatter);
  }
};

} // namespace
} // namespace tilewright::fuse
