#include "tilewright/transform/tile/attention/VisibleKeys.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace tilewright::tile {

namespace {

/// One side of a comparison: the number of the key or of the query, a scalar, or nothing, plus a
/// constant.
struct Side {
  enum class Kind { none, key, query, scalar } kind = Kind::none;
  Value scalar; // that is added to the number of the key, or all there is
  int64_t constant = 0;
};

/// Larger constants could wrap around in the body, but not here.
constexpr int64_t maxConstant = int64_t(1) << 30;

/// Which keys of a range are shown: at least all that one of the queries sees, or at most those
/// that all queries see.
enum class Bound { atLeast, atMost };

class RangeFinder {
public:
  RangeFinder(OpBuilder &builder, const Mask &mask, QueryRange queries, const UniformInput &uniform,
              Bound kind)
      : builder(builder), loc(mask.visible.getLoc()), query(mask.query), keyCount(mask.keyCount),
        queries(queries), uniform(uniform), kind(kind) {}

  std::optional<KeyRange> find(Value condition);

private:
  std::optional<Side> sideOf(Value value);
  std::optional<KeyRange> compare(arith::CmpIOp op);
  std::optional<KeyRange> compareQuery(Side left, Side right, arith::CmpIPredicate predicate);
  KeyRange all() { return {index(0), index(keyCount)}; }
  Value index(int64_t value) { return arith::ConstantIndexOp::create(builder, loc, value); }
  template <typename Op> Value join(Value a, Value b) { return Op::create(builder, loc, a, b); }
  /// The other side, plus a constant, as its least or greatest value among the queries: for
  /// Bound::atMost, the other one.
  Value bound(const Side &side, bool isGreatest, int64_t plus);

  OpBuilder &builder;
  Location loc;
  const unsigned query; // the number of the argument
  const int64_t keyCount;
  const QueryRange queries;
  const UniformInput &uniform;
  const Bound kind;
};

/// Whether an op adds the first key of a part, which does not wrap around.
bool doesNotWrap(Operation *op) {
  auto sum = dyn_cast<arith::AddIOp>(op);
  return sum && bitEnumContainsAll(sum.getOverflowFlags(), arith::IntegerOverflowFlags::nsw);
}

std::optional<Side> RangeFinder::sideOf(Value value) {
  APInt number;
  if (matchPattern(value, m_ConstantInt(&number)) && number.getSignificantBits() <= 31)
    return Side{Side::Kind::none, {}, number.getSExtValue()};
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    const unsigned at = argument.getArgNumber();
    if (at == query || at == query + 1)
      return Side{at == query ? Side::Kind::query : Side::Kind::key, {}, 0};
    if (at < query || !value.getType().isInteger(32))
      return std::nullopt;
    Value scalar = uniform(at);
    return scalar ? std::optional(Side{Side::Kind::scalar, scalar, 0}) : std::nullopt;
  }
  Operation *op = value.getDefiningOp();
  if (!isa<arith::AddIOp, arith::SubIOp>(op) || !value.getType().isInteger(32))
    return std::nullopt;
  std::optional<Side> left = sideOf(op->getOperand(0)), right = sideOf(op->getOperand(1));
  if (!left || !right)
    return std::nullopt;
  const bool isSum = isa<arith::AddIOp>(op);
  if (isSum && left->kind == Side::Kind::none)
    std::swap(left, right);
  if (isSum && left->kind == Side::Kind::key && right->kind == Side::Kind::scalar &&
      !left->scalar && left->constant == 0 && doesNotWrap(op))
    return Side{Side::Kind::key, right->scalar, 0};
  // Another scalar may be any number, so that a sum with it may wrap around.
  if (right->kind != Side::Kind::none || left->kind == Side::Kind::scalar)
    return std::nullopt;
  left->constant += isSum ? right->constant : -right->constant;
  return std::abs(left->constant) < maxConstant ? left : std::nullopt;
}

Value RangeFinder::bound(const Side &side, bool isGreatest, int64_t plus) {
  Value constant = index(side.constant + plus);
  if (side.kind == Side::Kind::none)
    return constant;
  Value base = side.kind == Side::Kind::scalar          ? side.scalar
               : isGreatest == (kind == Bound::atLeast) ? queries.last
                                                        : queries.first;
  return join<arith::AddIOp>(base, constant);
}

/// The predicate with its sides exchanged.
static arith::CmpIPredicate exchanged(arith::CmpIPredicate predicate) {
  using enum arith::CmpIPredicate;
  return predicate == slt   ? sgt
         : predicate == sle ? sge
         : predicate == sgt ? slt
         : predicate == sge ? sle
                            : predicate;
}

