// Predicated loads and stores as inline assembly: such an instruction needs neither a branch nor a
// valid dummy address.
#include "tilewright/target/nvptx/lower/PtxMachine.h"

#include "tilewright/support/Concat.h"
#include "tilewright/target/nvptx/lower/RegisterList.h"

#include "mlir/IR/Matchers.h"

using namespace llvm;

namespace tilewright::nvptx {

/// The words of an access: their number, type, and spelling in PTX and LLVM.
namespace {
struct Words {
  unsigned count;
  Type type;
  std::string suffix, constraint;
};
} // namespace

static Words wordsOf(ThreadBuilder &b, uint64_t bytes) {
  if (bytes == 1)
    return {1, b.i16Type, ".b8", "h"};
  if (bytes == 2)
    return {1, b.i16Type, ".b16", "h"};
  const unsigned count = unsigned(bytes / 4);
  return {count, b.i32Type, count == 1 ? ".b32" : concat(".v", count, ".b32"), "r"};
}

static std::string_view spaceOf(Value address) {
  return cast<mlir::LLVM::LLVMPointerType>(address.getType()).getAddressSpace() == 3 ? ".shared"
                                                                                     : ".global";
}

/// Converts values of the same type to words. fromWords() is the inverse.
static SmallVector<Value> toWords(ThreadBuilder &b, ArrayRef<Value> parts, const Words &words) {
  Type type = parts[0].getType();
  if (type.isInteger(8) && parts.size() == 1)
    return {b.zext(parts[0], words.type)};
  Value vector = parts[0];
  if (parts.size() > 1) {
    vector = b.poisonOf(b.vectorOf(type, unsigned(parts.size())));
    for (auto [i, part] : enumerate(parts))
      vector = b.insertElement(vector, part, unsigned(i));
  }
  if (words.count == 1)
    return {b.bitcast(vector, words.type)};
  vector = b.bitcast(vector, b.vectorOf(words.type, words.count));
  SmallVector<Value> result;
  for (unsigned i = 0; i < words.count; ++i)
    result.push_back(b.extractElement(vector, unsigned(i)));
  return result;
}

static SmallVector<Value> fromWords(ThreadBuilder &b, ArrayRef<Value> words, Type type,
                                    unsigned parts) {
  if (type.isInteger(8) && parts == 1)
    return {b.trunc(words[0], type)};
  Value vector = words[0];
  if (words.size() > 1) {
    vector = b.poisonOf(b.vectorOf(words[0].getType(), unsigned(words.size())));
    for (auto [i, word] : enumerate(words))
      vector = b.insertElement(vector, word, unsigned(i));
  }
  if (parts == 1)
    return {b.bitcast(vector, type)};
  vector = b.bitcast(vector, b.vectorOf(type, parts));
  SmallVector<Value> result;
  for (unsigned i = 0; i < parts; ++i)
    result.push_back(b.extractElement(vector, unsigned(i)));
  return result;
}

/// Splits an address into a register and an immediate offset.
static std::pair<Value, std::string> splitAddress(ThreadBuilder &b, Value address) {
  int64_t constant = 0;
  auto step = address.getDefiningOp<mlir::LLVM::GEPOp>();
  // Do not split the address of a shared buffer: buffer and offset together are one constant.
  if (step && step.getElemType() == b.i8Type &&
      !step.getBase().getDefiningOp<mlir::LLVM::AddressOfOp>())
    if (APInt number;
        step.getDynamicIndices().size() == 1 &&
        mlir::matchPattern(step.getDynamicIndices()[0], mlir::m_ConstantInt(&number)) &&
        number.isSignedIntN(31)) {
      constant = number.getSExtValue();
      address = step.getBase();
    }
  return {b.ptrToInt(address, b.i64Type), constant ? concat("+", constant) : ""};
}

SmallVector<Value> PtxMachine::loadIf(ThreadBuilder &b, Type type, unsigned parts, Value address,
                                      Value isOn, ArrayRef<Value> outside) const {
  const Words words = wordsOf(b, bitsOf(type) / 8 * parts);
  std::string constraints;
  for (unsigned i = 0; i < words.count; ++i)
    constraints += concat("=", words.constraint, ",");
  constraints += "b,l";
  auto [base, constant] = splitAddress(b, address);
  SmallVector<Value> operands = {isOn, base};
  for (unsigned i = 0; i < words.count; ++i)
    constraints += concat(",", i);
  append_range(operands, toWords(b, outside, words));
  Type result =
      words.count == 1 ? words.type : b.structOf(SmallVector<Type>(words.count, words.type));
  Value raw =
      b.plainAssembly(result,
                      concat("@$", words.count, " ld", spaceOf(address), words.suffix, " ",
                             registerList(words.count, 0), ", [$", words.count + 1, constant, "];"),
                      constraints, operands);
  SmallVector<Value> got;
  for (unsigned i = 0; i < words.count; ++i)
    got.push_back(words.count == 1 ? raw : b.extractValue(raw, i));
  return fromWords(b, got, type, parts);
}

void PtxMachine::storeIf(ThreadBuilder &b, ArrayRef<Value> parts, Value address, Value isOn) const {
  const Words words = wordsOf(b, bitsOf(parts[0].getType()) / 8 * parts.size());
  auto [base, constant] = splitAddress(b, address);
  SmallVector<Value> operands = {isOn, base};
  append_range(operands, toWords(b, parts, words));
  std::string constraints = "b,l";
  for (unsigned i = 0; i < words.count; ++i)
    constraints += concat(",", words.constraint);
  b.plainAssembly({},
                  concat("@$0 st", spaceOf(address), words.suffix, " [$1", constant, "], ",
                         registerList(words.count, 2), ";"),
                  constraints + ",~{memory}", operands);
}

} // namespace tilewright::nvptx
