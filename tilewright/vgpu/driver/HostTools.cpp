#include "tilewright/vgpu/driver/HostTools.h"

#include "tilewright/vgpu/driver/Work.h"
#include "tilewright/vgpu/driver/observe/ObserveCheck.h"
#include "tilewright/vgpu/driver/observe/Order.h"

#include <algorithm>
#include <cstring>

using namespace tilewright::vgpu::driver;

#define VGPU_TOOL extern "C" __attribute__((visibility("default")))

VGPU_TOOL void tilewright_vgpu_host_wrote(uint64_t begin, size_t width, size_t pitch,
                                          size_t height) {
  for (size_t row = 0; row < height; ++row)
    tellWritten(reinterpret_cast<const void *>(begin + row * pitch), width);
}

VGPU_TOOL size_t tilewright_vgpu_report(char *buffer, size_t capacity) {
  const std::string text = checkReportJson();
  if (buffer && capacity) {
    const size_t count = std::min(text.size(), capacity - 1);
    std::memcpy(buffer, text.data(), count);
    buffer[count] = '\0';
  }
  return text.size();
}

VGPU_TOOL int tilewright_vgpu_submit(void *handle, const tilewright_vgpu_function *function) {
  const FunctionWork work{std::make_shared<const HostedFunction>(*function)};
  if (!Driver::isInitialised())
    return Driver::refuseUninitialised();
  std::shared_ptr<Stream> stream;
  VGPU_TRY(needStream(static_cast<CUstream>(handle), stream));
  return submitAndReturn(stream, work);
}

VGPU_TOOL void tilewright_vgpu_publish(uint64_t key, unsigned learners) { publish(key, learners); }
VGPU_TOOL void tilewright_vgpu_learn(uint64_t key) { learn(key); }
