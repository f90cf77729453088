#include "tilewright/interpret/evaluate/ScalarOps.h"

#include "tilewright/dialect/stablehlo/ops/BinaryOps.h"

#include "llvm/ADT/StringMap.h"

namespace tilewright::interpret {

static constexpr NamedScalarOp named[] = {
    {"stablehlo.abs", ScalarOp::abs},
    {"stablehlo.add", ScalarOp::add},
    {"stablehlo.and", ScalarOp::bitAnd},
    {"stablehlo.atan2", ScalarOp::atan2},
    {"stablehlo.cbrt", ScalarOp::cbrt},
    {"stablehlo.ceil", ScalarOp::ceil},
    {"stablehlo.clamp", ScalarOp::clamp},
    {"stablehlo.complex", ScalarOp::complex},
    {"stablehlo.convert", ScalarOp::convert},
    {"stablehlo.cosine", ScalarOp::cosine},
    {"stablehlo.count_leading_zeros", ScalarOp::countLeadingZeros},
    {"stablehlo.divide", ScalarOp::divide},
    {"stablehlo.exponential", ScalarOp::exponential},
    {"stablehlo.exponential_minus_one", ScalarOp::exponentialMinusOne},
    {"stablehlo.floor", ScalarOp::floor},
    {"stablehlo.imag", ScalarOp::imag},
    {"stablehlo.is_finite", ScalarOp::isFinite},
    {"stablehlo.log", ScalarOp::log},
    {"stablehlo.log_plus_one", ScalarOp::logPlusOne},
    {"stablehlo.logistic", ScalarOp::logistic},
    {"stablehlo.maximum", ScalarOp::maximum},
    {"stablehlo.minimum", ScalarOp::minimum},
    {"stablehlo.multiply", ScalarOp::multiply},
    {"stablehlo.negate", ScalarOp::negate},
    {"stablehlo.not", ScalarOp::bitNot},
    {"stablehlo.or", ScalarOp::bitOr},
    {"stablehlo.popcnt", ScalarOp::popcnt},
    {"stablehlo.power", ScalarOp::power},
    {"stablehlo.real", ScalarOp::real},
    {"stablehlo.remainder", ScalarOp::remainder},
    {"stablehlo.round_nearest_afz", ScalarOp::roundNearestAfz},
    {"stablehlo.round_nearest_even", ScalarOp::roundNearestEven},
    {"stablehlo.rsqrt", ScalarOp::rsqrt},
    {"stablehlo.select", ScalarOp::select},
    {"stablehlo.shift_left", ScalarOp::shiftLeft},
    {"stablehlo.shift_right_arithmetic", ScalarOp::shiftRightArithmetic},
    {"stablehlo.shift_right_logical", ScalarOp::shiftRightLogical},
    {"stablehlo.sign", ScalarOp::sign},
    {"stablehlo.sine", ScalarOp::sine},
    {"stablehlo.sqrt", ScalarOp::sqrt},
    {"stablehlo.subtract", ScalarOp::subtract},
    {"stablehlo.tan", ScalarOp::tan},
    {"stablehlo.tanh", ScalarOp::tanh},
    {"stablehlo.xor", ScalarOp::bitXor},
};

std::span<const NamedScalarOp> namedScalarOps() { return named; }

static ScalarOp comparison(stablehlo::ComparisonDirection direction, bool totalOrder) {
  // Both enumerations have the same order.
  static_assert(static_cast<int>(ScalarOp::compareLt) - static_cast<int>(ScalarOp::compareEq) ==
                static_cast<int>(stablehlo::ComparisonDirection::LT));
  const ScalarOp first = totalOrder ? ScalarOp::totalOrderEq : ScalarOp::compareEq;
  return static_cast<ScalarOp>(static_cast<uint32_t>(first) + static_cast<uint32_t>(direction));
}

std::optional<ScalarOp> scalarOpOf(mlir::Operation *op) {
  if (auto compare = llvm::dyn_cast<stablehlo::CompareOp>(op))
    return comparison(compare.getComparisonDirection(),
                      compare.getCompareType() == stablehlo::ComparisonType::TOTALORDER);
  static const llvm::StringMap<ScalarOp> byName = [] {
    llvm::StringMap<ScalarOp> map;
    for (const NamedScalarOp &entry : named)
      map[entry.name] = entry.op;
    return map;
  }();
  auto found = byName.find(op->getName().getStringRef());
  if (found == byName.end())
    return std::nullopt;
  return found->second;
}

} // namespace tilewright::interpret
