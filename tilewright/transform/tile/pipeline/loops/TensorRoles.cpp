#include "tilewright/transform/tile/pipeline/loops/TensorRoles.h"

#include "tilewright/dialect/sm/InstructionLayouts.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace tilewright::pipeline {

Value makeTensorChannel(OpBuilder &b, const ProductLoop &products, const LoopProduct &product) {
  const int64_t rows = products.groupRows();
  tile::DotOp dot = product.dot;
  auto buffer = [&](Value of, int64_t columns, const std::optional<sm::Layout> &layout) {
    return sm::BufferType::get(b.getContext(), {rows, columns},
                               cast<RankedTensorType>(of.getType()).getElementType(),
                               sm::Space::tensor, sm::LayoutAttr::get(b.getContext(), *layout));
  };
  SmallVector<sm::BufferType> buffers;
  if (products.sums.contains(dot))
    buffers.push_back(
        buffer(dot.getLhs(), product.k, sm::instruction::tensorOperand(rows, product.k, 1)));
  buffers.push_back(
      buffer(dot.getResult(), product.n, sm::instruction::tensorAccumulator(rows, product.n, 1)));
  return sm::ChannelOp::create(b, dot.getLoc(), sm::ChannelType::get(b.getContext(), buffers),
                               /*depth=*/1, /*filled=*/0, products.rows / rows);
}

// --- The role that computes ---

void TensorMathRole::buildOp(OpBuilder &b, Operation *op, Mapping &mapping) {
  // The role that multiplies takes staged tiles.
  if (products.loads.contains(op))
    return;
  if (auto loop = dyn_cast<scf::ForOp>(op))
    return buildLoop(b, loop, mapping);
  if (auto dot = dyn_cast<tile::DotOp>(op)) {
    const auto sum = products.sums.find(dot);
    return sum == products.sums.end() ? buildResult(b, dot, mapping)
                                      : buildSum(b, dot, sum->second, mapping);
  }
  // The sum is rescaled when it is complete.
  if (llvm::any_of(products.sums, [&](const auto &entry) { return entry.second.scaling == op; }))
    return;
  MathRole::buildOp(b, op, mapping);
}

/// Copies a buffer of tensor memory to registers.
static Value read(OpBuilder &b, Location loc, Type type, Value buffer) {
  return sm::CopyOp::create(b, loc, type, sm::Engine::tmem, buffer, ValueRange(), Value(),
                            ValueRange(), false, DenseI64ArrayAttr())
      .getResult();
}

static void write(OpBuilder &b, Location loc, Value tile, Value buffer) {
  sm::CopyOp::create(b, loc, Type(), sm::Engine::tmem, tile, ValueRange(), buffer, ValueRange(),
                     false, DenseI64ArrayAttr());
}

void TensorMathRole::buildResult(OpBuilder &b, tile::DotOp dot, Mapping &mapping) {
  Value channel = channels.tensor.lookup(dot);
  auto slot = sm::TakeOp::create(b, dot.getLoc(), channel);
  Type type = sm::withLayout(dot.getType(), layouts.of(dot));
  mapping.map(dot.getResult(), read(b, dot.getLoc(), type, slot.getResult(0)));
  // In registers, the result does not keep the next product waiting.
  sm::FreeOp::create(b, dot.getLoc(), channel);
}

void TensorMathRole::buildSum(OpBuilder &b, tile::DotOp dot, const TensorSum &sum,
                              Mapping &mapping) {
  Location loc = dot.getLoc();
  Value channel = channels.tensor.lookup(dot);
  auto slot = sm::AcquireOp::create(b, loc, channel);
  if (sum.scaling)
    sm::ScaleOp::create(b, loc, slot.getResult(1), mapping.lookup(sum.factors));
  write(b, loc, mapping.lookup(dot.getLhs()), slot.getResult(0));
  sm::PublishOp::create(b, loc, channel);
}

void TensorMathRole::buildLoop(OpBuilder &b, scf::ForOp loop, Mapping &mapping) {
  for (auto &[dot, sum] : products.sums) {
    if (sum.loop != loop)
      continue;
    Value channel = channels.tensor.lookup(dot);
    auto slot = sm::AcquireOp::create(b, dot->getLoc(), channel);
    write(b, dot->getLoc(), mapping.lookup(loop.getInitArgs()[sum.number]), slot.getResult(1));
    sm::PublishOp::create(b, dot->getLoc(), channel);
  }
  buildPlainLoop(b, loop, mapping);
  for (auto &[dot, sum] : products.sums) {
    if (sum.loop != loop)
      continue;
    // The slot is free when the last product is complete.
    auto slot = sm::AcquireOp::create(b, dot->getLoc(), channels.tensor.lookup(dot));
    Value result = loop.getResult(sum.number);
    Type type = sm::withLayout(result.getType(), layouts.of(result));
    mapping.map(result, read(b, dot->getLoc(), type, slot.getResult(1)));
  }
}

