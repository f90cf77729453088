// libFuzzer targets of the artifact reader. Built twice: plain, which mutates bits, and with
// TILEWRIGHT_STRUCTURE_AWARE, which mutates by structure.

#include "test/fuzz/ArtifactMutator.h"
#include "test/fuzz/ReadTarget.h"

#include <algorithm>
#include <cstring>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  tilewright::fuzz::checkArtifact({data, size});
  return 0;
}

#ifdef TILEWRIGHT_STRUCTURE_AWARE
extern "C" size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t maxSize,
                                          unsigned seed) {
  tilewright::fuzz::Random random(seed);
  std::string changed = tilewright::fuzz::mutateStructure(
      std::string_view(reinterpret_cast<const char *>(data), size), random);
  size_t changedSize = std::min(changed.size(), maxSize);
  std::memcpy(data, changed.data(), changedSize);
  return changedSize;
}
#endif
