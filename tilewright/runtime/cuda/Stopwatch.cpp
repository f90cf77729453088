#include "tilewright/runtime/cuda/Stopwatch.h"

#include "tilewright/support/Trace.h"

namespace tilewright::runtime::cuda {

Stopwatch::~Stopwatch() {
  for (CUevent event : events)
    device.api().cuEventDestroy(event);
}

Status Stopwatch::mark() {
  CUevent event = nullptr;
  TILEWRIGHT_TRY(TILEWRIGHT_CUDA(device, cuEventCreate, &event, 0u));
  events.push_back(event);
  return TILEWRIGHT_CUDA(device, cuEventRecord, event, stream);
}

Status Stopwatch::lap(const char *category, std::string_view name, std::string_view source) {
  laps.push_back({category, name, source});
  return mark();
}

Status Stopwatch::finish() {
  TILEWRIGHT_TRY(TILEWRIGHT_CUDA(device, cuEventSynchronize, events.back()));
  const int64_t end = trace::now();
  // Nanoseconds from an event to the previous one.
  auto untilEnd = [&](CUevent event) -> Result<int64_t> {
    float milliseconds = 0;
    TILEWRIGHT_TRY(
        TILEWRIGHT_CUDA(device, cuEventElapsedTime, &milliseconds, event, events.back()));
    return static_cast<int64_t>(double(milliseconds) * 1e6);
  };
  TILEWRIGHT_ASSIGN(int64_t began, untilEnd(events.front()));
  for (size_t i = 0; i < laps.size(); ++i) {
    TILEWRIGHT_ASSIGN(int64_t ended, untilEnd(events[i + 1]));
    trace::span(laps[i].category, laps[i].name, end - began, end - ended, laps[i].source);
    began = ended;
  }
  return Status();
}

} // namespace tilewright::runtime::cuda