// --- The role that multiplies ---

MmaRole::MmaRole(ProductLoop &products, const IRMapping &scalars, const RoleChannels &channels,
                 int64_t warps)
    : ScalarRole(products, scalars, channels, warps) {
  needBounds(products.loop);
}

bool MmaRole::isVisited(scf::ForOp loop) { return loop->isAncestor(products.loop); }

void MmaRole::build(sm::RoleOp role) {
  OpBuilder b(role.getBody().front().getTerminator());
  ScalarRole::build(role);
  b.setInsertionPoint(role.getBody().front().getTerminator());
  for (auto &[op, buffers] : products.loads)
    if (held.contains(op))
      sm::FreeOp::create(b, op->getLoc(), channels.staged.lookup(op));
}

bool MmaRole::buildOwn(OpBuilder &b, Operation *op) {
  Location loc = op->getLoc();
  if (products.loads.contains(op)) {
    auto slot = sm::TakeOp::create(b, loc, channels.staged.lookup(op));
    held[op] = SmallVector<Value>(slot.getResults());
    return true;
  }
  // The first slots contain the zeros from which sums begin.
  for (auto &[dot, sum] : products.sums)
    for (int64_t part = 0; sum.loop == op && part < products.groups(); ++part) {
      sm::TakeOp::create(b, loc, channels.tensor.lookup(dot), part);
      sm::FreeOp::create(b, loc, channels.tensor.lookup(dot), part);
    }
  if (op != products.loop)
    return false;
  Value count = mapping.lookup(products.loop.getUpperBound());
  APInt constant;
  if (matchPattern(products.loop.getUpperBound(), m_ConstantInt(&constant)) && constant.sgt(0)) {
    buildProducts(b, count);
    return true;
  }
  Value zero = arith::ConstantIndexOp::create(b, loc, 0);
  Value isAny = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::sgt, count, zero);
  auto branch = scf::IfOp::create(b, loc, isAny, /*withElseRegion=*/false);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  buildProducts(b, count);
  return true;
}

void MmaRole::buildProducts(OpBuilder &b, Value count) {
  Location loc = products.loop.getLoc();
  multiply(b, /*areSums=*/false);
  Value one = arith::ConstantIndexOp::create(b, loc, 1);
  auto steady = scf::ForOp::create(b, loc, one, count, one);
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(steady.getBody());
    multiply(b, /*areSums=*/false);
    multiply(b, /*areSums=*/true);
  }
  multiply(b, /*areSums=*/true);
}

void MmaRole::multiply(OpBuilder &b, bool areSums) {
  struct Operands {
    const LoopProduct *product;
    SmallVector<Value> lhs;
    Value rhs;
  };
  SmallVector<Operands> all;
  SmallVector<Operation *> taken;
  for (const LoopProduct &product : products.products) {
    if (products.sums.contains(product.dot) != areSums)
      continue;
    Operands operands{&product, {}, {}};
    for (auto &[op, staged] : products.loads) {
      if (staged.dot != product.dot)
        continue;
      SmallVector<Value> buffers = held.lookup(op);
      if (buffers.empty()) {
        auto slot = sm::TakeOp::create(b, op->getLoc(), channels.staged.lookup(op));
        buffers.assign(slot.getResults().begin(), slot.getResults().end());
        taken.push_back(op);
      }
      if (staged.isLhs)
        operands.lhs = buffers;
      else
        operands.rhs = buffers.front();
    }
    all.push_back(operands);
  }
  for (int64_t part = 0; part < products.groups(); ++part)
    for (const Operands &operands : all)
      multiplyPart(b, *operands.product, operands.lhs, operands.rhs, part);
  for (Operation *op : taken)
    sm::FreeOp::create(b, op->getLoc(), channels.staged.lookup(op));
}

void MmaRole::multiplyPart(OpBuilder &b, const LoopProduct &product, ValueRange lhs, Value rhs,
                           int64_t part) {
  tile::DotOp dot = product.dot;
  Location loc = dot.getLoc();
  Value channel = channels.tensor.lookup(dot);
  if (lhs.empty()) {
    auto slot = sm::TakeOp::create(b, loc, channel, part);
    sm::MmaOp::create(b, loc, Type(), sm::Atom::tcgen05, slot.getResult(0), rhs, Value(),
                      slot.getResult(1), Value());
    sm::FreeOp::create(b, loc, channel, part);
    return;
  }
  auto slot = sm::AcquireOp::create(b, loc, channel, part);
  Value isZero = arith::ConstantOp::create(b, loc, b.getBoolAttr(true));
  sm::MmaOp::create(b, loc, Type(), sm::Atom::tcgen05, lhs[size_t(part)], rhs, Value(),
                    slot.getResult(0), isZero);
  sm::PublishOp::create(b, loc, channel, part);
}

} // namespace tilewright::pipeline
