// libFuzzer target of the loader of GPU modules: half of the changes are libFuzzer's own,
// half are of words, fields and containers.

#include "test/fuzz/BinaryTarget.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

extern "C" size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t maxSize);

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  tilewright::fuzz::checkBinary({reinterpret_cast<const char *>(data), size});
  return 0;
}

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t maxSize,
                                          unsigned seed) {
  if (seed % 2)
    return LLVMFuzzerMutate(data, size, maxSize);
  tilewright::fuzz::Random random(seed);
  std::string changed =
      tilewright::fuzz::mutateBinary({reinterpret_cast<const char *>(data), size}, random);
  size_t changedSize = std::min(changed.size(), maxSize);
  std::memcpy(data, changed.data(), changedSize);
  return changedSize;
}
