// Emitter: the words in which scalar meanings are written, and the tables of meanings.
#ifndef TILEWRIGHT_DIALECT_ELEMENTS_EMITTER_H
#define TILEWRIGHT_DIALECT_ELEMENTS_EMITTER_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Complex/IR/Complex.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/StringRef.h"

namespace tilewright::elements {

/// What decides which meaning an op has on an element.
enum class Kind { none, pred, signedInteger, unsignedInteger, real, complex };
Kind kindOf(mlir::Type elementType);

/// Builds scalar ops at one place. Short names, because the tables are formulas.
struct Emitter {
  mlir::OpBuilder &builder;
  mlir::Location loc;

  template <typename Op, typename... Arguments> mlir::Value make(Arguments &&...arguments) {
    return Op::create(builder, loc, std::forward<Arguments>(arguments)...);
  }

  /// Constants of the type of `like`, or of `type`.
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

/// One op for one kind of operands. The real ones see f32 or f64 only.
using Meaning = mlir::Value (*)(Emitter &emit, mlir::ValueRange operands);

/// The meaning of the StableHLO op `name` (without prefix), or null. Ops with
/// attributes (compare, convert, reduce_precision …) are elsewhere.
Meaning realMeaning(llvm::StringRef name);
Meaning integerMeaning(llvm::StringRef name, Kind kind);
Meaning complexMeaning(llvm::StringRef name);

/// The comparison `direction` (EQ, NE, GE, GT, LE, LT).
mlir::Value emitCompare(Emitter &emit, llvm::StringRef direction, Kind kind, bool totalOrder,
                        mlir::Value a, mlir::Value b);

/// Conversion between any two element types; `from` and `to` may have signs.
mlir::Value emitConvert(Emitter &emit, mlir::Type from, mlir::Type to, mlir::Value value);

/// Rounding to a smaller format; f16, bf16, f32 and f64 only.
mlir::Value emitReducePrecision(Emitter &emit, unsigned exponentBits, unsigned mantissaBits,
                                mlir::Value value);

/// The type that reals of `type` are computed in: f32, or f64 for f64.
mlir::Type computeType(mlir::Type type);
/// Between a narrow type and the one that it is computed in.
mlir::Value widen(Emitter &emit, mlir::Value value);
mlir::Value narrow(Emitter &emit, mlir::Value value, mlir::Type type);

} // namespace tilewright::elements

#endif // TILEWRIGHT_DIALECT_ELEMENTS_EMITTER_H
