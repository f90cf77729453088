#include "tilewright/target/nvptx/lower/thread/ReadShared.h"

#include "tilewright/support/Concat.h"

using namespace llvm;

namespace tilewright::nvptx {

SmallVector<Value, 4> readMatrices(ThreadBuilder &b, unsigned count, bool isTransposed, Value base,
                                   SplitOffset offset) {
  Type result = count == 1 ? b.i32Type : b.structOf(SmallVector<Type>(count, b.i32Type));
  Value address = b.sharedPointer(b.add(base, offset.varying));
  Value all = b.make<NVVM::LdMatrixOp>(result, b.advance(address, offset.constant), count,
                                       isTransposed ? NVVM::MMALayout::col : NVVM::MMALayout::row,
                                       NVVM::LdStMatrixShapeAttr::get(b.op.getContext(), 8, 8),
                                       NVVM::LdStMatrixEltType::B16);
  if (count == 1)
    return {all};
  SmallVector<Value, 4> words;
  for (unsigned i = 0; i < count; ++i)
    words.push_back(b.extractValue(all, i));
  return words;
}

SmallVector<Value, 4> readWords(ThreadBuilder &b, int64_t bytes, Value base, SplitOffset offset) {
  Value address = b.add(base, offset.varying);
  // LLVM would keep the result of a narrow load in 16-bit registers and compute in these, which
  // takes more instructions.
  if (bytes < 4)
    return {b.assembly(b.i32Type,
                       concat("ld.shared.u", bytes * 8, " $0, [$1+", offset.constant, "];"),
                       "=r,r,~{memory}", {address})};
  address = b.advance(b.sharedPointer(address), offset.constant);
  const auto count = unsigned(bytes / 4);
  if (count == 1)
    return {b.load(b.i32Type, address, 4)};
  Value all = b.load(b.vectorOf(b.i32Type, count), address, unsigned(bytes));
  SmallVector<Value, 4> words;
  for (unsigned i = 0; i < count; ++i)
    words.push_back(b.extractElement(all, i));
  return words;
}

Value sharedAddress(ThreadBuilder &b, Value pointer) { return b.ptrToInt(pointer, b.i32Type); }

} // namespace tilewright::nvptx
