// math ops on vectors.
#include "tilewright/target/lanes/MathFunctions.h"
#include "tilewright/target/lanes/RegionEmitter.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/IR/Intrinsics.h"

using namespace llvm;
namespace math = mlir::math;

namespace tilewright::lanes {

namespace {

/// A single intrinsic, followed by rounding.
template <typename Op, Intrinsic::ID id> void addRounded(OpTable &table) {
  add<Op>(table, [](LaneBuilder &b, mlir::Operation *op, ArrayRef<Lanes> x, unsigned) -> Results {
    SmallVector<Value *, 3> operands;
    for (Lanes operand : x)
      operands.push_back(operand.value);
    return {{b.round(b.intrinsic(id, operands), op->getResult(0).getType())}};
  });
}

/// LLVM's integer intrinsics with a "zero is poison" flag, which is set to false.
template <typename Op, Intrinsic::ID id> void addCount(OpTable &table) {
  add<Op>(table, [](LaneBuilder &b, mlir::Operation *, ArrayRef<Lanes> x, unsigned) -> Results {
    return {{b.ir.CreateIntrinsic(x[0].value->getType(), id, {x[0].value, b.ir.getFalse()})}};
  });
}

/// A function from MathFunctions.h.
template <typename Op, MathFunction function> void addFunction(OpTable &table) {
  add<Op>(table, [](LaneBuilder &b, mlir::Operation *op, ArrayRef<Lanes> x, unsigned) -> Results {
    SmallVector<Value *, 2> operands;
    for (Lanes operand : x)
      operands.push_back(operand.value);
    return {{b.round(function(b, operands), op->getResult(0).getType())}};
  });
}

} // namespace

void addMathEmitters(OpTable &table) {
  addRounded<math::AbsFOp, Intrinsic::fabs>(table);
  addRounded<math::CeilOp, Intrinsic::ceil>(table);
  addRounded<math::FloorOp, Intrinsic::floor>(table);
  addRounded<math::TruncOp, Intrinsic::trunc>(table);
  addRounded<math::RoundEvenOp, Intrinsic::roundeven>(table);
  addRounded<math::CopySignOp, Intrinsic::copysign>(table);
  addRounded<math::SqrtOp, Intrinsic::sqrt>(table);
  addRounded<math::CtPopOp, Intrinsic::ctpop>(table);
  addCount<math::CountLeadingZerosOp, Intrinsic::ctlz>(table);
  addCount<math::CountTrailingZerosOp, Intrinsic::cttz>(table);

  addFunction<math::RoundOp, emitRound>(table);
  addFunction<math::FmaOp, emitFma>(table);
  add<math::RsqrtOp>(
      table, [](LaneBuilder &b, mlir::Operation *op, ArrayRef<Lanes> x, unsigned) -> Results {
        Value *value = x[0].value;
        const bool mayApproximate = bitEnumContainsAny(cast<math::RsqrtOp>(op).getFastmath(),
                                                       mlir::arith::FastMathFlags::afn);
        Value *result = mayApproximate && b.machine.fastRsqrt && value->getType()->isFloatTy()
                            ? b.ir.CreateIntrinsic(b.machine.fastRsqrt, {value})
                            : emitRsqrt(b, {value});
        return {{b.round(result, op->getResult(0).getType())}};
      });
  addFunction<math::ExpOp, emitExp>(table);
  add<math::Exp2Op>(
      table, [](LaneBuilder &b, mlir::Operation *op, ArrayRef<Lanes> x, unsigned) -> Results {
        Value *value = x[0].value;
        const bool mayApproximate = bitEnumContainsAny(cast<math::Exp2Op>(op).getFastmath(),
                                                       mlir::arith::FastMathFlags::afn);
        Value *result = mayApproximate && b.machine.fastExp2 && value->getType()->isFloatTy()
                            ? b.ir.CreateIntrinsic(value->getType(), b.machine.fastExp2, {value})
                            : emitExp2(b, {value});
        return {{b.round(result, op->getResult(0).getType())}};
      });
  addFunction<math::ExpM1Op, emitExpm1>(table);
  addFunction<math::LogOp, emitLog>(table);
  addFunction<math::Log2Op, emitLog2>(table);
  addFunction<math::Log10Op, emitLog10>(table);
  addFunction<math::Log1pOp, emitLog1p>(table);
  addFunction<math::TanhOp, emitTanh>(table);
  addFunction<math::ErfOp, emitErf>(table);
  addFunction<math::ErfcOp, emitErfc>(table);
  addFunction<math::SinOp, emitSin>(table);
  addFunction<math::CosOp, emitCos>(table);
  addFunction<math::TanOp, emitTan>(table);
  addFunction<math::PowFOp, emitPow>(table);
  addFunction<math::Atan2Op, emitAtan2>(table);
  addFunction<math::AtanOp, emitAtan>(table);
  addFunction<math::AsinOp, emitAsin>(table);
  addFunction<math::AcosOp, emitAcos>(table);
  addFunction<math::SinhOp, emitSinh>(table);
  addFunction<math::CoshOp, emitCosh>(table);
  addFunction<math::AsinhOp, emitAsinh>(table);
  addFunction<math::AcoshOp, emitAcosh>(table);
  addFunction<math::AtanhOp, emitAtanh>(table);
  addFunction<math::CbrtOp, emitCbrt>(table);

  add<math::AbsIOp>(table,
                    [](LaneBuilder &b, mlir::Operation *, ArrayRef<Lanes> x, unsigned) -> Results {
                      return {{b.ir.CreateIntrinsic(x[0].value->getType(), Intrinsic::abs,
                                                    {x[0].value, b.ir.getFalse()})}};
                    });
  add<math::IsFiniteOp>(
      table, [](LaneBuilder &b, mlir::Operation *, ArrayRef<Lanes> x, unsigned) -> Results {
        Value *size = b.intrinsic(Intrinsic::fabs, {x[0].value});
        return {{b.ir.CreateFCmpOLT(size, b.real(size, HUGE_VAL))}};
      });
  add<math::IsNaNOp>(table,
                     [](LaneBuilder &b, mlir::Operation *, ArrayRef<Lanes> x, unsigned) -> Results {
                       return {{b.ir.CreateFCmpUNO(x[0].value, x[0].value)}};
                     });
  add<math::IsInfOp>(table,
                     [](LaneBuilder &b, mlir::Operation *, ArrayRef<Lanes> x, unsigned) -> Results {
                       Value *size = b.intrinsic(Intrinsic::fabs, {x[0].value});
                       return {{b.ir.CreateFCmpOEQ(size, b.real(size, HUGE_VAL))}};
                     });
}

} // namespace tilewright::lanes
