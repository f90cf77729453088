#include "tilewright/target/nvptx/emit/Assembly.h"

#include "tilewright/support/Concat.h"

#include "llvm/IR/InlineAsm.h"

using namespace llvm;

namespace tilewright::nvptx {

Value *assembly(lanes::LaneBuilder &b, Type *result, const Twine &text, const Twine &constraints,
                ArrayRef<Value *> operands) {
  SmallVector<Type *> types;
  for (Value *operand : operands)
    types.push_back(operand->getType());
  FunctionType *type = FunctionType::get(result, types, false);
  CallInst *call = b.ir.CreateCall(
      type, InlineAsm::get(type, text.str(), constraints.str(), /*hasSideEffects=*/true), operands);
  // Convergent: the optimizer must not sink the instruction into one side of a branch or duplicate
  // it.
  call->addFnAttr(Attribute::Convergent);
  call->addFnAttr(Attribute::NoUnwind);
  return call;
}

SmallVector<Value *, 4> readWords(lanes::LaneBuilder &b, std::string_view instruction,
                                  unsigned count, Value *base, SplitOffset offset) {
  std::string list, constraints;
  for (unsigned i = 0; i < count; ++i) {
    list += concat(i ? ", $" : "$", i);
    constraints += "=r,";
  }
  // ldmatrix has braces even around a single register.
  if (count > 1 || instruction.starts_with("ldmatrix"))
    list = concat("{", list, "}");
  Type *result = b.ir.getInt32Ty();
  if (count > 1)
    result = StructType::get(b.ir.getContext(), SmallVector<Type *>(count, result));
  Value *address = b.ir.CreateAdd(base, offset.varying);
  Value *all =
      assembly(b, result, concat(instruction, " ", list, ", [$", count, "+", offset.constant, "];"),
               constraints + "r,~{memory}", {address});
  if (count == 1)
    return {all};
  SmallVector<Value *, 4> words;
  for (unsigned i = 0; i < count; ++i)
    words.push_back(b.ir.CreateExtractValue(all, i));
  return words;
}

Value *sharedAddress(lanes::LaneBuilder &b, Value *pointer) {
  return b.ir.CreatePtrToInt(pointer, b.ir.getInt32Ty());
}

} // namespace tilewright::nvptx
