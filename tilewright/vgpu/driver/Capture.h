// Stream capture: work that is given to a stream becomes nodes of a graph.
#ifndef TILEWRIGHT_VGPU_DRIVER_CAPTURE_H
#define TILEWRIGHT_VGPU_DRIVER_CAPTURE_H

#include "tilewright/vgpu/driver/Stream.h"
#include "tilewright/vgpu/driver/Work.h"

#include <thread>

namespace tilewright::vgpu::driver {

/// One capture, from cuStreamBeginCapture to cuStreamEndCapture. Streams that wait for an
/// event of it take part until they are waited for.
struct Capture {
  std::shared_ptr<Graph> graph;
  CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
  uint64_t id = 0;
  std::thread::id owner;
  const Context *context = nullptr;
  std::weak_ptr<Stream> origin;
  std::atomic<bool> isInvalid = false;

  std::mutex mutex;
  std::vector<std::weak_ptr<Stream>> forked; // guarded by mutex; all but the origin
};

bool isCapturing(Stream &stream);
// Each of these adds to the graph and sets `isDone` if the stream is captured.
CUresult captureWork(const std::shared_ptr<Stream> &stream, const Work &work, bool &isDone);
CUresult captureRecord(const std::shared_ptr<Stream> &stream, const std::shared_ptr<Event> &event,
                       unsigned flags, bool &isDone);
CUresult captureWait(const std::shared_ptr<Stream> &stream, const std::shared_ptr<Event> &event,
                     unsigned flags, bool &isDone);

/// For calls that a captured stream cannot have; they end the capture.
CUresult refuseInCapture(Stream &stream);
/// For calls that would wait for everything, or allocate: not while this thread, or any
/// under the global mode, captures in the context.
CUresult refuseWhileCapturing(Context &context);
/// For work in the legacy stream, which would wait for streams that are captured.
CUresult refuseImplicit(Stream &stream);
/// For calls that ask an event that was recorded in a capture.
CUresult refuseCapturedEvent(Event &event);
void invalidateCapture(Stream &stream);

} // namespace tilewright::vgpu::driver

#endif // TILEWRIGHT_VGPU_DRIVER_CAPTURE_H
