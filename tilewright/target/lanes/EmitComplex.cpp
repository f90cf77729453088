// complex ops on pairs of vectors. Functions without a simple formula call the scalar table, one
// lane at a time.
#include "tilewright/target/lanes/RegionEmitter.h"

#include "mlir/Dialect/Complex/IR/Complex.h"
#include "llvm/IR/Intrinsics.h"

using namespace llvm;
namespace complex = mlir::complex;

namespace tilewright::lanes {

namespace {

constexpr char absName[] = "abs", expName[] = "exponential", expm1Name[] = "exponentialMinusOne",
               logName[] = "log", log1pName[] = "logPlusOne", sqrtName[] = "sqrt",
               rsqrtName[] = "rsqrt", sinName[] = "sine", cosName[] = "cosine", tanName[] = "tan",
               tanhName[] = "tanh", powName[] = "power", signName[] = "sign", divName[] = "divide",
               atan2Name[] = "atan2";

template <typename Op, const char *name> void addCall(OpTable &table) {
  add<Op>(table, [](LaneBuilder &b, mlir::Operation *op, ArrayRef<Lanes> x, unsigned) -> Results {
    mlir::Type operand = op->getOperand(0).getType(), result = op->getResult(0).getType();
    return {b.machine.hasLibrary ? b.scalarCall(name, operand, result, x)
                                 : emitComplexAlone(b, name, operand, x)};
  });
}

} // namespace

void addComplexEmitters(OpTable &table) {
  addCall<complex::AbsOp, absName>(table);
  addCall<complex::ExpOp, expName>(table);
  addCall<complex::Expm1Op, expm1Name>(table);
  addCall<complex::LogOp, logName>(table);
  addCall<complex::Log1pOp, log1pName>(table);
  addCall<complex::SqrtOp, sqrtName>(table);
  addCall<complex::RsqrtOp, rsqrtName>(table);
  addCall<complex::SinOp, sinName>(table);
  addCall<complex::CosOp, cosName>(table);
  addCall<complex::TanOp, tanName>(table);
  addCall<complex::TanhOp, tanhName>(table);
  addCall<complex::PowOp, powName>(table);
  addCall<complex::SignOp, signName>(table);
  addCall<complex::DivOp, divName>(table);
  addCall<complex::Atan2Op, atan2Name>(table);

  add<complex::ConstantOp>(
      table, [](LaneBuilder &b, mlir::Operation *op, ArrayRef<Lanes>, unsigned lanes) -> Results {
        auto constant = mlir::cast<complex::ConstantOp>(op);
        return {b.splat(emitConstant(b, constant.getValue(), constant.getType()), lanes)};
      });
  add<complex::CreateOp>(table,
                         [](LaneBuilder &, mlir::Operation *, ArrayRef<Lanes> x,
                            unsigned) -> Results { return {{x[0].value, x[1].value}}; });
  add<complex::ReOp>(table,
                     [](LaneBuilder &, mlir::Operation *, ArrayRef<Lanes> x, unsigned) -> Results {
                       return {{x[0].value}};
                     });
  add<complex::ImOp>(table,
                     [](LaneBuilder &, mlir::Operation *, ArrayRef<Lanes> x, unsigned) -> Results {
                       return {{x[0].imag}};
                     });
  add<complex::AddOp>(
      table, [](LaneBuilder &b, mlir::Operation *, ArrayRef<Lanes> x, unsigned) -> Results {
        return {{b.ir.CreateFAdd(x[0].value, x[1].value), b.ir.CreateFAdd(x[0].imag, x[1].imag)}};
      });
  add<complex::SubOp>(
      table, [](LaneBuilder &b, mlir::Operation *, ArrayRef<Lanes> x, unsigned) -> Results {
        return {{b.ir.CreateFSub(x[0].value, x[1].value), b.ir.CreateFSub(x[0].imag, x[1].imag)}};
      });
  add<complex::MulOp>(
      table, [](LaneBuilder &b, mlir::Operation *, ArrayRef<Lanes> x, unsigned) -> Results {
        Value *real = b.ir.CreateFSub(b.ir.CreateFMul(x[0].value, x[1].value),
                                      b.ir.CreateFMul(x[0].imag, x[1].imag));
        Value *imag = b.ir.CreateFAdd(b.ir.CreateFMul(x[0].value, x[1].imag),
                                      b.ir.CreateFMul(x[0].imag, x[1].value));
        return {{real, imag}};
      });
  add<complex::NegOp>(
      table, [](LaneBuilder &b, mlir::Operation *, ArrayRef<Lanes> x, unsigned) -> Results {
        return {{b.ir.CreateFNeg(x[0].value), b.ir.CreateFNeg(x[0].imag)}};
      });
  add<complex::ConjOp>(
      table, [](LaneBuilder &b, mlir::Operation *, ArrayRef<Lanes> x, unsigned) -> Results {
        return {{x[0].value, b.ir.CreateFNeg(x[0].imag)}};
      });
  add<complex::EqualOp>(
      table, [](LaneBuilder &b, mlir::Operation *, ArrayRef<Lanes> x, unsigned) -> Results {
        return {{b.ir.CreateAnd(b.ir.CreateFCmpOEQ(x[0].value, x[1].value),
                                b.ir.CreateFCmpOEQ(x[0].imag, x[1].imag))}};
      });
  add<complex::NotEqualOp>(
      table, [](LaneBuilder &b, mlir::Operation *, ArrayRef<Lanes> x, unsigned) -> Results {
        return {{b.ir.CreateOr(b.ir.CreateFCmpUNE(x[0].value, x[1].value),
                               b.ir.CreateFCmpUNE(x[0].imag, x[1].imag))}};
      });
}

} // namespace tilewright::lanes
