// nvptx-approximate: shorter instruction sequences for functions of f32, as compile.gpu-accuracy
// allows.
#include "tilewright/dialect/elements/Accuracy.h"
#include "tilewright/dialect/tile/TileDialect.h"
#include "tilewright/target/nvptx/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"

#include <limits>

using namespace mlir;

namespace tilewright::nvptx {

#define GEN_PASS_DEF_NVPTXAPPROXIMATEPASS
#include "tilewright/target/nvptx/Passes.h.inc"

namespace {

using arith::FastMathFlags;

constexpr double log2E = 1.44269504088896340736;

Value number(OpBuilder &b, Location loc, double value) {
  return arith::ConstantOp::create(b, loc, b.getF32FloatAttr(static_cast<float>(value)));
}

// --- Softmax of rows ---

/// e^(x - m) / s, where m is the maximum of a row's x, and s the sum of the row's e^(x - m).
struct Softmax {
  tile::ReduceOp maximum, sum;
  math::ExpOp exponential;
  arith::SubFOp difference; // the operand of the exponential
  SmallVector<arith::DivFOp> quotients;
};

/// The tile whose elements an argument of a map's body takes; null for other values.
Value tileOf(Value value) {
  auto argument = dyn_cast<BlockArgument>(value);
  auto map = argument ? dyn_cast<tile::MapOp>(argument.getOwner()->getParentOp()) : tile::MapOp();
  return map ? map.getInputs()[argument.getArgNumber()] : Value();
}

/// The reduction of a tile of the same shape whose results a tile repeats along the reduced
/// dimensions; null if it is something else.
tile::ReduceOp reductionOf(Value rows) {
  auto view = rows ? rows.getDefiningOp<tile::ViewOp>() : tile::ViewOp();
  auto reduce = view ? view.getSource().getDefiningOp<tile::ReduceOp>() : tile::ReduceOp();
  if (!reduce || reduce.getInputs().size() != 1 ||
      reduce.getInputs()[0].getType() != view.getType())
    return {};
  const int64_t rank = cast<ShapedType>(view.getType()).getRank();
  SmallVector<AffineExpr> kept;
  for (int64_t dim = 0; dim < rank; ++dim)
    if (!llvm::is_contained(reduce.getDims(), dim))
      kept.push_back(getAffineDimExpr(dim, reduce.getContext()));
  const bool repeats = view.getMap() == AffineMap::get(rank, 0, kept, reduce.getContext());
  return repeats ? reduce : tile::ReduceOp();
}

/// Whether a reduction combines f32 with `Op`, beginning with `init`.
template <typename Op> bool isReductionBy(tile::ReduceOp reduce, double init) {
  if (reduce.getInputs().size() != 1)
    return false;
  Block &body = reduce.getCombiner().front();
  auto op = dyn_cast<Op>(body.front());
  FloatAttr begin;
  return op && op.getType().isF32() && &body.back() == op->getNextNode() &&
         body.back().getOperand(0) == op && isa<BlockArgument>(op.getLhs()) &&
         isa<BlockArgument>(op.getRhs()) && op.getLhs() != op.getRhs() &&
         matchPattern(reduce.getInits()[0], m_Constant(&begin)) && begin.getValueAsDouble() == init;
}

/// Adds the quotients of a map that `use` gives the numerators; fails if the map does something
/// else with them.
LogicalResult addQuotients(OpOperand &use, Softmax &softmax) {
  auto map = dyn_cast<tile::MapOp>(use.getOwner());
  if (!map)
    return failure();
  for (Operation *user : map.getBody().front().getArgument(use.getOperandNumber()).getUsers()) {
    auto quotient = dyn_cast<arith::DivFOp>(user);
    if (!quotient || tileOf(quotient.getLhs()) != use.get() ||
        reductionOf(tileOf(quotient.getRhs())) != softmax.sum)
      return failure();
    softmax.quotients.push_back(quotient);
  }
  return success();
}

/// Whether the sum's only users are the quotients.
bool onlyDivides(const Softmax &softmax) {
  for (Operation *view : tile::ReduceOp(softmax.sum)->getUsers()) {
    if (!isa<tile::ViewOp>(view))
      return false;
    for (OpOperand &use : view->getUses()) {
      auto map = dyn_cast<tile::MapOp>(use.getOwner());
      if (!map)
        return false;
      for (Operation *user : map.getBody().front().getArgument(use.getOperandNumber()).getUsers())
        if (!llvm::is_contained(softmax.quotients, user))
          return false;
    }
  }
  return true;
}

/// The softmax whose numerators an exponential computes. All users of numerators and sums are part
/// of it, so that both may have another scale.
std::optional<Softmax> softmaxOf(math::ExpOp exponential) {
  Softmax found;
  found.exponential = exponential;
  found.difference = exponential.getOperand().getDefiningOp<arith::SubFOp>();
  auto map = dyn_cast<tile::MapOp>(exponential->getParentOp());
  if (!exponential.getType().isF32() || exponential->hasAttr(elements::accurateAttr) ||
      !found.difference || !map || !exponential->hasOneUse() ||
      *exponential->getUsers().begin() != map.getBody().front().getTerminator())
    return std::nullopt;
  found.maximum = reductionOf(tileOf(found.difference.getRhs()));
  if (!found.maximum || found.maximum.getInputs()[0] != tileOf(found.difference.getLhs()) ||
      !isReductionBy<arith::MaximumFOp>(found.maximum, -std::numeric_limits<double>::infinity()))
    return std::nullopt;
  Value numerators = map.getResult(exponential->getUses().begin()->getOperandNumber());
  for (Operation *user : numerators.getUsers())
    if (auto reduce = dyn_cast<tile::ReduceOp>(user)) {
      if (found.sum)
        return std::nullopt;
      found.sum = reduce;
    }
  if (!found.sum || found.sum.getDims() != found.maximum.getDims() ||
      !isReductionBy<arith::AddFOp>(found.sum, 0))
    return std::nullopt;
  for (OpOperand &use : numerators.getUses())
    if (use.getOwner() != found.sum && failed(addQuotients(use, found)))
      return std::nullopt;
  if (found.quotients.empty() || !onlyDivides(found))
    return std::nullopt;
  return found;
}

/// The scale of numerators and sums: subnormal results have normal numerators.
constexpr int scaleBits = 64;

/// z clamped to [0, 1], where NaN becomes 0: .sat, which needs no instruction of its own.
Value emitSaturated(OpBuilder &b, Location loc, Value z) {
  z = arith::MaxNumFOp::create(b, loc, z, number(b, loc, 0));
  return arith::MinNumFOp::create(b, loc, z, number(b, loc, 1));
}

Value emitBits(OpBuilder &b, Location loc, Value value) {
  return arith::BitcastOp::create(b, loc, b.getI32Type(), value);
}

/// The bits of 2^n, where the low bits of `shifted` are those of n plus the exponent's bias.
Value emitExponent(OpBuilder &b, Location loc, Value shifted) {
  Value places = arith::ConstantOp::create(b, loc, b.getI32IntegerAttr(23));
  return arith::ShLIOp::create(b, loc, emitBits(b, loc, shifted), places);
}

/// 2^(x * factor - n) by the approximation of 2^f. `negated` is -n, which is so near to the product
/// that the rest is exact but for one rounding.
Value emitPowerOfRest(OpBuilder &b, Location loc, Value x, double factor, Value negated) {
  const double high = static_cast<float>(factor);
  Value rest = math::FmaOp::create(b, loc, x, number(b, loc, high), negated);
  rest = math::FmaOp::create(b, loc, x, number(b, loc, factor - high), rest);
  return math::Exp2Op::create(b, loc, rest, FastMathFlags::afn);
}

/// An integer added to this number is in its low bits.
constexpr double integersFrom = 12582912; // 1.5 * 2^23

/// e^x in eight instructions, for the whole range. It adds at most 0.3 ulp to the error of the
/// approximation of 2^f, and 0.7 to that of results above 2^126.5. n is between -126 and 126; f has
/// the rest, so that subnormal results are rounded once, and infinities and NaN propagate.
Value emitExponential(OpBuilder &b, Location loc, Value x) {
  constexpr double range = 252, half = range / 2;
  Value z = math::FmaOp::create(b, loc, x, number(b, loc, log2E / range), number(b, loc, 0.5));
  Value shifted = math::FmaOp::create(b, loc, emitSaturated(b, loc, z), number(b, loc, range),
                                      number(b, loc, integersFrom + 1));
  Value negated = arith::SubFOp::create(b, loc, number(b, loc, integersFrom + 1 + half), shifted);
  Value power = emitPowerOfRest(b, loc, x, log2E, negated);
  Value scale = arith::BitcastOp::create(b, loc, b.getF32Type(), emitExponent(b, loc, shifted));
  return arith::MulFOp::create(b, loc, power, scale);
}

/// 2^64 e^(x - m) for finite m and x <= m, in seven instructions with the subtraction. Results
/// below 2^64 e^-128 are as large as that, which a sum of at least 2^64 rounds away, and which
/// becomes 0 when the scale is removed. If m is NaN or infinite, the result is a finite number.
Value emitScaledExponential(OpBuilder &b, Location loc, Value x, Value m) {
  constexpr double clamp = 128; // a power of 2, so that the division is exact
  Value shift = arith::MulFOp::create(b, loc, m, number(b, loc, 1 / clamp));
  Value z = math::FmaOp::create(b, loc, x, number(b, loc, -1 / clamp), shift);
  z = emitSaturated(b, loc, z);
  constexpr double begin = integersFrom + scaleBits;
  const double factor = -clamp * log2E;
  Value shifted = math::FmaOp::create(b, loc, z, number(b, loc, factor), number(b, loc, begin));
  Value negated = arith::SubFOp::create(b, loc, number(b, loc, begin), shifted);
  Value power = emitPowerOfRest(b, loc, z, factor, negated);
  // Both factors and the product are normal, so that adding to the exponent multiplies.
  Value product =
      arith::AddIOp::create(b, loc, emitBits(b, loc, power), emitExponent(b, loc, shifted));
  return arith::BitcastOp::create(b, loc, b.getF32Type(), product);
}

/// e^x by the approximation of 2^y at the rounded product.
Value emitFastExponential(OpBuilder &b, Location loc, Value x) {
  Value y = arith::MulFOp::create(b, loc, x, number(b, loc, log2E));
  return math::Exp2Op::create(b, loc, y, FastMathFlags::afn);
}

/// The reciprocals of the sums, which are at least 1 (or its scale). They are NaN in rows whose
/// maximum is NaN or infinite, as all quotients of such a row are.
Value emitReciprocals(const Softmax &softmax) {
  tile::ReduceOp sum = softmax.sum;
  OpBuilder b(sum->getContext());
  b.setInsertionPointAfter(sum);
  const Location loc = softmax.quotients.front()->getLoc();
  Value sums = sum->getResult(0), maxima = tile::ReduceOp(softmax.maximum)->getResult(0);
  auto map = tile::MapOp::create(b, loc, sums.getType(), ValueRange{sums, maxima});
  Block &body = map.getBody().emplaceBlock();
  Value s = body.addArgument(b.getF32Type(), loc), m = body.addArgument(b.getF32Type(), loc);
  b.setInsertionPointToStart(&body);
  Value zero = arith::SubFOp::create(b, loc, m, m);
  Value divisor = arith::AddFOp::create(b, loc, s, zero);
  Value reciprocal = arith::DivFOp::create(b, loc, number(b, loc, 1), divisor, FastMathFlags::arcp);
  tile::YieldOp::create(b, loc, reciprocal);
  return map.getResult(0);
}

void rewrite(const Softmax &softmax, bool isFast) {
  Value reciprocals = emitReciprocals(softmax);
  // All users of the sum, except for the new map, are views for the quotients.
  tile::ReduceOp(softmax.sum)->getResult(0).replaceUsesWithIf(reciprocals, [](OpOperand &use) {
    return isa<tile::ViewOp>(use.getOwner());
  });
  for (arith::DivFOp quotient : softmax.quotients) {
    OpBuilder b(quotient);
    quotient.replaceAllUsesWith(
        arith::MulFOp::create(b, quotient.getLoc(), quotient.getLhs(), quotient.getRhs())
            .getResult());
    quotient.erase();
  }
  math::ExpOp exponential = softmax.exponential;
  arith::SubFOp difference = softmax.difference;
  OpBuilder b(exponential);
  const Location loc = exponential.getLoc();
  Value power = isFast ? emitFastExponential(b, loc, difference)
                       : emitScaledExponential(b, loc, difference.getLhs(), difference.getRhs());
  exponential.replaceAllUsesWith(power);
  exponential.erase();
  if (difference->use_empty())
    difference.erase();
}

// --- Single functions ---

void approximate(Operation *op, bool isFast) {
  if (op->getNumResults() != 1 || !op->getResult(0).getType().isF32() ||
      op->hasAttr(elements::accurateAttr))
    return;
  if (auto exponential = dyn_cast<math::ExpOp>(op)) {
    OpBuilder b(op);
    Value x = exponential.getOperand();
    exponential.replaceAllUsesWith(isFast ? emitFastExponential(b, op->getLoc(), x)
                                          : emitExponential(b, op->getLoc(), x));
    exponential.erase();
    return;
  }
  auto quotient = dyn_cast<arith::DivFOp>(op);
  const bool hasReciprocal =
      quotient && bitEnumContainsAny(quotient.getFastmath(), FastMathFlags::arcp);
  if (isFast && (isa<math::Exp2Op, math::RsqrtOp>(op) || (quotient && !hasReciprocal)))
    op->setAttr("fastmath", arith::FastMathFlagsAttr::get(op->getContext(), FastMathFlags::afn));
}

struct NvptxApproximate : impl::NvptxApproximatePassBase<NvptxApproximate> {
  using NvptxApproximatePassBase::NvptxApproximatePassBase;
  void runOnOperation() override {
    const bool isFast = accuracy == "fast";
    if (!isFast && accuracy != "balanced") {
      if (accuracy == "full")
        return;
      getOperation().emitError() << "accuracy is '" << accuracy
                                 << "', expected full, balanced or fast";
      return signalPassFailure();
    }
    for (auto kernel : getOperation().getOps<tile::KernelOp>()) {
      SmallVector<math::ExpOp> exponentials;
      kernel.walk([&](math::ExpOp op) { exponentials.push_back(op); });
      for (math::ExpOp op : exponentials)
        if (std::optional<Softmax> softmax = softmaxOf(op))
          rewrite(*softmax, isFast);
      kernel.walk([&](Operation *op) { approximate(op, isFast); });
    }
  }
};

} // namespace

} // namespace tilewright::nvptx
