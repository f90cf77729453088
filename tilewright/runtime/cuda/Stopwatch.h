// Stopwatch: times of commands on a stream, for timelines.
#ifndef TILEWRIGHT_RUNTIME_CUDA_STOPWATCH_H
#define TILEWRIGHT_RUNTIME_CUDA_STOPWATCH_H

#include "tilewright/runtime/cuda/CudaDevice.h"

#include <string_view>
#include <vector>

namespace tilewright::runtime::cuda {

/// Records events between the commands of a stream. The device takes the times, so they exclude the
/// time that the host needs to submit a command.
///
///   Stopwatch watch(device, stream);
///   TILEWRIGHT_TRY(watch.start());
///   TILEWRIGHT_TRY(command.submit(device, stream));
///   TILEWRIGHT_TRY(watch.lap("kernel", step.name, step.source));
///   TILEWRIGHT_TRY(watch.finish());
class Stopwatch {
public:
  Stopwatch(CudaDevice &device, CUstream stream) : device(device), stream(stream) {}
  ~Stopwatch();
  Stopwatch(const Stopwatch &) = delete;
  Stopwatch &operator=(const Stopwatch &) = delete;

  Status start() { return mark(); }
  /// Ends a span of the timeline, which began with start() or with the previous lap. The texts must
  /// exist until finish().
  Status lap(const char *category, std::string_view name, std::string_view source);
  /// Waits for the stream and records the spans.
  Status finish();

private:
  Status mark();

  struct Lap {
    const char *category;
    std::string_view name, source;
  };
  CudaDevice &device;
  const CUstream stream;
  std::vector<CUevent> events;
  std::vector<Lap> laps;
};

} // namespace tilewright::runtime::cuda

#endif // TILEWRIGHT_RUNTIME_CUDA_STOPWATCH_H
