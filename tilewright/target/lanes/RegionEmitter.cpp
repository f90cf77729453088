#include "tilewright/target/lanes/RegionEmitter.h"

#include "tilewright/support/Concat.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Complex/IR/Complex.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace llvm;

namespace tilewright::lanes {

static const OpTable &opTable() {
  static const OpTable table = [] {
    OpTable result;
    addArithEmitters(result);
    addMathEmitters(result);
    addComplexEmitters(result);
    return result;
  }();
  return table;
}

Results emitOp(LaneBuilder &b, mlir::Operation *op, ArrayRef<Lanes> operands, unsigned lanes) {
  if (OpEmitter emitter = opTable().lookup(op->getName().getTypeID())) {
    b.current = op;
    if (b.lineOf)
      b.ir.SetCurrentDebugLocation(b.lineOf(op->getLoc()));
    Results results = emitter(b, op, operands, lanes);
    b.current = nullptr;
    return results;
  }
  std::string location;
  raw_string_ostream(location) << op->getLoc();
  b.fail(
      Status(b.machine.refusal, concat("'", op->getName().getStringRef().str(), "' at ", location,
                                       " is not supported; use arith, math or complex ops")));
  Results results;
  for (mlir::Type type : op->getResultTypes())
    results.push_back(b.poison(type, lanes));
  return results;
}

SmallVector<Lanes, 2> emitBlock(LaneBuilder &b, mlir::Block &block, ArrayRef<Lanes> arguments,
                                unsigned lanes) {
  DenseMap<mlir::Value, Lanes> values;
  for (auto [argument, value] : zip_equal(block.getArguments(), arguments))
    values[argument] = value;
  SmallVector<Lanes> operands;
  for (mlir::Operation &op : block.without_terminator()) {
    operands.clear();
    for (mlir::Value operand : op.getOperands())
      operands.push_back(values.lookup(operand));
    for (auto [result, value] : zip_equal(op.getResults(), emitOp(b, &op, operands, lanes)))
      values[result] = value;
  }
  SmallVector<Lanes, 2> results;
  for (mlir::Value operand : block.getTerminator()->getOperands())
    results.push_back(values.lookup(operand));
  return results;
}

Value *emitAffine(LaneBuilder &b, mlir::AffineExpr expr, ArrayRef<Value *> dims,
                  ArrayRef<Value *> symbols) {
  if (auto constant = dyn_cast<mlir::AffineConstantExpr>(expr))
    return b.i64(constant.getValue());
  if (auto dim = dyn_cast<mlir::AffineDimExpr>(expr))
    return dims[dim.getPosition()];
  if (auto symbol = dyn_cast<mlir::AffineSymbolExpr>(expr))
    return symbols[symbol.getPosition()];
  auto binary = cast<mlir::AffineBinaryOpExpr>(expr);
  Value *left = emitAffine(b, binary.getLHS(), dims, symbols);
  Value *right = emitAffine(b, binary.getRHS(), dims, symbols);
  if (expr.getKind() == mlir::AffineExprKind::Add)
    return b.ir.CreateAdd(left, right);
  if (expr.getKind() == mlir::AffineExprKind::Mul)
    return b.ir.CreateMul(left, right);
  Value *remainder = b.ir.CreateSRem(left, right);
  Value *isBelow = b.ir.CreateICmpSLT(remainder, b.i64(0));
  remainder = b.ir.CreateSelect(isBelow, b.ir.CreateAdd(remainder, right), remainder);
  if (expr.getKind() == mlir::AffineExprKind::Mod)
    return remainder;
  Value *quotient = b.ir.CreateSDiv(b.ir.CreateSub(left, remainder), right);
  if (expr.getKind() == mlir::AffineExprKind::FloorDiv)
    return quotient;
  Value *isMore = b.ir.CreateZExt(b.ir.CreateICmpNE(remainder, b.i64(0)), b.ir.getInt64Ty());
  return b.ir.CreateAdd(quotient, isMore);
}

int64_t costOf(mlir::Block &block) {
  int64_t cost = 0;
  for (mlir::Operation &op : block.without_terminator()) {
    if (isa<mlir::arith::ConstantOp, mlir::complex::ConstantOp>(op))
      continue;
    mlir::Type type = op.getResult(0).getType();
    int64_t each = 1;
    if (isa<mlir::math::MathDialect>(op.getDialect()))
      each =
          isa<mlir::math::AbsFOp, mlir::math::CopySignOp, mlir::math::FloorOp, mlir::math::CeilOp,
              mlir::math::RoundEvenOp, mlir::math::TruncOp, mlir::math::FmaOp>(op)
              ? 1
          : isa<mlir::math::SqrtOp, mlir::math::RsqrtOp, mlir::math::ExpOp>(op) ? 15
                                                                                : 30;
    else if (isa<mlir::complex::ComplexDialect>(op.getDialect()))
      each = isa<mlir::complex::CreateOp, mlir::complex::ReOp, mlir::complex::ImOp>(op) ? 0 : 8;
    else if (isa<mlir::arith::DivFOp>(op))
      each = 6;
    else if (isa<mlir::arith::DivSIOp, mlir::arith::DivUIOp, mlir::arith::RemSIOp,
                 mlir::arith::RemUIOp, mlir::arith::RemFOp>(op))
      each = 24;
    if (isa<mlir::FloatType>(type) && !type.isF32() && !type.isF64())
      each += 5; // rounding
    cost += each;
  }
  return cost;
}

} // namespace tilewright::lanes
