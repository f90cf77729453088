#include "tilewright/interpret/evaluate/TileScalars.h"

#include "tilewright/interpret/Types.h"
#include "tilewright/support/Concat.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Complex/IR/Complex.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/ADT/StringMap.h"

#include <cmath>

using namespace mlir;

namespace tilewright::interpret {

std::optional<ElementType> signlessTypeOf(Type type) { return elementTypeOf(type); }

namespace {

using Register = ScalarFunction::Register;

/// The ScalarOp of an op. If `isUnsigned`, it applies to the unsigned type of the same width.
struct ScalarMapping {
  ScalarOp op;
  bool isUnsigned = false;
};

const llvm::StringMap<ScalarMapping> &mappings() {
  static const llvm::StringMap<ScalarMapping> table = {
      {"arith.addf", {ScalarOp::add}},
      {"arith.subf", {ScalarOp::subtract}},
      {"arith.mulf", {ScalarOp::multiply}},
      {"arith.divf", {ScalarOp::divide}},
      {"arith.remf", {ScalarOp::remainder}},
      {"arith.negf", {ScalarOp::negate}},
      {"arith.maximumf", {ScalarOp::maximum}},
      {"arith.minimumf", {ScalarOp::minimum}},
      {"arith.addi", {ScalarOp::add}},
      {"arith.subi", {ScalarOp::subtract}},
      {"arith.muli", {ScalarOp::multiply}},
      {"arith.divsi", {ScalarOp::divide}},
      {"arith.divui", {ScalarOp::divide, true}},
      {"arith.remsi", {ScalarOp::remainder}},
      {"arith.remui", {ScalarOp::remainder, true}},
      {"arith.maxsi", {ScalarOp::maximum}},
      {"arith.minsi", {ScalarOp::minimum}},
      {"arith.maxui", {ScalarOp::maximum, true}},
      {"arith.minui", {ScalarOp::minimum, true}},
      {"arith.andi", {ScalarOp::bitAnd}},
      {"arith.ori", {ScalarOp::bitOr}},
      {"arith.xori", {ScalarOp::bitXor}},
      {"arith.shli", {ScalarOp::shiftLeft}},
      {"arith.shrsi", {ScalarOp::shiftRightArithmetic}},
      {"arith.shrui", {ScalarOp::shiftRightLogical}},
      {"math.absf", {ScalarOp::abs}},
      {"math.absi", {ScalarOp::abs}},
      {"math.atan2", {ScalarOp::atan2}},
      {"math.cbrt", {ScalarOp::cbrt}},
      {"math.ceil", {ScalarOp::ceil}},
      {"math.cos", {ScalarOp::cosine}},
      {"math.ctlz", {ScalarOp::countLeadingZeros}},
      {"math.ctpop", {ScalarOp::popcnt}},
      {"math.exp", {ScalarOp::exponential}},
      {"math.expm1", {ScalarOp::exponentialMinusOne}},
      {"math.floor", {ScalarOp::floor}},
      {"math.log", {ScalarOp::log}},
      {"math.log1p", {ScalarOp::logPlusOne}},
      {"math.powf", {ScalarOp::power}},
      {"math.round", {ScalarOp::roundNearestAfz}},
      {"math.roundeven", {ScalarOp::roundNearestEven}},
      {"math.rsqrt", {ScalarOp::rsqrt}},
      {"math.sin", {ScalarOp::sine}},
      {"math.sqrt", {ScalarOp::sqrt}},
      {"math.tan", {ScalarOp::tan}},
      {"math.tanh", {ScalarOp::tanh}},
      {"complex.abs", {ScalarOp::abs}},
      {"complex.add", {ScalarOp::add}},
      {"complex.atan2", {ScalarOp::atan2}},
      {"complex.cos", {ScalarOp::cosine}},
      {"complex.create", {ScalarOp::complex}},
      {"complex.div", {ScalarOp::divide}},
      {"complex.exp", {ScalarOp::exponential}},
      {"complex.expm1", {ScalarOp::exponentialMinusOne}},
      {"complex.im", {ScalarOp::imag}},
      {"complex.log", {ScalarOp::log}},
      {"complex.log1p", {ScalarOp::logPlusOne}},
      {"complex.mul", {ScalarOp::multiply}},
      {"complex.neg", {ScalarOp::negate}},
      {"complex.pow", {ScalarOp::power}},
      {"complex.re", {ScalarOp::real}},
      {"complex.rsqrt", {ScalarOp::rsqrt}},
      {"complex.sign", {ScalarOp::sign}},
      {"complex.sin", {ScalarOp::sine}},
      {"complex.sqrt", {ScalarOp::sqrt}},
      {"complex.sub", {ScalarOp::subtract}},
      {"complex.tan", {ScalarOp::tan}},
      {"complex.tanh", {ScalarOp::tanh}},
  };
  return table;
}

/// StableHLO has no erf op (only a composite), so there is no ScalarOp for it.
template <ElementType type> Scalar erf(const Scalar &a, const Scalar &, const Scalar &) {
  const double value = std::erf(a.r);
  return Scalar::ofReal(type == ElementType::f32 ? static_cast<float>(value) : value);
}

/// Adds ops to a register program, one by one; returns false if an op is not supported.
class Translator {
public:
  explicit Translator(ScalarFunction::Builder &builder) : builder(builder) {}

