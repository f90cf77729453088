#include "tilewright/target/nvptx/emit/Shuffle.h"

#include "llvm/IR/IntrinsicsNVPTX.h"

using namespace llvm;

namespace tilewright::nvptx {

using lanes::LaneBuilder;
using lanes::Lanes;

static Value *shuffle(LaneBuilder &b, Intrinsic::ID id, Value *value, Value *operand) {
  IRBuilder<> &ir = b.ir;
  Type *type = value->getType(), *word = ir.getInt32Ty();
  const unsigned bits = type->getPrimitiveSizeInBits();
  auto move = [&](Value *part) -> Value * {
    return ir.CreateIntrinsic(word, id, {b.i32(-1), part, operand, b.i32(31)});
  };
  Value *raw = type->isIntegerTy() ? value : ir.CreateBitCast(value, ir.getIntNTy(bits));
  if (bits <= 32) {
    raw = ir.CreateTrunc(move(ir.CreateZExt(raw, word)), ir.getIntNTy(bits));
  } else {
    raw = ir.CreateZExt(raw, ir.getInt64Ty());
    Value *low = ir.CreateZExt(move(ir.CreateTrunc(raw, word)), ir.getInt64Ty());
    Value *high =
        ir.CreateZExt(move(ir.CreateTrunc(ir.CreateLShr(raw, 32), word)), ir.getInt64Ty());
    raw = ir.CreateTrunc(ir.CreateOr(low, ir.CreateShl(high, 32)), ir.getIntNTy(bits));
  }
  return type->isIntegerTy() ? raw : ir.CreateBitCast(raw, type);
}

Value *shuffleXor(LaneBuilder &b, Value *value, int64_t mask) {
  return shuffle(b, Intrinsic::nvvm_shfl_sync_bfly_i32, value, b.i32(mask));
}
Value *shuffleFrom(LaneBuilder &b, Value *value, Value *from) {
  return shuffle(b, Intrinsic::nvvm_shfl_sync_idx_i32, value, from);
}
Lanes shuffleXor(LaneBuilder &b, Lanes value, int64_t mask) {
  return {shuffleXor(b, value.value, mask), value.imag ? shuffleXor(b, value.imag, mask) : nullptr};
}
Lanes shuffleFrom(LaneBuilder &b, Lanes value, Value *from) {
  return {shuffleFrom(b, value.value, from),
          value.imag ? shuffleFrom(b, value.imag, from) : nullptr};
}

} // namespace tilewright::nvptx
