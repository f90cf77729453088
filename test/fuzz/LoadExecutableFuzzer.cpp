// libFuzzer target of the executable loader. Half of the inputs are mutated field by field, half
// byte by byte.

#include "test/fuzz/ExecutableMutator.h"
#include "test/fuzz/LoadTarget.h"

#include <algorithm>
#include <cstring>

extern "C" size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t maxSize);

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  tilewright::fuzz::checkExecutableBytes(std::as_bytes(std::span(data, size)));
  return 0;
}

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t maxSize,
                                          unsigned seed) {
  tilewright::fuzz::Random random(seed);
  if (random.oneIn(2))
    return LLVMFuzzerMutate(data, size, maxSize);
  std::vector<std::byte> changed =
      tilewright::fuzz::mutateExecutable(std::as_bytes(std::span(data, size)), random);
  const size_t changedSize = std::min(changed.size(), maxSize);
  if (changedSize != 0)
    std::memcpy(data, changed.data(), changedSize);
  return changedSize;
}
