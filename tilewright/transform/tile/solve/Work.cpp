#include "tilewright/transform/tile/solve/Work.h"

#include "tilewright/dialect/sm/SmDialect.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace tilewright;
using namespace tilewright::solve;

RankedTensorType solve::tileType(Value value) {
  return dyn_cast<RankedTensorType>(value.getType());
}

int64_t solve::bitsOf(Type type) {
  if (type.isIndex())
    return 64;
  if (auto complex = dyn_cast<ComplexType>(type))
    return 2 * complex.getElementType().getIntOrFloatBitWidth();
  return type.getIntOrFloatBitWidth();
}

/// Whether a view only permutes, adds or removes whole dimensions, so that every layout of its
/// result determines a layout of its source.
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

int64_t solve::opsOf(Region &body) {
  int64_t count = 0;
  for (Operation &op : body.front().without_terminator())
    count += op.getName().getDialectNamespace() == "math" ? 8 : 1;
  return count;
}

/// Whether a value is cheap to recompute. `depth` limits the number of ops to recompute, and the
/// time of this check.
static bool isCheap(Value value, int depth) {
  Operation *op = value.getDefiningOp();
  if (!op || depth == 0)
    return false;
  if (isa<tile::IotaOp>(op))
    return true;
  if (auto load = dyn_cast<tile::LoadOp>(op))
    return load.getType().getNumElements() == 1;
  if (auto view = dyn_cast<tile::ViewOp>(op))
    return isCheap(view.getSource(), depth - 1) && movesWholeDimensions(view);
  if (auto map = dyn_cast<tile::MapOp>(op))
    return opsOf(map.getBody()) <= 8 &&
           llvm::all_of(map.getInputs(), [&](Value input) { return isCheap(input, depth - 1); });
  return false;
}

bool solve::isRematerialised(Value value) { return isCheap(value, 4); }

double solve::tripCount(Operation *op) {
  double iterations = 1;
  for (auto loop = op->getParentOfType<scf::ForOp>(); loop;
       loop = loop->getParentOfType<scf::ForOp>()) {
    std::optional<int64_t> low = getConstantIntValue(loop.getLowerBound()),
                           high = getConstantIntValue(loop.getUpperBound()),
                           step = getConstantIntValue(loop.getStep());
    iterations *=
        low && high && step && *step > 0
            ? std::max<double>(1, static_cast<double>(*high - *low) / static_cast<double>(*step))
            : 8;
  }
  return iterations;
}

double solve::tripCount(Value value) {
  if (Operation *op = value.getDefiningOp())
    return tripCount(op);
  Block *block = value.getParentBlock();
  return block->empty() ? 1 : tripCount(&block->front());
}
