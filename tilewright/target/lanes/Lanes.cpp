#include "tilewright/target/lanes/Lanes.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/Intrinsics.h"

using namespace llvm;

namespace tilewright::lanes {

std::optional<numerics::ElementType> elementTypeOf(mlir::Type type) {
  if (auto complex = mlir::dyn_cast<mlir::ComplexType>(type))
    return complex.getElementType().isF32() ? numerics::ElementType::c64
                                            : numerics::ElementType::c128;
  if (type.isIndex())
    return numerics::ElementType::i64;
  if (auto integer = mlir::dyn_cast<mlir::IntegerType>(type))
    return numerics::integerOfWidth(integer.getWidth(), integer.isUnsigned());
  std::string text;
  raw_string_ostream(text) << type;
  return numerics::elementTypeNamed(text);
}

int64_t storageBytes(mlir::Type type) {
  if (auto complex = mlir::dyn_cast<mlir::ComplexType>(type))
    return 2 * storageBytes(complex.getElementType());
  if (type.isIndex())
    return 8;
  if (type.isTF32())
    return 4;
  return (type.getIntOrFloatBitWidth() + 7) / 8;
}

Type *LaneBuilder::computeType(mlir::Type type) {
  if (auto complex = mlir::dyn_cast<mlir::ComplexType>(type))
    type = complex.getElementType();
  if (type.isIndex())
    return ir.getInt64Ty();
  if (type.isF64())
    return ir.getDoubleTy();
  if (mlir::isa<mlir::FloatType>(type))
    return ir.getFloatTy();
  return ir.getIntNTy(type.getIntOrFloatBitWidth());
}

Type *LaneBuilder::storageType(mlir::Type type) {
  if (auto complex = mlir::dyn_cast<mlir::ComplexType>(type))
    type = complex.getElementType();
  if (type.isF32() || type.isF64())
    return computeType(type);
  return ir.getIntNTy(static_cast<unsigned>(storageBytes(type)) * 8);
}

Lanes LaneBuilder::select(Value *condition, Lanes a, Lanes b) {
  return {ir.CreateSelect(condition, a.value, b.value),
          a.imag ? ir.CreateSelect(condition, a.imag, b.imag) : nullptr};
}

Lanes LaneBuilder::slice(Lanes value, unsigned first, unsigned count) {
  auto part = [&](Value *whole) -> Value * {
    if (!whole)
      return nullptr;
    if (count == 1)
      return ir.CreateExtractElement(whole, uint64_t(first));
    SmallVector<int> lanes;
    for (unsigned lane = 0; lane < count; ++lane)
      lanes.push_back(static_cast<int>(first + lane));
    return ir.CreateShuffleVector(whole, lanes);
  };
  return {part(value.value), part(value.imag)};
}

Constant *LaneBuilder::firstLanes(unsigned on, unsigned lanes) {
  SmallVector<Constant *> mask;
  for (unsigned lane = 0; lane < lanes; ++lane)
    mask.push_back(ir.getInt1(lane < on));
  return lanes == 1 ? mask[0] : ConstantVector::get(mask);
}

Constant *LaneBuilder::laneNumbers(unsigned lanes) {
  SmallVector<Constant *> numbers;
  for (unsigned lane = 0; lane < lanes; ++lane)
    numbers.push_back(ir.getInt64(lane));
  return lanes == 1 ? numbers[0] : ConstantVector::get(numbers);
}

Value *LaneBuilder::bits(Value *value) {
  Type *type = value->getType();
  Type *scalar = ir.getIntNTy(type->getScalarSizeInBits());
  return ir.CreateBitCast(value, vectorOf(scalar, lanesOf(value)));
}

Value *LaneBuilder::asFloat(Value *value) {
  Type *scalar = value->getType()->getScalarSizeInBits() == 64 ? ir.getDoubleTy() : ir.getFloatTy();
  return ir.CreateBitCast(value, vectorOf(scalar, lanesOf(value)));
}

Value *LaneBuilder::multiplyAdd(Value *a, Value *b, Value *c) {
  if (machine.hasFma)
    return intrinsic(Intrinsic::fma, {a, b, c});
  return ir.CreateFAdd(ir.CreateFMul(a, b), c);
}

Value *LaneBuilder::refuse(Type *type, std::string_view why) {
  std::string text;
  raw_string_ostream stream(text);
  if (current) {
    stream << "'" << current->getName().getStringRef() << "' of ";
    llvm::interleaveComma(current->getOperandTypes(), stream);
    stream << " at " << current->getLoc() << " ";
  }
  stream << "is not supported: " << why;
  fail(Status(machine.refusal, text));
  return PoisonValue::get(type);
}

// --- Memory ---

/// Splits {r0, i0, r1, i1, …} into two vectors.
Lanes LaneBuilder::deinterleave(Value *vector, unsigned lanes) {
  SmallVector<int> even, odd;
  for (unsigned lane = 0; lane < lanes; ++lane) {
    even.push_back(static_cast<int>(2 * lane));
    odd.push_back(static_cast<int>(2 * lane + 1));
  }
  if (lanes == 1)
    return {ir.CreateExtractElement(vector, uint64_t(0)),
            ir.CreateExtractElement(vector, uint64_t(1))};
  return {ir.CreateShuffleVector(vector, even), ir.CreateShuffleVector(vector, odd)};
}

Value *LaneBuilder::interleave(Lanes value) {
  unsigned lanes = lanesOf(value.value);
  if (lanes == 1) {
    Value *pair = PoisonValue::get(vectorOf(value.value->getType(), 2));
    pair = ir.CreateInsertElement(pair, value.value, uint64_t(0));
    return ir.CreateInsertElement(pair, value.imag, uint64_t(1));
  }
  SmallVector<int> order;
  for (unsigned lane = 0; lane < lanes; ++lane) {
    order.push_back(static_cast<int>(lane));
    order.push_back(static_cast<int>(lanes + lane));
  }
  return ir.CreateShuffleVector(value.value, value.imag, order);
}

/// Repeats each lane of the mask twice.
static Value *doubled(IRBuilder<> &ir, Value *mask, unsigned lanes) {
  SmallVector<int> order;
  for (unsigned lane = 0; lane < lanes; ++lane)
    order.append({static_cast<int>(lane), static_cast<int>(lane)});
  return ir.CreateShuffleVector(mask, order);
}

Lanes LaneBuilder::load(mlir::Type type, Value *base, Value *index, unsigned lanes, Value *mask) {
  Type *stored = storageType(type);
  Align align(stored->getPrimitiveSizeInBits() / 8);
  unsigned parts = isComplex(type) ? 2 : 1;
  if (parts == 2)
    index = ir.CreateShl(index, 1);
  Value *pointer = ir.CreateGEP(stored, base, index);
  Type *vector = vectorOf(stored, lanes * parts);
  Value *raw;
  if (!mask) {
    raw = ir.CreateAlignedLoad(vector, pointer, align);
  } else if (lanes == 1) {
    // If masked off, a scalar load reads the tensor's first element instead, to stay in bounds.
    Value *safe = ir.CreateSelect(mask, pointer, base);
    raw = ir.CreateAlignedLoad(vector, safe, align);
    raw = ir.CreateSelect(mask, raw, Constant::getNullValue(vector));
  } else {
    raw = ir.CreateMaskedLoad(vector, pointer, align, parts == 2 ? doubled(ir, mask, lanes) : mask,
                              Constant::getNullValue(vector));
  }
  if (parts == 2)
    return deinterleave(raw, lanes);
  return {decode(raw, type), nullptr};
}

void LaneBuilder::store(Lanes value, mlir::Type type, Value *base, Value *index, Value *mask,
                        bool isStreamed) {
  Type *stored = storageType(type);
  Align align(stored->getPrimitiveSizeInBits() / 8);
  unsigned lanes = lanesOf(value.value);
  bool complex = isComplex(type);
  // LLVM 22 writes too many bytes if only one lane of a narrowed vector is on.
  if (mask && lanes > 1 && mask == firstLanes(1, lanes))
    return store(slice(value, 0, 1), type, base, index, nullptr);
  if (complex)
    index = ir.CreateShl(index, 1);
  Value *pointer = ir.CreateGEP(stored, base, index);
  Value *raw = complex ? interleave(value) : encode(value.value, type);
  if (isStreamed) {
    const uint64_t bytes = raw->getType()->getPrimitiveSizeInBits() / 8;
    StoreInst *made = ir.CreateAlignedStore(raw, pointer, Align(std::min<uint64_t>(bytes, 64)));
    made->setMetadata(LLVMContext::MD_nontemporal,
                      MDNode::get(ir.getContext(), ConstantAsMetadata::get(ir.getInt32(1))));
  } else if (!mask) {
    ir.CreateAlignedStore(raw, pointer, align);
  } else if (lanes == 1) {
    // If masked off, store to a spare slot, which avoids a branch.
    Value *spare = slot(raw->getType());
    ir.CreateAlignedStore(raw, ir.CreateSelect(mask, pointer, spare), align);
  } else {
    ir.CreateMaskedStore(raw, pointer, align, complex ? doubled(ir, mask, lanes) : mask);
  }
}

Lanes LaneBuilder::loadStrided(mlir::Type type, Value *base, Value *index, int64_t stride,
                               unsigned lanes, Value *mask) {
  if (mask && (!machine.hasGather || storageBytes(type) < 4)) {
    // Masked-off lanes read element 0 of the tensor, so compute indices relative to the tensor's
    // base.
    Value *wide = laneNumbers(lanes);
    return gather(type, base,
                  ir.CreateAdd(splat(index, lanes), ir.CreateMul(wide, integer(wide, stride))),
                  mask);
  }
  // Use the first element's address and constant offsets, in 32 bits if they fit: gathers with
  // 32-bit offsets load twice as many elements.
  Type *stored = storageType(type);
  int64_t parts = isComplex(type) ? 2 : 1;
  Value *first = ir.CreateGEP(stored, base, ir.CreateMul(index, i64(parts)));
  bool isNarrow = std::abs(stride * parts) * int64_t(lanes) < (int64_t(1) << 28);
  SmallVector<Constant *> distances;
  for (unsigned lane = 0; lane < lanes; ++lane) {
    auto distance = static_cast<uint64_t>(stride * int64_t(lane));
    distances.push_back(isNarrow ? ir.getInt32(static_cast<uint32_t>(distance))
                                 : ir.getInt64(distance));
  }
  return gather(type, first, ConstantVector::get(distances), mask);
}

Lanes LaneBuilder::gather(mlir::Type type, Value *base, Value *index, Value *mask) {
  unsigned lanes = lanesOf(index);
  if (lanes == 1)
    return load(type, base, index, 1, mask);
  Type *stored = storageType(type);
  unsigned bytes = stored->getPrimitiveSizeInBits() / 8;
  auto part = [&](Value *at) -> Value * {
    if (machine.hasGather && bytes >= 4) {
      Value *pointers = ir.CreateGEP(stored, base, at);
      Value *on = mask ? mask : ConstantInt::getTrue(vectorOf(ir.getInt1Ty(), lanes));
      return ir.CreateMaskedGather(vectorOf(stored, lanes), pointers, Align(bytes), on,
                                   Constant::getNullValue(vectorOf(stored, lanes)));
    }
    // There is no gather instruction for narrow elements: load each lane separately.
    if (mask)
      at = ir.CreateSelect(mask, at, Constant::getNullValue(at->getType()));
    Value *result = PoisonValue::get(vectorOf(stored, lanes));
    for (unsigned lane = 0; lane < lanes; ++lane) {
      Value *pointer = ir.CreateGEP(stored, base, ir.CreateExtractElement(at, uint64_t(lane)));
      result = ir.CreateInsertElement(result, ir.CreateAlignedLoad(stored, pointer, Align(bytes)),
                                      uint64_t(lane));
    }
    if (mask)
      result = ir.CreateSelect(mask, result, Constant::getNullValue(result->getType()));
    return result;
  };
  if (!isComplex(type))
    return {decode(part(index), type), nullptr};
  Value *even = ir.CreateShl(index, integer(index, 1));
  return {part(even), part(ir.CreateOr(even, integer(even, 1)))};
}

void LaneBuilder::scatter(Lanes value, mlir::Type type, Value *base, Value *index, Value *mask) {
  unsigned lanes = lanesOf(index);
  for (unsigned lane = 0; lane < lanes; ++lane)
    store(lanes == 1 ? value : slice(value, lane, 1), type, base,
          lanes == 1 ? index : ir.CreateExtractElement(index, uint64_t(lane)),
          !mask || lanes == 1 ? mask : ir.CreateExtractElement(mask, uint64_t(lane)));
}

// --- Control ---

AllocaInst *LaneBuilder::slot(Type *type) {
  BasicBlock &entry = ir.GetInsertBlock()->getParent()->getEntryBlock();
  IRBuilder<> first(&entry, entry.begin());
  AllocaInst *result = first.CreateAlloca(type);
  result->setAlignment(Align(64));
  return result;
}

void LaneBuilder::loop(Value *count, const std::function<void(Value *)> &body) {
  // Split the block at the insertion point, which may be in its middle.
  BasicBlock *before = ir.GetInsertBlock();
  Function *function = before->getParent();
  BasicBlock *after;
  if (ir.GetInsertPoint() == before->end()) {
    after = BasicBlock::Create(ir.getContext(), "", function);
  } else {
    after = before->splitBasicBlock(ir.GetInsertPoint());
    before->getTerminator()->eraseFromParent();
  }
  BasicBlock *header = BasicBlock::Create(ir.getContext(), "", function, after);
  ir.SetInsertPoint(before);
  ir.CreateCondBr(ir.CreateICmpSGT(count, ConstantInt::get(count->getType(), 0)), header, after);
  ir.SetInsertPoint(header);
  PHINode *iv = ir.CreatePHI(count->getType(), 2);
  iv->addIncoming(ConstantInt::get(count->getType(), 0), before);
  body(iv);
  Value *next = ir.CreateAdd(iv, ConstantInt::get(count->getType(), 1), "", true, true);
  iv->addIncoming(next, ir.GetInsertBlock());
  ir.CreateCondBr(ir.CreateICmpSLT(next, count), header, after);
  ir.SetInsertPoint(after, after->begin());
}

static std::string_view enumName(numerics::ElementType type) {
  switch (type) {
#define TILEWRIGHT_ELEMENT_TYPE(name, spelling, kind, bits)                                        \
  case numerics::ElementType::name:                                                                \
    return #name;
#include "tilewright/numerics/ElementTypes.def"
  }
  return "";
}

Lanes LaneBuilder::scalarCall(StringRef op, mlir::Type operand, mlir::Type result,
                              ArrayRef<Lanes> operands) {
  if (!machine.hasLibrary) {
    Value *poison = refuse(computeType(result),
                           "it requires the runtime's scalar table, which this target cannot call");
    return {poison, isComplex(result) ? poison : nullptr};
  }
  auto from = elementTypeOf(operand), to = elementTypeOf(result);
  assert(from && to && "every element type is known to the scalar table");
  std::string name = ("tw_scalar_record." + op + "." + enumName(*from) + "." + enumName(*to)).str();
  Constant *record = module.getOrInsertGlobal(name, ir.getInt8Ty());
  Type *pointer = ir.getPtrTy();
  FunctionCallee callee = module.getOrInsertFunction(
      "tw_scalar_call",
      FunctionType::get(ir.getVoidTy(), {pointer, pointer, pointer, pointer, pointer}, false));
  unsigned lanes = lanesOf(operands[0].value);
  Type *bytes = ir.getInt8Ty();
  SmallVector<Value *, 3> slots;
  for (Lanes value : operands) {
    slots.push_back(slot(ArrayType::get(bytes, lanes * storageBytes(operand))));
    store(value, operand, slots.back(), i64(0), nullptr);
  }
  while (slots.size() < 3)
    slots.push_back(slots[0]);
  Value *out = slot(ArrayType::get(bytes, lanes * storageBytes(result)));
  auto call = [&](Value *lane) {
    Value *in = ir.CreateMul(lane, i64(storageBytes(operand)));
    ir.CreateCall(callee,
                  {record, ir.CreateGEP(bytes, slots[0], in), ir.CreateGEP(bytes, slots[1], in),
                   ir.CreateGEP(bytes, slots[2], in),
                   ir.CreateGEP(bytes, out, ir.CreateMul(lane, i64(storageBytes(result))))});
  };
  if (lanes == 1)
    call(i64(0));
  else
    loop(i64(lanes), call);
  return load(result, out, i64(0), lanes, nullptr);
}

} // namespace tilewright::lanes
