// libFuzzer target of the GPU module loader: half of the mutations are libFuzzer's own, half are
// ours.
#include "test/fuzz/BinaryTarget.h"
#include "test/fuzz/MutationLoop.h"

using namespace tilewright::fuzz;

extern "C" size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t maxSize);

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  checkBinary({reinterpret_cast<const char *>(data), size});
  return 0;
}

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t maxSize,
                                          unsigned seed) {
  if (seed % 2)
    return LLVMFuzzerMutate(data, size, maxSize);
  return mutateInPlace({.check = checkBinary, .mutate = mutateBinary}, data, size, maxSize, seed);
}
