#include "tilewright/target/nvptx/emit/MemoryAccess.h"

#include "tilewright/support/Concat.h"

#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/Operator.h"

using namespace llvm;

namespace tilewright::nvptx {

/// The words of an access: their number, type, and spelling in PTX and LLVM.
namespace {
struct Words {
  unsigned count;
  Type *type;
  std::string suffix, constraint;
};
} // namespace

static Words wordsOf(IRBuilder<> &ir, uint64_t bytes) {
  if (bytes == 1)
    return {1, ir.getInt16Ty(), ".b8", "h"};
  if (bytes == 2)
    return {1, ir.getInt16Ty(), ".b16", "h"};
  const unsigned count = unsigned(bytes / 4);
  return {count, ir.getInt32Ty(), count == 1 ? ".b32" : concat(".v", count, ".b32"), "r"};
}

static std::string_view spaceOf(Value *address) {
  return address->getType()->getPointerAddressSpace() == 3 ? ".shared" : ".global";
}

/// Converts values of the same type to words. fromWords() is the inverse.
static SmallVector<Value *> toWords(IRBuilder<> &ir, ArrayRef<Value *> parts, const Words &words) {
  Type *type = parts[0]->getType();
  if (type->isIntegerTy(8) && parts.size() == 1)
    return {ir.CreateZExt(parts[0], words.type)};
  Value *vector = parts[0];
  if (parts.size() > 1) {
    vector = PoisonValue::get(FixedVectorType::get(type, unsigned(parts.size())));
    for (auto [i, part] : enumerate(parts))
      vector = ir.CreateInsertElement(vector, part, uint64_t(i));
  }
  if (words.count == 1)
    return {ir.CreateBitCast(vector, words.type)};
  vector = ir.CreateBitCast(vector, FixedVectorType::get(words.type, words.count));
  SmallVector<Value *> result;
  for (unsigned i = 0; i < words.count; ++i)
    result.push_back(ir.CreateExtractElement(vector, uint64_t(i)));
  return result;
}

static SmallVector<Value *> fromWords(IRBuilder<> &ir, ArrayRef<Value *> words, Type *type,
                                      unsigned parts) {
  if (type->isIntegerTy(8) && parts == 1)
    return {ir.CreateTrunc(words[0], type)};
  Value *vector = words[0];
  if (words.size() > 1) {
    vector = PoisonValue::get(FixedVectorType::get(words[0]->getType(), unsigned(words.size())));
    for (auto [i, word] : enumerate(words))
      vector = ir.CreateInsertElement(vector, word, uint64_t(i));
  }
  if (parts == 1)
    return {ir.CreateBitCast(vector, type)};
  vector = ir.CreateBitCast(vector, FixedVectorType::get(type, parts));
  SmallVector<Value *> result;
  for (unsigned i = 0; i < parts; ++i)
    result.push_back(ir.CreateExtractElement(vector, uint64_t(i)));
  return result;
}

static std::string braced(unsigned count, unsigned first) {
  std::string list;
  for (unsigned i = 0; i < count; ++i)
    list += concat(i ? ", " : "", "$", first + i);
  return count == 1 ? list : concat("{", list, "}");
}

/// Splits an address into a register and an immediate offset.
static std::pair<Value *, std::string> splitAddress(IRBuilder<> &ir, Value *address) {
  int64_t constant = 0;
  if (auto *step = dyn_cast<GEPOperator>(address);
      step && step->getNumIndices() == 1 && step->getSourceElementType()->isIntegerTy(8))
    if (auto *number = dyn_cast<ConstantInt>(step->getOperand(1));
        number && isInt<31>(number->getSExtValue()) && isa<Instruction>(address)) {
      constant = number->getSExtValue();
      address = step->getPointerOperand();
    }
  return {ir.CreatePtrToInt(address, ir.getInt64Ty()), constant ? concat("+", constant) : ""};
}

SmallVector<Value *> loadParts(IRBuilder<> &ir, Type *type, unsigned parts, Value *address,
                               Value *isOn, ArrayRef<Value *> outside) {
  const uint64_t bytes = type->getPrimitiveSizeInBits() / 8 * parts;
  if (!isOn) {
    Type *vector = parts == 1 ? type : FixedVectorType::get(type, parts);
    Value *raw = ir.CreateAlignedLoad(vector, address, Align(bytes));
    if (parts == 1)
      return {raw};
    SmallVector<Value *> result;
    for (unsigned i = 0; i < parts; ++i)
      result.push_back(ir.CreateExtractElement(raw, uint64_t(i)));
    return result;
  }
  // A predicated instruction needs neither a branch nor a valid dummy address.
  Words words = wordsOf(ir, bytes);
  std::string constraints;
  for (unsigned i = 0; i < words.count; ++i)
    constraints += concat("=", words.constraint, ",");
  constraints += "b,l";
  auto [base, constant] = splitAddress(ir, address);
  SmallVector<Value *> operands = {isOn, base};
  for (unsigned i = 0; i < words.count; ++i)
    constraints += concat(",", i);
  append_range(operands, toWords(ir, outside, words));
  SmallVector<Type *> types;
  for (Value *operand : operands)
    types.push_back(operand->getType());
  Type *result = words.count == 1 ? words.type
                                  : StructType::get(ir.getContext(),
                                                    SmallVector<Type *>(words.count, words.type));
  InlineAsm *code =
      InlineAsm::get(FunctionType::get(result, types, false),
                     concat("@$", words.count, " ld", spaceOf(address), words.suffix, " ",
                            braced(words.count, 0), ", [$", words.count + 1, constant, "];"),
                     constraints, /*hasSideEffects=*/true);
  Value *raw = ir.CreateCall(code, operands);
  SmallVector<Value *> got;
  for (unsigned i = 0; i < words.count; ++i)
    got.push_back(words.count == 1 ? raw : ir.CreateExtractValue(raw, i));
  return fromWords(ir, got, type, parts);
}

void storeParts(IRBuilder<> &ir, ArrayRef<Value *> parts, Value *address, Value *isOn) {
  Type *type = parts[0]->getType();
  const uint64_t bytes = type->getPrimitiveSizeInBits() / 8 * parts.size();
  if (!isOn) {
    Value *raw = parts[0];
    if (parts.size() > 1) {
      raw = PoisonValue::get(FixedVectorType::get(type, unsigned(parts.size())));
      for (auto [i, part] : enumerate(parts))
        raw = ir.CreateInsertElement(raw, part, uint64_t(i));
    }
    ir.CreateAlignedStore(raw, address, Align(bytes));
    return;
  }
  Words words = wordsOf(ir, bytes);
  auto [base, constant] = splitAddress(ir, address);
  SmallVector<Value *> operands = {isOn, base};
  append_range(operands, toWords(ir, parts, words));
  std::string constraints = "b,l";
  SmallVector<Type *> types;
  for (Value *operand : operands)
    types.push_back(operand->getType());
  for (unsigned i = 0; i < words.count; ++i)
    constraints += concat(",", words.constraint);
  InlineAsm *code = InlineAsm::get(FunctionType::get(ir.getVoidTy(), types, false),
                                   concat("@$0 st", spaceOf(address), words.suffix, " [$1",
                                          constant, "], ", braced(words.count, 2), ";"),
                                   constraints + ",~{memory}", /*hasSideEffects=*/true);
  ir.CreateCall(code, operands);
}

} // namespace tilewright::nvptx
