// libFuzzer target of communication plans: half of the mutations are libFuzzer's own, half are
// ours.
#include "test/fuzz/PlanTarget.h"

#include <algorithm>
#include <cstring>

using namespace tilewright::fuzz;

extern "C" size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t maxSize);

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  checkPlanBytes({reinterpret_cast<const char *>(data), size});
  return 0;
}

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t maxSize,
                                          unsigned seed) {
  if (seed % 2)
    return LLVMFuzzerMutate(data, size, maxSize);
  Random random(seed);
  const std::string changed = mutatePlan({reinterpret_cast<const char *>(data), size}, random);
  const size_t changedSize = std::min(changed.size(), maxSize);
  std::memcpy(data, changed.data(), changedSize);
  return changedSize;
}
