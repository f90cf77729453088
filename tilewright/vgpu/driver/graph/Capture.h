// Stream capture: work submitted to a captured stream becomes nodes of a graph.
#ifndef TILEWRIGHT_VGPU_DRIVER_GRAPH_CAPTURE_H
#define TILEWRIGHT_VGPU_DRIVER_GRAPH_CAPTURE_H

#include "tilewright/vgpu/driver/Stream.h"
#include "tilewright/vgpu/driver/Work.h"

#include <thread>

namespace tilewright::vgpu::driver {

/// One capture, from cuStreamBeginCapture to cuStreamEndCapture. A stream that waits for an event
/// of the capture takes part in it until the capture ends.
struct Capture {
  std::shared_ptr<Graph> graph;
  CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
  uint64_t id = 0;
  std::thread::id owner;
  const Context *context = nullptr;
  std::weak_ptr<Stream> origin;
  std::atomic<bool> isInvalid = false;

  std::mutex mutex;
  std::vector<std::weak_ptr<Stream>> forked; // guarded by mutex; all streams except the origin
};

bool isCapturing(Stream &stream);
// If the stream is being captured, each of these functions adds the call to the capture and sets
// `isDone`.
CUresult captureWork(const std::shared_ptr<Stream> &stream, const Work &work, bool &isDone);
CUresult captureRecord(const std::shared_ptr<Stream> &stream, const std::shared_ptr<Event> &event,
                       unsigned flags, bool &isDone);
CUresult captureWait(const std::shared_ptr<Stream> &stream, const std::shared_ptr<Event> &event,
                     unsigned flags, bool &isDone);

/// Refuses a call that is not allowed on a stream that is being captured, and invalidates the
/// capture.
CUresult refuseInCapture(Stream &stream);
/// Refuses a call that would wait for all work, or allocate, while this thread captures, or any
/// thread captures in global mode, unless the capture mode of this thread is relaxed.
CUresult refuseWhileCapturing(Context &context);
/// Refuses work in the legacy stream, which would wait for streams that are being captured.
CUresult refuseImplicit(Stream &stream);
/// Refuses a query of an event that was recorded in a capture.
CUresult refuseCapturedEvent(Event &event);
void invalidateCapture(Stream &stream);

} // namespace tilewright::vgpu::driver

#endif // TILEWRIGHT_VGPU_DRIVER_GRAPH_CAPTURE_H