  void bind(Value value, Register source) { registers[value] = source; }
  std::optional<Register> find(Value value) const {
    auto found = registers.find(value);
    return found == registers.end() ? std::nullopt : std::optional(found->second);
  }
  bool add(mlir::Operation &op);

private:
  std::optional<Register> append(ScalarOp op, ElementType operand, ElementType result,
                                 std::initializer_list<std::optional<Register>> operands) {
    std::vector<Register> sources;
    for (std::optional<Register> source : operands) {
      if (!source)
        return std::nullopt;
      sources.push_back(*source);
    }
    return builder.append(op, operand, result, sources);
  }
  std::optional<Register> convert(std::optional<Register> value, ElementType from, ElementType to) {
    return from == to ? value : append(ScalarOp::convert, from, to, {value});
  }
  std::optional<Register> translate(mlir::Operation &op);
  std::optional<Register> compareIntegers(arith::CmpIOp op, ElementType type);
  std::optional<Register> compareReals(arith::CmpFOp op, ElementType type);

  ScalarFunction::Builder &builder;
  llvm::DenseMap<Value, Register> registers;
};

} // namespace

bool Translator::add(mlir::Operation &op) {
  if (op.getNumResults() != 1 || op.getNumRegions() != 0 ||
      !signlessTypeOf(op.getResult(0).getType()))
    return false;
  std::optional<Register> result = translate(op);
  if (result)
    registers[op.getResult(0)] = *result;
  return result.has_value();
}

std::optional<Register> Translator::compareIntegers(arith::CmpIOp op, ElementType type) {
  using P = arith::CmpIPredicate;
  std::optional<Register> a = find(op.getLhs()), b = find(op.getRhs());
  ScalarOp comparison = ScalarOp::compareEq;
  bool isUnsigned = false;
  switch (op.getPredicate()) {
  case P::eq:
    comparison = ScalarOp::compareEq;
    break;
  case P::ne:
    comparison = ScalarOp::compareNe;
    break;
  case P::ult:
    isUnsigned = true;
    [[fallthrough]];
  case P::slt:
    comparison = ScalarOp::compareLt;
    break;
  case P::ule:
    isUnsigned = true;
    [[fallthrough]];
  case P::sle:
    comparison = ScalarOp::compareLe;
    break;
  case P::ugt:
    isUnsigned = true;
    [[fallthrough]];
  case P::sgt:
    comparison = ScalarOp::compareGt;
    break;
  case P::uge:
    isUnsigned = true;
    [[fallthrough]];
  case P::sge:
    comparison = ScalarOp::compareGe;
    break;
  }
  const ElementType as = isUnsigned ? numerics::unsignedOf(type) : type;
  return append(comparison, as, ElementType::pred, {convert(a, type, as), convert(b, type, as)});
}

std::optional<Register> Translator::compareReals(arith::CmpFOp op, ElementType type) {
  using P = arith::CmpFPredicate;
  std::optional<Register> a = find(op.getLhs()), b = find(op.getRhs());
  auto compare = [&](ScalarOp comparison, std::optional<Register> x, std::optional<Register> y) {
    return append(comparison, type, ElementType::pred, {x, y});
  };
  switch (op.getPredicate()) {
  case P::OEQ:
    return compare(ScalarOp::compareEq, a, b);
  case P::UNE:
    return compare(ScalarOp::compareNe, a, b);
  case P::OGE:
    return compare(ScalarOp::compareGe, a, b);
  case P::OGT:
    return compare(ScalarOp::compareGt, a, b);
  case P::OLE:
    return compare(ScalarOp::compareLe, a, b);
  case P::OLT:
    return compare(ScalarOp::compareLt, a, b);
  case P::UNO:
    return append(ScalarOp::bitOr, ElementType::pred, ElementType::pred,
                  {compare(ScalarOp::compareNe, a, a), compare(ScalarOp::compareNe, b, b)});
  default:
    return std::nullopt;
  }
}

static Scalar scalarOf(TypedAttr attribute) {
  if (auto integer = dyn_cast<IntegerAttr>(attribute))
    return integer.getType().isInteger(1) ? Scalar::ofUnsigned(integer.getValue().getZExtValue())
                                          : Scalar::ofSigned(integer.getValue().getSExtValue());
  return Scalar::ofReal(cast<FloatAttr>(attribute).getValueAsDouble());
}

std::optional<Register> Translator::translate(mlir::Operation &op) {
  const ElementType result = *signlessTypeOf(op.getResult(0).getType());
  if (auto constant = dyn_cast<arith::ConstantOp>(op))
    return builder.constant(scalarOf(constant.getValue()));
  if (auto constant = dyn_cast<complex::ConstantOp>(op)) {
    ArrayAttr parts = constant.getValue();
    return builder.constant(Scalar::ofComplex({cast<FloatAttr>(parts[0]).getValueAsDouble(),
                                               cast<FloatAttr>(parts[1]).getValueAsDouble()}));
  }
  std::vector<Register> operands;
  for (Value operand : op.getOperands()) {
    std::optional<Register> source = find(operand);
    if (!source)
      return std::nullopt;
    operands.push_back(*source);
  }
  std::optional<ElementType> known =
      operands.empty() ? std::nullopt : signlessTypeOf(op.getOperand(0).getType());
  if (!known)
    return std::nullopt;
  const ElementType from = *known;

  if (auto compare = dyn_cast<arith::CmpIOp>(op))
    return compareIntegers(compare, from);
  if (auto compare = dyn_cast<arith::CmpFOp>(op))
    return compareReals(compare, from);
  if (isa<arith::SelectOp>(op))
    return builder.append(ScalarOp::select, result, result, operands);
  if (isa<arith::ExtFOp, arith::TruncFOp, arith::SIToFPOp, arith::FPToSIOp, arith::ExtSIOp,
          arith::IndexCastOp>(op))
    return builder.append(ScalarOp::convert, from, result, operands);
  if (isa<arith::TruncIOp>(op))
    return result == ElementType::pred
               ? std::nullopt // the lowest bit; ScalarOp::convert would compare with zero
               : builder.append(ScalarOp::convert, from, result, operands);
  if (isa<arith::UIToFPOp, arith::ExtUIOp>(op)) {
    const ElementType as = numerics::unsignedOf(from);
    return convert(convert(operands[0], from, as), as, result);
  }
  if (isa<arith::FPToUIOp>(op)) {
    const ElementType as = numerics::unsignedOf(result);
    return convert(convert(operands[0], from, as), as, result);
  }
  if (isa<arith::BitcastOp>(op)) {
    const ElementType bits = resultTypeOf(ScalarOp::toBits, from);
    return append(ScalarOp::fromBits, result, result,
                  {append(ScalarOp::toBits, from, bits, {operands[0]})});
  }
  if (isa<math::ErfOp>(op))
    return result == ElementType::f64   ? builder.append(erf<ElementType::f64>, from, operands[0])
           : result == ElementType::f32 ? builder.append(erf<ElementType::f32>, from, operands[0])
                                        : std::nullopt;
  auto mapping = mappings().find(op.getName().getStringRef());
  if (mapping == mappings().end() || operands.size() != arityOf(mapping->second.op))
    return std::nullopt;
  if (!mapping->second.isUnsigned)
    return builder.append(mapping->second.op, from, result, operands);
  const ElementType as = numerics::unsignedOf(from);
  return convert(append(mapping->second.op, as, as,
                        {convert(operands[0], from, as), convert(operands[1], from, as)}),
                 as, result);
}

static Status refused(mlir::Operation &op) {
  std::string text;
  llvm::raw_string_ostream(text) << op;
  return Status(Error::interpretOp, concat("unsupported op in a scalar region: ", text));
}

Result<ScalarFunction> scalarFunctionOf(Block &block) {
  std::vector<ElementType> arguments;
  for (Type type : block.getArgumentTypes()) {
    std::optional<ElementType> element = signlessTypeOf(type);
    if (!element)
      return refused(*block.getParentOp());
    arguments.push_back(*element);
  }
  ScalarFunction::Builder builder(arguments);
  Translator translator(builder);
  for (auto [i, argument] : llvm::enumerate(block.getArguments()))
    translator.bind(argument, static_cast<Register>(i));
  for (mlir::Operation &op : block.without_terminator())
    if (!translator.add(op))
      return refused(op);
  for (Value value : block.getTerminator()->getOperands()) {
    std::optional<Register> source = translator.find(value);
    if (!source)
      return refused(*block.getTerminator());
    builder.addResult(*source, *signlessTypeOf(value.getType()));
  }
  return std::move(builder).finish();
}

Result<ScalarFunction> scalarFunctionOf(mlir::Operation &op) {
  std::vector<ElementType> arguments;
  for (Type type : op.getOperandTypes()) {
    std::optional<ElementType> element = signlessTypeOf(type);
    if (!element)
      return refused(op);
    arguments.push_back(*element);
  }
  ScalarFunction::Builder builder(arguments);
  Translator translator(builder);
  for (auto [i, operand] : llvm::enumerate(op.getOperands()))
    translator.bind(operand, static_cast<Register>(i));
  if (!translator.add(op))
    return refused(op);
  builder.addResult(*translator.find(op.getResult(0)), *signlessTypeOf(op.getResult(0).getType()));
  return std::move(builder).finish();
}

} // namespace tilewright::interpret
