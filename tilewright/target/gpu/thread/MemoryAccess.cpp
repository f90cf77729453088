#include "tilewright/target/gpu/thread/MemoryAccess.h"

using namespace llvm;

namespace tilewright::gpu {

SmallVector<Value> loadParts(ThreadBuilder &b, Type type, unsigned parts, Value address, Value isOn,
                             ArrayRef<Value> outside) {
  if (isOn)
    return b.machine.loadIf(b, type, parts, address, isOn, outside);
  Type vector = parts == 1 ? type : b.vectorOf(type, parts);
  Value raw = b.load(vector, address, bitsOf(type) / 8 * parts);
  if (parts == 1)
    return {raw};
  SmallVector<Value> result;
  for (unsigned i = 0; i < parts; ++i)
    result.push_back(b.extractElement(raw, unsigned(i)));
  return result;
}

void storeParts(ThreadBuilder &b, ArrayRef<Value> parts, Value address, Value isOn) {
  if (isOn)
    return b.machine.storeIf(b, parts, address, isOn);
  Type type = parts[0].getType();
  Value raw = parts[0];
  if (parts.size() > 1) {
    raw = b.poisonOf(b.vectorOf(type, unsigned(parts.size())));
    for (auto [i, part] : enumerate(parts))
      raw = b.insertElement(raw, part, unsigned(i));
  }
  b.store(raw, address, bitsOf(type) / 8 * unsigned(parts.size()));
}

} // namespace tilewright::gpu