/// All keys, if a comparison of the query with something else is true for all queries, else none.
std::optional<KeyRange> RangeFinder::compareQuery(Side left, Side right,
                                                  arith::CmpIPredicate predicate) {
  if (right.kind == Side::Kind::query) {
    std::swap(left, right);
    predicate = exchanged(predicate);
  }
  using enum arith::CmpIPredicate;
  const bool isBelow = predicate == slt || predicate == sle,
             isAbove = predicate == sgt || predicate == sge;
  if (kind != Bound::atMost || left.kind != Side::Kind::query || right.kind == Side::Kind::query ||
      (!isBelow && !isAbove))
    return std::nullopt;
  Value limit = index(right.constant - left.constant);
  if (right.kind == Side::Kind::scalar)
    limit = join<arith::AddIOp>(right.scalar, limit);
  Value isTrue =
      arith::CmpIOp::create(builder, loc, predicate, isBelow ? queries.last : queries.first, limit);
  return KeyRange{index(0),
                  arith::SelectOp::create(builder, loc, isTrue, index(keyCount), index(0))};
}

/// The keys for which a comparison of the key with something else may be (or is) true.
std::optional<KeyRange> RangeFinder::compare(arith::CmpIOp op) {
  std::optional<Side> left = sideOf(op.getLhs()), right = sideOf(op.getRhs());
  if (!left || !right)
    return std::nullopt;
  arith::CmpIPredicate predicate = op.getPredicate();
  if (right->kind == Side::Kind::key) {
    std::swap(left, right);
    predicate = exchanged(predicate);
  }
  if (left->kind != Side::Kind::key && right->kind != Side::Kind::key)
    return compareQuery(*left, *right, predicate);
  if (right->kind == Side::Kind::key)
    return std::nullopt;
  right->constant -= left->constant;
  auto key = [&](bool isGreatest, int64_t plus) -> Value {
    Value limit = bound(*right, isGreatest, plus);
    return left->scalar ? join<arith::SubIOp>(limit, left->scalar) : limit;
  };
  KeyRange range = all();
  switch (predicate) {
  case arith::CmpIPredicate::slt:
    range.end = key(true, 0);
    return range;
  case arith::CmpIPredicate::sle:
    range.end = key(true, 1);
    return range;
  case arith::CmpIPredicate::sgt:
    range.first = key(false, 1);
    return range;
  case arith::CmpIPredicate::sge:
    range.first = key(false, 0);
    return range;
  case arith::CmpIPredicate::eq:
    return KeyRange{key(false, 0), key(true, 1)};
  default:
    return std::nullopt;
  }
}

std::optional<KeyRange> RangeFinder::find(Value condition) {
  Operation *op = condition.getDefiningOp();
  if (auto comparison = dyn_cast_or_null<arith::CmpIOp>(op))
    return compare(comparison);
  if (!isa_and_present<arith::AndIOp, arith::OrIOp>(op))
    return std::nullopt;
  std::optional<KeyRange> a = find(op->getOperand(0)), b = find(op->getOperand(1));
  // One condition bounds what two conditions show at least, but not what they show at most; for one
  // of two conditions it is the other way round.
  const bool isBoth = isa<arith::AndIOp>(op);
  if (!a || !b) {
    if (isBoth == (kind == Bound::atLeast))
      return a ? a : b;
    return std::nullopt;
  }
  if (isBoth)
    return KeyRange{join<arith::MaxSIOp>(a->first, b->first), join<arith::MinSIOp>(a->end, b->end)};
  if (kind == Bound::atMost)
    return a;
  return KeyRange{join<arith::MinSIOp>(a->first, b->first), join<arith::MaxSIOp>(a->end, b->end)};
}

} // namespace

bool isInPart(BlockArgument key) { return llvm::any_of(key.getUsers(), doesNotWrap); }

std::optional<KeyRange> visibleKeys(OpBuilder &builder, const Mask &mask, QueryRange queries,
                                    const UniformInput &uniform) {
  return RangeFinder(builder, mask, queries, uniform, Bound::atLeast).find(mask.visible);
}

std::optional<KeyRange> fullyVisibleKeys(OpBuilder &builder, const Mask &mask, QueryRange queries,
                                         const UniformInput &uniform) {
  return RangeFinder(builder, mask, queries, uniform, Bound::atMost).find(mask.visible);
}

} // namespace tilewright::tile
