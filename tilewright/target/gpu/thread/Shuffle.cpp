#include "tilewright/target/gpu/thread/Shuffle.h"

using namespace llvm;

namespace tilewright::gpu {

/// Moves the words of a value.
static Value shuffle(ThreadBuilder &b, Value value, function_ref<Value(Value)> move) {
  Type type = value.getType(), word = b.i32Type;
  const unsigned bits = bitsOf(type);
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
  return shuffle(b, value, [&](Value word) { return b.machine.shuffleXor(b, word, mask); });
}
Value shuffleFrom(ThreadBuilder &b, Value value, Value from) {
  return shuffle(b, value, [&](Value word) { return b.machine.shuffleFrom(b, word, from); });
}
Lanes shuffleXor(ThreadBuilder &b, Lanes value, int64_t mask) {
  return {shuffleXor(b, value.value, mask), value.imag ? shuffleXor(b, value.imag, mask) : Value()};
}
Lanes shuffleFrom(ThreadBuilder &b, Lanes value, Value from) {
  return {shuffleFrom(b, value.value, from),
          value.imag ? shuffleFrom(b, value.imag, from) : Value()};
}

} // namespace tilewright::gpu
