// arith ops on vectors.
#include "tilewright/numerics/FloatFormat.h"
#include "tilewright/support/Concat.h"
#include "tilewright/target/lanes/MathFunctions.h"
#include "tilewright/target/lanes/RegionEmitter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Intrinsics.h"

using namespace llvm;
namespace arith = mlir::arith;

namespace tilewright::lanes {

Lanes emitConstant(LaneBuilder &b, mlir::Attribute attribute, mlir::Type type) {
  Type *compute = b.computeType(type);
  if (auto parts = mlir::dyn_cast<mlir::ArrayAttr>(attribute)) {
    mlir::Type part = mlir::cast<mlir::ComplexType>(type).getElementType();
    return {emitConstant(b, parts[0], part).value, emitConstant(b, parts[1], part).value};
  }
  if (auto integer = mlir::dyn_cast<mlir::IntegerAttr>(attribute))
    return {ConstantInt::get(b.ir.getContext(),
                             integer.getValue().sextOrTrunc(compute->getIntegerBitWidth()))};
  APFloat value = mlir::cast<mlir::FloatAttr>(attribute).getValue();
  // f32 represents every small float exactly.
  bool losesInfo;
  value.convert(compute->getFltSemantics(), APFloat::rmNearestTiesToEven, &losesInfo);
  return {ConstantFP::get(b.ir.getContext(), value)};
}

namespace {

template <typename Op, Instruction::BinaryOps opcode> void addInteger(OpTable &table) {
  add<Op>(table, [](LaneBuilder &b, mlir::Operation *, ArrayRef<Lanes> x, unsigned) -> Results {
    return {{b.ir.CreateBinOp(opcode, x[0].value, x[1].value)}};
  });
}

/// Integer division, for which vectors have no instruction. If a float type represents the integers
/// exactly, divides in that type: the rounded quotient never reaches the next integer, because that
/// is more than one ulp away.
template <typename Op, Instruction::BinaryOps opcode> void addDivision(OpTable &table) {
  constexpr bool isSigned = opcode == Instruction::SDiv || opcode == Instruction::SRem;
  constexpr bool isRemainder = opcode == Instruction::SRem || opcode == Instruction::URem;
  add<Op>(table, [](LaneBuilder &b, mlir::Operation *, ArrayRef<Lanes> x, unsigned) -> Results {
    Value *a = x[0].value, *c = x[1].value;
    unsigned width = a->getType()->getScalarSizeInBits(), lanes = b.lanesOf(a);
    if (lanes == 1 || width > 32)
      return {{b.ir.CreateBinOp(opcode, a, c)}};
    Type *real = b.vectorOf(width > 16 ? b.ir.getDoubleTy() : b.ir.getFloatTy(), lanes);
    auto toReal = [&](Value *v) {
      return isSigned ? b.ir.CreateSIToFP(v, real) : b.ir.CreateUIToFP(v, real);
    };
    Value *ratio = b.ir.CreateFDiv(toReal(a), toReal(c));
    Value *quotient =
        isSigned ? b.ir.CreateFPToSI(ratio, a->getType()) : b.ir.CreateFPToUI(ratio, a->getType());
    if (!isRemainder)
      return {{quotient}};
    return {{b.ir.CreateSub(a, b.ir.CreateMul(quotient, c))}};
  });
}

template <typename Op, Instruction::BinaryOps opcode> void addFloat(OpTable &table) {
  add<Op>(table, [](LaneBuilder &b, mlir::Operation *op, ArrayRef<Lanes> x, unsigned) -> Results {
    return {
        {b.round(b.ir.CreateBinOp(opcode, x[0].value, x[1].value), op->getResult(0).getType())}};
  });
}

template <typename Op, Intrinsic::ID id> void addIntrinsic(OpTable &table) {
  add<Op>(table, [](LaneBuilder &b, mlir::Operation *, ArrayRef<Lanes> x, unsigned) -> Results {
    SmallVector<Value *, 2> operands;
    for (Lanes operand : x)
      operands.push_back(operand.value);
    return {{b.intrinsic(id, operands)}};
  });
}

/// Converts to an integer type of another width, or to index.
template <typename Op, bool isSigned> void addResize(OpTable &table) {
  add<Op>(table, [](LaneBuilder &b, mlir::Operation *op, ArrayRef<Lanes> x, unsigned) -> Results {
    Type *to = b.vectorOf(b.computeType(op->getResult(0).getType()), b.lanesOf(x[0].value));
    return {{isSigned ? b.ir.CreateSExtOrTrunc(x[0].value, to)
                      : b.ir.CreateZExtOrTrunc(x[0].value, to)}};
  });
}

Value *compareIntegers(LaneBuilder &b, arith::CmpIPredicate predicate, Value *x, Value *y) {
  using P = arith::CmpIPredicate;
  static const std::pair<P, CmpInst::Predicate> names[] = {
      {P::eq, CmpInst::ICMP_EQ},   {P::ne, CmpInst::ICMP_NE},   {P::slt, CmpInst::ICMP_SLT},
      {P::sle, CmpInst::ICMP_SLE}, {P::sgt, CmpInst::ICMP_SGT}, {P::sge, CmpInst::ICMP_SGE},
      {P::ult, CmpInst::ICMP_ULT}, {P::ule, CmpInst::ICMP_ULE}, {P::ugt, CmpInst::ICMP_UGT},
      {P::uge, CmpInst::ICMP_UGE}};
  for (auto [from, to] : names)
    if (from == predicate)
      return b.ir.CreateICmp(to, x, y);
  llvm_unreachable("every predicate is listed");
}

Value *compareFloats(LaneBuilder &b, arith::CmpFPredicate predicate, Value *x, Value *y) {
  using P = arith::CmpFPredicate;
  static const std::pair<P, CmpInst::Predicate> names[] = {
      {P::AlwaysFalse, CmpInst::FCMP_FALSE}, {P::OEQ, CmpInst::FCMP_OEQ},
      {P::OGT, CmpInst::FCMP_OGT},           {P::OGE, CmpInst::FCMP_OGE},
      {P::OLT, CmpInst::FCMP_OLT},           {P::OLE, CmpInst::FCMP_OLE},
      {P::ONE, CmpInst::FCMP_ONE},           {P::ORD, CmpInst::FCMP_ORD},
      {P::UEQ, CmpInst::FCMP_UEQ},           {P::UGT, CmpInst::FCMP_UGT},
      {P::UGE, CmpInst::FCMP_UGE},           {P::ULT, CmpInst::FCMP_ULT},
      {P::ULE, CmpInst::FCMP_ULE},           {P::UNE, CmpInst::FCMP_UNE},
      {P::UNO, CmpInst::FCMP_UNO},           {P::AlwaysTrue, CmpInst::FCMP_TRUE}};
  for (auto [from, to] : names)
    if (from == predicate)
      return b.ir.CreateFCmp(to, x, y);
  llvm_unreachable("every predicate is listed");
}

/// Whether a rounding is a no-op, because the value comes from a smaller type.
bool isExact(mlir::Operation *op) {
  mlir::Type to = op->getResult(0).getType();
  mlir::Operation *source = op->getOperand(0).getDefiningOp();
  if (!source || !(to.isBF16() || to.isF16()))
    return false;
  mlir::Type from = source->getOperands().empty() ? mlir::Type() : source->getOperand(0).getType();
  if (mlir::isa<arith::SIToFPOp, arith::UIToFPOp>(source))
    return !from.isIndex() && from.getIntOrFloatBitWidth() <= 8;
  if (!mlir::isa<arith::ExtFOp>(source) || from.getIntOrFloatBitWidth() > 8)
    return false;
  std::optional<numerics::ElementType> small = elementTypeOf(from);
  return small && numerics::formatOf(*small).exponentBits <= (to.isF16() ? 5 : 8);
}

/// Converts an integer of any width to a float with one rounding.
template <bool isSigned>
Results emitFromInteger(LaneBuilder &b, mlir::Operation *op, ArrayRef<Lanes> x, unsigned lanes) {
  mlir::Type from = op->getOperand(0).getType(), to = op->getResult(0).getType();
  auto convert = [&](Type *type) -> Value * {
    Type *vector = b.vectorOf(type, b.lanesOf(x[0].value));
    // On a GPU, a conversion from integer takes as long as eight additions. Instead, insert a short
    // integer into the low bits of 2^23 and subtract 2^23.
    if (const unsigned bits = x[0].value->getType()->getScalarSizeInBits();
        b.machine.vectorBytes == 0 && type->isFloatTy() && bits > 1 && bits <= 16) {
      const int64_t offset = isSigned ? int64_t(1) << (bits - 1) : 0;
      Type *words = b.vectorOf(b.ir.getInt32Ty(), b.lanesOf(x[0].value));
      Value *above = b.ir.CreateZExt(x[0].value, words);
      if (isSigned)
        above = b.ir.CreateXor(above, b.integer(above, offset));
      Value *sum = b.asFloat(b.ir.CreateOr(above, b.integer(above, 0x4B000000)));
      return b.ir.CreateFSub(sum, b.real(sum, double(8388608 + offset)));
    }
    return isSigned ? b.ir.CreateSIToFP(x[0].value, vector) : b.ir.CreateUIToFP(x[0].value, vector);
  };
  if (to.isF32() || to.isF64())
    return {{convert(b.computeType(to))}};
  unsigned width = from.isIndex() ? 64 : from.getIntOrFloatBitWidth();
  if (width <= 8 && (to.isBF16() || to.isF16())) // exact in what is asked for
    return {{convert(b.ir.getFloatTy())}};
  if (width <= 16) // exact in an f32
    return {{b.round(convert(b.ir.getFloatTy()), to)}};
  if (width <= 32) // exact in an f64
    return {{b.round(b.roundToOdd(convert(b.ir.getDoubleTy())), to)}};
  if (!b.machine.hasLibrary)
    return {{b.round(b.roundToOdd(b.integerToOdd(x[0].value, isSigned)), to)}};
  mlir::Type wide = mlir::IntegerType::get(
      op->getContext(), 64, isSigned ? mlir::IntegerType::Signed : mlir::IntegerType::Unsigned);
  return {b.scalarCall("convert", wide, to, x)};
}

/// a / c by the instructions for ops that may approximate; null if the op may not, or if the
/// machine has none.
Value *divideFast(LaneBuilder &b, arith::FastMathFlags flags, Value *a, Value *c) {
  if (!a->getType()->isFloatTy())
    return nullptr;
  if (bitEnumContainsAny(flags, arith::FastMathFlags::arcp) && b.machine.fastReciprocal) {
    // One step of Newton's method makes it correctly rounded but for few operands.
    Value *estimate = b.ir.CreateIntrinsic(a->getType(), b.machine.fastReciprocal, {c});
    Value *error = b.multiplyAdd(b.ir.CreateFNeg(c), estimate, b.real(c, 1.0));
    Value *reciprocal = b.multiplyAdd(estimate, error, estimate);
    auto *constant = dyn_cast<ConstantFP>(a);
    return constant && constant->isExactlyValue(1.0) ? reciprocal : b.ir.CreateFMul(a, reciprocal);
  }
  if (bitEnumContainsAny(flags, arith::FastMathFlags::afn) && b.machine.fastDivide)
    return b.ir.CreateIntrinsic(a->getType(), b.machine.fastDivide, {a, c});
  return nullptr;
}

/// min(max(x, 0), 1) as one instruction, which a multiplication or addition before it includes;
/// null if this is something else.
Value *saturate(LaneBuilder &b, Value *larger, Value *one) {
  auto *inner = dyn_cast<IntrinsicInst>(larger);
  auto isConstant = [](Value *value, double expected) {
    auto *constant = dyn_cast<ConstantFP>(value);
    return constant && constant->isExactlyValue(expected);
  };
  if (!b.machine.saturate || !inner || inner->getIntrinsicID() != Intrinsic::maxnum ||
      !inner->getType()->isFloatTy() || !isConstant(inner->getArgOperand(1), 0) ||
      !isConstant(one, 1))
    return nullptr;
  return b.ir.CreateIntrinsic(b.machine.saturate, {inner->getArgOperand(0)});
}

} // namespace

void addArithEmitters(OpTable &table) {
  addInteger<arith::AddIOp, Instruction::Add>(table);
  addInteger<arith::SubIOp, Instruction::Sub>(table);
  addInteger<arith::MulIOp, Instruction::Mul>(table);
  addDivision<arith::DivSIOp, Instruction::SDiv>(table);
  addDivision<arith::DivUIOp, Instruction::UDiv>(table);
  addDivision<arith::RemSIOp, Instruction::SRem>(table);
  addDivision<arith::RemUIOp, Instruction::URem>(table);
  addInteger<arith::AndIOp, Instruction::And>(table);
  addInteger<arith::OrIOp, Instruction::Or>(table);
  addInteger<arith::XOrIOp, Instruction::Xor>(table);
  addInteger<arith::ShLIOp, Instruction::Shl>(table);
  addInteger<arith::ShRSIOp, Instruction::AShr>(table);
  addInteger<arith::ShRUIOp, Instruction::LShr>(table);
  addFloat<arith::AddFOp, Instruction::FAdd>(table);
  addFloat<arith::SubFOp, Instruction::FSub>(table);
  addFloat<arith::MulFOp, Instruction::FMul>(table);
  add<arith::DivFOp>(
      table, [](LaneBuilder &b, mlir::Operation *op, ArrayRef<Lanes> x, unsigned) -> Results {
        const arith::FastMathFlags flags = mlir::cast<arith::DivFOp>(op).getFastmath();
        Value *quotient = divideFast(b, flags, x[0].value, x[1].value);
        if (!quotient)
          quotient = b.ir.CreateFDiv(x[0].value, x[1].value);
        return {{b.round(quotient, op->getResult(0).getType())}};
      });
  add<arith::RemFOp>(
      table, [](LaneBuilder &b, mlir::Operation *op, ArrayRef<Lanes> x, unsigned) -> Results {
        Value *rest = emitRemainder(b, {x[0].value, x[1].value});
        return {{b.round(rest, op->getResult(0).getType())}};
      });
  addIntrinsic<arith::MaxSIOp, Intrinsic::smax>(table);
  addIntrinsic<arith::MinSIOp, Intrinsic::smin>(table);
  addIntrinsic<arith::MaxUIOp, Intrinsic::umax>(table);
  addIntrinsic<arith::MinUIOp, Intrinsic::umin>(table);
  addIntrinsic<arith::MaximumFOp, Intrinsic::maximum>(table);
  addIntrinsic<arith::MinimumFOp, Intrinsic::minimum>(table);
  addIntrinsic<arith::MaxNumFOp, Intrinsic::maxnum>(table);
  add<arith::MinNumFOp>(
      table, [](LaneBuilder &b, mlir::Operation *, ArrayRef<Lanes> x, unsigned) -> Results {
        Value *clamped = saturate(b, x[0].value, x[1].value);
        return {{clamped ? clamped : b.intrinsic(Intrinsic::minnum, {x[0].value, x[1].value})}};
      });
  addResize<arith::ExtSIOp, true>(table);
  addResize<arith::ExtUIOp, false>(table);
  addResize<arith::TruncIOp, true>(table);
  addResize<arith::IndexCastOp, true>(table);
  addResize<arith::IndexCastUIOp, false>(table);

  add<arith::NegFOp>(table,
                     [](LaneBuilder &b, mlir::Operation *, ArrayRef<Lanes> x, unsigned) -> Results {
                       return {{b.ir.CreateFNeg(x[0].value)}};
                     });
  add<arith::ConstantOp>(
      table, [](LaneBuilder &b, mlir::Operation *op, ArrayRef<Lanes>, unsigned lanes) -> Results {
        auto constant = mlir::cast<arith::ConstantOp>(op);
        return {b.splat(emitConstant(b, constant.getValue(), constant.getType()), lanes)};
      });
  add<arith::SelectOp>(table,
                       [](LaneBuilder &b, mlir::Operation *, ArrayRef<Lanes> x,
                          unsigned) -> Results { return {b.select(x[0].value, x[1], x[2])}; });
  add<arith::CmpIOp>(
      table, [](LaneBuilder &b, mlir::Operation *op, ArrayRef<Lanes> x, unsigned) -> Results {
        auto compare = mlir::cast<arith::CmpIOp>(op);
        return {{compareIntegers(b, compare.getPredicate(), x[0].value, x[1].value)}};
      });
  add<arith::CmpFOp>(
      table, [](LaneBuilder &b, mlir::Operation *op, ArrayRef<Lanes> x, unsigned) -> Results {
        auto compare = mlir::cast<arith::CmpFOp>(op);
        return {{compareFloats(b, compare.getPredicate(), x[0].value, x[1].value)}};
      });
  auto convert = [](LaneBuilder &b, mlir::Operation *op, ArrayRef<Lanes> x, unsigned) -> Results {
    if (isExact(op))
      return {x[0]};
    return {{b.convertFloat(x[0].value, op->getOperand(0).getType(), op->getResult(0).getType())}};
  };
  add<arith::ExtFOp>(table, convert);
  add<arith::TruncFOp>(table, convert);
  add<arith::SIToFPOp>(table, emitFromInteger<true>);
  add<arith::UIToFPOp>(table, emitFromInteger<false>);
  add<arith::FPToSIOp>(
      table, [](LaneBuilder &b, mlir::Operation *op, ArrayRef<Lanes> x, unsigned) -> Results {
        Type *to = b.vectorOf(b.computeType(op->getResult(0).getType()), b.lanesOf(x[0].value));
        return {{b.ir.CreateFPToSI(x[0].value, to)}};
      });
  add<arith::FPToUIOp>(
      table, [](LaneBuilder &b, mlir::Operation *op, ArrayRef<Lanes> x, unsigned) -> Results {
        Type *to = b.vectorOf(b.computeType(op->getResult(0).getType()), b.lanesOf(x[0].value));
        return {{b.ir.CreateFPToUI(x[0].value, to)}};
      });
  add<arith::BitcastOp>(
      table, [](LaneBuilder &b, mlir::Operation *op, ArrayRef<Lanes> x, unsigned) -> Results {
        mlir::Type from = op->getOperand(0).getType(), to = op->getResult(0).getType();
        Value *stored = b.encode(x[0].value, from);
        stored = b.ir.CreateBitCast(stored, b.vectorOf(b.storageType(to), b.lanesOf(stored)));
        return {{b.decode(stored, to)}};
      });
}

} // namespace tilewright::lanes
