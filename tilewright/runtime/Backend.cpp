#include "tilewright/runtime/Backend.h"
#include "tilewright/runtime/copy/StridedCopy.h"
#include "tilewright/support/Concat.h"

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

Result<std::unique_ptr<collective::DeviceEngine>>
Backend::connectDevices(const collective::Membership &, tilewright::KeyValueStore &) {
  return Status(Code::unimplemented,
                concat("devices of kind '", name(), "' execute no collectives"));
}

} // namespace tilewright::runtime
