// libFuzzer target of AMD's code objects: half of the mutations are libFuzzer's own, half are ours.
#include "test/fuzz/AmdgcnTarget.h"
#include "test/fuzz/MutationLoop.h"

using namespace tilewright::fuzz;

extern "C" size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t maxSize);

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  checkAmdgcn({reinterpret_cast<const char *>(data), size});
  return 0;
}

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t maxSize,
                                          unsigned seed) {
  if (seed % 2)
    return LLVMFuzzerMutate(data, size, maxSize);
  return mutateInPlace({.check = checkAmdgcn, .mutate = mutateAmdgcn}, data, size, maxSize, seed);
}
