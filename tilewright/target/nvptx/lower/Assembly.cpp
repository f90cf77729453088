#include "tilewright/target/nvptx/lower/Assembly.h"

#include "tilewright/support/Concat.h"

using namespace llvm;

namespace tilewright::nvptx {

SmallVector<Value, 4> readWords(ThreadBuilder &b, std::string_view instruction, unsigned count,
                                Value base, SplitOffset offset) {
  std::string list, constraints;
  for (unsigned i = 0; i < count; ++i) {
    list += concat(i ? ", $" : "$", i);
    constraints += "=r,";
  }
  // ldmatrix has braces even around a single register.
  if (count > 1 || instruction.starts_with("ldmatrix"))
    list = concat("{", list, "}");
  Type result = b.i32Type;
  if (count > 1)
    result = b.structOf(SmallVector<Type>(count, result));
  Value address = b.add(base, offset.varying);
  Value all =
      b.assembly(result, concat(instruction, " ", list, ", [$", count, "+", offset.constant, "];"),
                 constraints + "r,~{memory}", {address});
  if (count == 1)
    return {all};
  SmallVector<Value, 4> words;
  for (unsigned i = 0; i < count; ++i)
    words.push_back(b.extractValue(all, i));
  return words;
}

Value sharedAddress(ThreadBuilder &b, Value pointer) { return b.ptrToInt(pointer, b.i32Type); }

} // namespace tilewright::nvptx
