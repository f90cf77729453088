// Events: cuEvent*.
#include "tilewright/vgpu/driver/Functions.h"
#include "tilewright/vgpu/driver/Stream.h"
#include "tilewright/vgpu/driver/graph/Capture.h"
#include "tilewright/vgpu/driver/virtual/Ipc.h"

namespace tilewright::vgpu::driver {

/// Returns the failure of the event's context, for a call that asks whether work is done.
static CUresult tellFailure(const Event &event) {
  std::shared_ptr<Context> context = event.context.lock();
  return context ? context->tellFailure() : CUDA_SUCCESS;
}

std::shared_ptr<Fence> Event::latest() {
  {
    std::lock_guard lock(mutex);
    if (!shared || (record && !record->isDone()))
      return record;
  }
  // Another process may have recorded it since.
  return SharedEvent::latest(shared);
}

namespace api {

CUresult cuEventCreate(CUevent *event, unsigned flags) {
  VGPU_NEED(event && (flags & ~7u) == 0);
  VGPU_NEED(!(flags & CU_EVENT_INTERPROCESS) || (flags & CU_EVENT_DISABLE_TIMING));
  std::shared_ptr<Context> context;
  VGPU_TRY(needContext(context));
  auto made = std::make_shared<Event>();
  made->context = context;
  made->flags = flags;
  if (flags & CU_EVENT_INTERPROCESS) {
    made->shared = SharedEvent::create();
    if (!made->shared)
      return fail(CUDA_ERROR_OUT_OF_MEMORY, "the host has no file descriptor or no memory left");
  }
  *event = static_cast<CUevent>(Driver::get().events.add(made));
  return CUDA_SUCCESS;
}

CUresult cuEventDestroy(CUevent handle) {
  return Driver::get().events.take(handle)
             ? CUDA_SUCCESS
             : fail(CUDA_ERROR_INVALID_HANDLE, "invalid or destroyed event");
}

CUresult cuEventRecord(CUevent event, CUstream stream) {
  return cuEventRecordWithFlags(event, stream, 0);
}

CUresult cuEventRecordWithFlags(CUevent handle, CUstream streamHandle, unsigned flags) {
  VGPU_NEED((flags & ~unsigned(CU_EVENT_RECORD_EXTERNAL)) == 0);
  std::shared_ptr<Stream> stream;
  std::shared_ptr<Event> event;
  VGPU_TRY(needEvent(handle, event));
  VGPU_TRY(needStream(streamHandle, stream));
  if (event->context.lock() != stream->context)
    return fail(CUDA_ERROR_INVALID_HANDLE, "the event and the stream belong to different contexts");
  bool isDone = false;
  VGPU_TRY(captureRecord(stream, event, flags, isDone));
  if (isDone)
    return CUDA_SUCCESS;
  std::lock_guard lock(event->mutex);
  // The fence is a task of the stream itself: once the last event of a stream is done, the stream
  // is idle.
  if (event->shared)
    event->record = stream->enqueue(
        [shared = event->shared, number = event->shared->record()] { shared->finish(number); });
  else
    event->record = stream->enqueue([] {});
  event->capture.reset();
  event->captureNodes.clear();
  return CUDA_SUCCESS;
}

CUresult cuEventQuery(CUevent handle) {
  std::shared_ptr<Event> event;
  VGPU_TRY(needEvent(handle, event));
  VGPU_TRY(refuseCapturedEvent(*event));
  std::shared_ptr<Fence> record = event->latest();
  return record && !record->isSeenDone() ? CUDA_ERROR_NOT_READY : tellFailure(*event);
}

CUresult cuEventSynchronize(CUevent handle) {
  std::shared_ptr<Event> event;
  VGPU_TRY(needEvent(handle, event));
  VGPU_TRY(refuseCapturedEvent(*event));
  if (std::shared_ptr<Fence> record = event->latest())
    record->waitOnHost();
  return tellFailure(*event);
}

CUresult cuEventElapsedTime(float *milliseconds, CUevent startHandle, CUevent endHandle) {
  VGPU_NEED(milliseconds);
  std::shared_ptr<Event> start, end;
  VGPU_TRY(needEvent(startHandle, start));
  VGPU_TRY(needEvent(endHandle, end));
  if ((start->flags | end->flags) & CU_EVENT_DISABLE_TIMING)
    return fail(CUDA_ERROR_INVALID_HANDLE, "an event was created without timing");
  std::shared_ptr<Fence> from = start->latest(), to = end->latest();
  if (!from || !to)
    return fail(CUDA_ERROR_INVALID_HANDLE, "an event was never recorded");
  if (!from->isDone() || !to->isDone())
    return CUDA_ERROR_NOT_READY;
  *milliseconds = std::chrono::duration<float, std::milli>(to->when() - from->when()).count();
  return CUDA_SUCCESS;
}

} // namespace api
} // namespace tilewright::vgpu::driver
