#include "tilewright/target/nvptx/lower/thread/Shuffle.h"

using namespace llvm;

namespace tilewright::nvptx {

static Value shuffle(ThreadBuilder &b, NVVM::ShflKind kind, Value value, Value operand) {
  Type type = value.getType(), word = b.i32Type;
  const unsigned bits = bitsOf(type);
  auto move = [&](Value part) -> Value {
    return b.make<NVVM::ShflOp>(word, b.i32(-1), part, operand, b.i32(31), kind, mlir::UnitAttr());
  };
  Value raw = type.isInteger() ? value : b.bitcast(value, b.intType(bits));
  if (bits <= 32) {
    raw = b.trunc(move(b.zext(raw, word)), b.intType(bits));
  } else {
    raw = b.zext(raw, b.i64Type);
    Value low = b.zext(move(b.trunc(raw, word)), b.i64Type);
    Value high = b.zext(move(b.trunc(b.lshr(raw, b.i64(32)), word)), b.i64Type);
    raw = b.trunc(b.bitOr(low, b.shl(high, b.i64(32))), b.intType(bits));
  }
  return type.isInteger() ? raw : b.bitcast(raw, type);
}

Value shuffleXor(ThreadBuilder &b, Value value, int64_t mask) {
  return shuffle(b, NVVM::ShflKind::bfly, value, b.i32(mask));
}
Value shuffleFrom(ThreadBuilder &b, Value value, Value from) {
  return shuffle(b, NVVM::ShflKind::idx, value, from);
}
Lanes shuffleXor(ThreadBuilder &b, Lanes value, int64_t mask) {
  return {shuffleXor(b, value.value, mask), value.imag ? shuffleXor(b, value.imag, mask) : Value()};
}
Lanes shuffleFrom(ThreadBuilder &b, Lanes value, Value from) {
  return {shuffleFrom(b, value.value, from),
          value.imag ? shuffleFrom(b, value.imag, from) : Value()};
}

} // namespace tilewright::nvptx
