#include "tilewright/runtime/Backend.h"
#include "tilewright/runtime/StridedCopy.h"

namespace tilewright::runtime {

Event Backend::copy(MemoryAddress to, MemoryAddress from, size_t bytes, ThreadPool &pool) {
  copyDense(to.data, from.data, bytes, &pool);
  return Event();
}

Status Backend::copyInOrder(const Device &, std::byte *to, const std::byte *from, size_t bytes,
                            ThreadPool &pool) {
  copyDense(to, from, bytes, &pool);
  return Status();
}

} // namespace tilewright::runtime
