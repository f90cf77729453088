#include "tilewright/target/gpu/Polynomial.h"

#include "tilewright/dialect/elements/Accuracy.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"

namespace tilewright::gpu {

namespace arith = mlir::arith;
namespace math = mlir::math;
using mlir::Block, mlir::OpBuilder, mlir::Value;

int64_t polynomialShare(Block &body) {
  for (auto power : body.getOps<math::Exp2Op>())
    if (auto every = power->getAttrOfType<mlir::IntegerAttr>(elements::polynomialAttr))
      return every.getInt();
  return 0;
}

/// 2^x with a relative error of 2^-18.4, and 0 from x = -127 on, for x up to 127. Below 2^-126 the
/// result is only small: this approximates a function that has no subnormal results.
static Value power(OpBuilder &b, mlir::Location loc, Value x) {
  auto number = [&](float value) -> Value {
    return arith::ConstantOp::create(b, loc, b.getF32FloatAttr(value));
  };
  // Adding this rounds to an integer, which is then in the lowest bits of the sum.
  Value magic = number(0x1.8p+23F);
  Value from = arith::MaximumFOp::create(b, loc, x, number(-127));
  Value sum = arith::AddFOp::create(b, loc, from, magic);
  Value whole = arith::SubFOp::create(b, loc, sum, magic);
  Value rest = arith::SubFOp::create(b, loc, from, whole);
  // The minimax polynomial of 2^rest for |rest| <= 1/2 that is 1 at 0.
  Value result = number(0x1.3a02d8p-7F);
  for (float coefficient : {0x1.c9fc72p-5F, 0x1.ec0378p-3F, 0x1.62e12cp-1F, 1.0F})
    result = math::FmaOp::create(b, loc, result, rest, number(coefficient));
  mlir::Type word = b.getI32Type();
  Value exponent =
      arith::ShLIOp::create(b, loc, arith::BitcastOp::create(b, loc, word, sum),
                            arith::ConstantOp::create(b, loc, b.getI32IntegerAttr(23)).getResult());
  Value bits =
      arith::AddIOp::create(b, loc, arith::BitcastOp::create(b, loc, word, result), exponent);
  return arith::BitcastOp::create(b, loc, b.getF32Type(), bits);
}

Block &withPolynomials(Block &body, mlir::Region &region) {
  Block &copy = region.emplaceBlock();
  mlir::IRMapping mapping;
  for (mlir::BlockArgument argument : body.getArguments())
    mapping.map(argument, copy.addArgument(argument.getType(), argument.getLoc()));
  OpBuilder b(body.getParentOp()->getContext());
  b.setInsertionPointToEnd(&copy);
  for (mlir::Operation &op : body) {
    auto exponential = dyn_cast<math::Exp2Op>(op);
    if (exponential && exponential->hasAttr(elements::polynomialAttr))
      mapping.map(exponential.getResult(),
                  power(b, op.getLoc(), mapping.lookupOrDefault(exponential.getOperand())));
    else
      b.clone(op, mapping);
  }
  return copy;
}

} // namespace tilewright::gpu
