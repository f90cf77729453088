// Emitter: a builder of scalar ops, and the tables of the scalar semantics of StableHLO ops.
#ifndef TILEWRIGHT_DIALECT_ELEMENTS_EMITTER_H
#define TILEWRIGHT_DIALECT_ELEMENTS_EMITTER_H

#include "tilewright/dialect/elements/Accuracy.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Complex/IR/Complex.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/StringRef.h"

namespace tilewright::elements {

/// The kind of an element type, which selects the semantics of an op.
enum class Kind { none, pred, signedInteger, unsignedInteger, real, complex };
Kind kindOf(mlir::Type elementType);

/// Builds scalar ops at an insertion point. The method names are short so that the tables read like
/// formulas.
struct Emitter {
  mlir::OpBuilder &builder;
  mlir::Location loc;
  /// Whether the program asks for the accuracy of the result.
  bool isAccurate = false;

  template <typename Op, typename... Arguments> mlir::Value make(Arguments &&...arguments) {
    auto op = Op::create(builder, loc, std::forward<Arguments>(arguments)...);
    if (isAccurate)
      op->setAttr(accurateAttr, builder.getUnitAttr());
    return op;
  }

  /// Constants of type `type`, or of the type of `like`.
  mlir::Value integer(mlir::Type type, int64_t value);
  mlir::Value integer(mlir::Value like, int64_t value) { return integer(like.getType(), value); }
  mlir::Value integer(mlir::Type type, const llvm::APInt &value);
  mlir::Value real(mlir::Type type, double value);
  mlir::Value real(mlir::Value like, double value) { return real(like.getType(), value); }
  mlir::Value infinity(mlir::Value like);

  mlir::Value compare(mlir::arith::CmpIPredicate predicate, mlir::Value a, mlir::Value b) {
    return make<mlir::arith::CmpIOp>(predicate, a, b);
  }
  mlir::Value compare(mlir::arith::CmpFPredicate predicate, mlir::Value a, mlir::Value b) {
    return make<mlir::arith::CmpFOp>(predicate, a, b);
  }
  mlir::Value select(mlir::Value condition, mlir::Value a, mlir::Value b) {
    return make<mlir::arith::SelectOp>(condition, a, b);
  }
  mlir::Value both(mlir::Value a, mlir::Value b) { return make<mlir::arith::AndIOp>(a, b); }
  mlir::Value either(mlir::Value a, mlir::Value b) { return make<mlir::arith::OrIOp>(a, b); }

  mlir::Value re(mlir::Value z) { return make<mlir::complex::ReOp>(z); }
  mlir::Value im(mlir::Value z) { return make<mlir::complex::ImOp>(z); }
  mlir::Value join(mlir::Value re, mlir::Value im) {
    return make<mlir::complex::CreateOp>(mlir::ComplexType::get(re.getType()), re, im);
  }
};

/// The semantics of one op for one kind of operands. Real operands are always f32 or f64.
using Meaning = mlir::Value (*)(Emitter &emit, mlir::ValueRange operands);

/// The semantics of the StableHLO op `name` (without the dialect prefix), or null if the table does
/// not contain it. Ops with attributes (compare, convert, reduce_precision, …) are handled
/// separately.
Meaning realMeaning(llvm::StringRef name);
Meaning integerMeaning(llvm::StringRef name, Kind kind);
Meaning complexMeaning(llvm::StringRef name);

/// Emits the comparison `direction` (EQ, NE, GE, GT, LE, LT).
mlir::Value emitCompare(Emitter &emit, llvm::StringRef direction, Kind kind, bool totalOrder,
                        mlir::Value a, mlir::Value b);

/// Emits a conversion between any two element types. The integer types `from` and `to` may have a
/// signedness (ui8).
mlir::Value emitConvert(Emitter &emit, mlir::Type from, mlir::Type to, mlir::Value value);

/// Emits rounding to a smaller format. `value` must be f16, bf16, f32 or f64.
mlir::Value emitReducePrecision(Emitter &emit, unsigned exponentBits, unsigned mantissaBits,
                                mlir::Value value);

/// The type in which reals of `type` are computed: f64 for f64, otherwise f32.
mlir::Type computeType(mlir::Type type);
/// Converts between a narrow type and its compute type.
mlir::Value widen(Emitter &emit, mlir::Value value);
mlir::Value narrow(Emitter &emit, mlir::Value value, mlir::Type type);

} // namespace tilewright::elements

#endif // TILEWRIGHT_DIALECT_ELEMENTS_EMITTER_H
