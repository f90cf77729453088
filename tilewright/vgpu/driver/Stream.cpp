#include "tilewright/vgpu/driver/Stream.h"

#include "tilewright/support/Concat.h"
#include "tilewright/vgpu/driver/Functions.h"
#include "tilewright/vgpu/driver/Memory.h"
#include "tilewright/vgpu/driver/Work.h"
#include "tilewright/vgpu/driver/graph/Capture.h"
#include "tilewright/vgpu/driver/observe/ObserveCheck.h"

#include <algorithm>
#include <thread>

namespace tilewright::vgpu::driver {

void Fence::signal(SharedClock clock) {
  {
    std::lock_guard lock(mutex);
    before = std::move(clock);
    time = std::chrono::steady_clock::now();
    done.store(true, std::memory_order_release);
  }
  changed.notify_all();
}

void Fence::wait() {
  if (isDone())
    return;
  std::unique_lock lock(mutex);
  changed.wait(lock, [&] { return done.load(std::memory_order_relaxed); });
}

void Fence::waitOnHost() {
  wait();
  hostLearns(before);
}

bool Fence::isSeenDone() {
  if (!isDone())
    return false;
  hostLearns(before);
  return true;
}

static uint64_t newStreamId() {
  static std::atomic<uint64_t> next = 1;
  return next++;
}

Stream::Stream(std::shared_ptr<Context> context, Kind kind, unsigned flags, int priority)
    : context(std::move(context)), kind(kind), flags(flags), priority(priority), id(newStreamId()) {
}

std::shared_ptr<Fence> Stream::last() {
  std::lock_guard lock(mutex);
  return lastFence;
}

std::shared_ptr<Fence> Stream::enqueue(std::function<void()> work,
                                       std::vector<std::shared_ptr<Fence>> after) {
  auto done = std::make_shared<Fence>();
  std::lock_guard order(context->order);
  auto waitFor = [&](Stream &other) {
    if (std::shared_ptr<Fence> fence = other.last(); fence && (!fence->isDone() || fence->clock()))
      after.push_back(std::move(fence));
  };
  if (kind == Kind::legacy) {
    for (const std::shared_ptr<Stream> &other : context->streams())
      if (other.get() != this && other->isBlocking())
        waitFor(*other);
  } else if (isBlocking()) {
    waitFor(*context->legacy());
  }
  std::lock_guard lock(mutex);
  tasks.push_back({std::move(work), std::move(after), done, hostClock()});
  lastFence = done;
  if (!started) {
    started = true;
    // Detached: the thread keeps the stream alive, and ends when the stream is closed.
    std::thread([self = shared_from_this()] { self->runTasks(); }).detach();
  }
  changed.notify_one();
  return done;
}

void Stream::close() {
  std::lock_guard lock(mutex);
  closed = true;
  changed.notify_one();
}

void Stream::runTasks() {
  for (;;) {
    Task task;
    {
      std::unique_lock lock(mutex);
      changed.wait(lock, [&] { return closed || !tasks.empty(); });
      if (tasks.empty())
        return;
      task = std::move(tasks.front());
      tasks.pop_front();
    }
    run(task);
  }
}

void Stream::run(Task &task) {
  for (const std::shared_ptr<Fence> &fence : task.after)
    fence->wait();
  SharedClock after;
  if (areRacesChecked()) {
    for (const std::shared_ptr<Fence> &fence : task.after)
      if (fence->clock())
        machine::join(before, *fence->clock());
    if (task.host)
      machine::join(before, *task.host);
    CurrentWork work(id, ++works, std::move(before));
    task.work();
    after = work.after();
    before = *after;
    noteDone(after);
  } else {
    task.work();
  }
  // Release the objects that the work holds before signalling the fence, so that a thread that
  // waits for the fence sees them released.
  task.work = nullptr;
  task.done->signal(std::move(after));
}

CUresult needStream(CUstream handle, std::shared_ptr<Stream> &stream) {
  if (!handle)
    handle = isDefaultStreamPerThread() ? perThreadStream : legacyStream;
  if (handle == legacyStream || handle == perThreadStream) {
    std::shared_ptr<Context> context;
    VGPU_TRY(needContext(context));
    stream = handle == legacyStream ? context->legacy() : context->perThread();
    return CUDA_SUCCESS;
  }
  stream = Driver::get().streams.find(handle);
  if (!stream)
    return fail(CUDA_ERROR_INVALID_HANDLE, "invalid or destroyed stream");
  return Driver::get().settings.stickyErrors ? stream->context->failure() : CUDA_SUCCESS;
}

CUresult needEvent(CUevent handle, std::shared_ptr<Event> &event) {
  event = Driver::get().events.find(handle);
  return event ? CUDA_SUCCESS : fail(CUDA_ERROR_INVALID_HANDLE, "invalid or destroyed event");
}

static CUresult createStream(CUstream *stream, unsigned flags, int priority) {
  VGPU_NEED(stream && (flags & ~unsigned(CU_STREAM_NON_BLOCKING)) == 0);
  std::shared_ptr<Context> context;
  VGPU_TRY(needContext(context));
  auto made = std::make_shared<Stream>(context, Stream::Kind::created, flags,
                                       std::clamp(priority, greatestPriority, leastPriority));
  context->addStream(made);
  *stream = static_cast<CUstream>(Driver::get().streams.add(made));
  return CUDA_SUCCESS;
}

/// Writes to `result` a member of a stream, or the result of a function of the stream.
template <typename T, typename Property>
static CUresult giveProperty(CUstream handle, T *result, Property property) {
  std::shared_ptr<Stream> stream;
  VGPU_TRY(needStream(handle, stream));
  *result = std::invoke(property, *stream);
  return CUDA_SUCCESS;
}

/// Attributes that the driver stores and returns, but does not interpret.
static bool isStored(CUlaunchAttributeID attribute) {
  return attribute == CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW ||
         attribute == CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY ||
         attribute == CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP ||
         attribute == CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN;
}

namespace api {

CUresult cuStreamCreate(CUstream *stream, unsigned flags) { return createStream(stream, flags, 0); }

CUresult cuStreamCreateWithPriority(CUstream *stream, unsigned flags, int priority) {
  return createStream(stream, flags, priority);
}

CUresult cuStreamDestroy(CUstream handle) {
  std::shared_ptr<Stream> stream = Driver::get().streams.take(handle);
  if (!stream)
    return fail(CUDA_ERROR_INVALID_HANDLE, "invalid or destroyed stream");
  invalidateCapture(*stream);
  stream->close();
  return CUDA_SUCCESS;
}

CUresult cuStreamGetPriority(CUstream handle, int *priority) {
  VGPU_NEED(priority);
  return giveProperty(handle, priority, &Stream::priority);
}

CUresult cuStreamGetDevice(CUstream handle, CUdevice *device) {
  VGPU_NEED(device);
  return giveProperty(handle, device,
                      [](const Stream &stream) { return stream.context->device.ordinal; });
}

CUresult cuStreamGetFlags(CUstream handle, unsigned *flags) {
  VGPU_NEED(flags);
  return giveProperty(handle, flags, &Stream::flags);
}

CUresult cuStreamGetId(CUstream handle, unsigned long long *streamId) {
  VGPU_NEED(streamId);
  return giveProperty(handle, streamId, &Stream::id);
}

CUresult cuStreamGetCtx(CUstream handle, CUcontext *context) {
  VGPU_NEED(context);
  return giveProperty(handle, context, [](const Stream &stream) {
    return static_cast<CUcontext>(stream.context->handle);
  });
}

CUresult cuStreamQuery(CUstream handle) {
  std::shared_ptr<Stream> stream;
  VGPU_TRY(needStream(handle, stream));
  VGPU_TRY(refuseInCapture(*stream));
  std::shared_ptr<Fence> last = stream->last();
  return last && !last->isSeenDone() ? CUDA_ERROR_NOT_READY : stream->context->tellFailure();
}

CUresult cuStreamSynchronize(CUstream handle) {
  std::shared_ptr<Stream> stream;
  VGPU_TRY(needStream(handle, stream));
  VGPU_TRY(refuseInCapture(*stream));
  if (std::shared_ptr<Fence> last = stream->last())
    last->waitOnHost();
  // Synchronising the legacy stream also synchronises the blocking streams.
  if (stream->kind == Stream::Kind::legacy)
    for (const std::shared_ptr<Stream> &other : stream->context->streams())
      if (other->isBlocking())
        if (std::shared_ptr<Fence> last = other->last())
          last->waitOnHost();
  return stream->context->tellFailure();
}

CUresult cuStreamWaitEvent(CUstream handle, CUevent eventHandle, unsigned flags) {
  VGPU_NEED((flags & ~unsigned(CU_EVENT_WAIT_EXTERNAL)) == 0);
  std::shared_ptr<Stream> stream;
  std::shared_ptr<Event> event;
  VGPU_TRY(needStream(handle, stream));
  VGPU_TRY(needEvent(eventHandle, event));
  bool isDone = false;
  VGPU_TRY(captureWait(stream, event, flags, isDone));
  if (isDone)
    return CUDA_SUCCESS;
  if (std::shared_ptr<Fence> record = event->latest();
      record && (!record->isDone() || record->clock()))
    stream->enqueue([] {}, {std::move(record)});
  return CUDA_SUCCESS;
}

CUresult cuStreamAddCallback(CUstream handle, CUstreamCallback callback, void *userData,
                             unsigned flags) {
  VGPU_NEED(callback && flags == 0);
  std::shared_ptr<Stream> stream;
  VGPU_TRY(needStream(handle, stream));
  VGPU_TRY(refuseInCapture(*stream));
  return submit(stream, CallbackWork{callback, handle, userData});
}

CUresult cuStreamAttachMemAsync(CUstream handle, CUdeviceptr, size_t, unsigned flags) {
  VGPU_NEED(flags == CU_MEM_ATTACH_GLOBAL || flags == CU_MEM_ATTACH_HOST ||
            flags == CU_MEM_ATTACH_SINGLE);
  std::shared_ptr<Stream> stream;
  // All streams can use all memory at any time, so there is nothing to attach.
  return needStream(handle, stream);
}

static CUresult submitValue(CUstream handle, ValueWork work) {
  VGPU_NEED(work.address && work.address % (work.is64 ? 8 : 4) == 0);
  VGPU_NEED(Driver::get().settings.usesHostMemory || ownedAt(work.address));
  std::shared_ptr<Stream> stream;
  VGPU_TRY(needStream(handle, stream));
  VGPU_TRY(refuseInCapture(*stream));
  return submit(stream, work);
}

CUresult cuStreamWaitValue32(CUstream stream, CUdeviceptr address, uint32_t value, unsigned flags) {
  VGPU_NEED(flags <= CU_STREAM_WAIT_VALUE_NOR);
  return submitValue(stream, {address, value, flags, false, true});
}
CUresult cuStreamWaitValue64(CUstream stream, CUdeviceptr address, uint64_t value, unsigned flags) {
  VGPU_NEED(flags <= CU_STREAM_WAIT_VALUE_NOR);
  return submitValue(stream, {address, value, flags, true, true});
}
CUresult cuStreamWriteValue32(CUstream stream, CUdeviceptr address, uint32_t value,
                              unsigned flags) {
  VGPU_NEED(flags <= CU_STREAM_WRITE_VALUE_NO_MEMORY_BARRIER);
  return submitValue(stream, {address, value, flags, false, false});
}
CUresult cuStreamWriteValue64(CUstream stream, CUdeviceptr address, uint64_t value,
                              unsigned flags) {
  VGPU_NEED(flags <= CU_STREAM_WRITE_VALUE_NO_MEMORY_BARRIER);
  return submitValue(stream, {address, value, flags, true, false});
}

CUresult cuStreamSetAttribute(CUstream handle, CUlaunchAttributeID attribute,
                              const CUlaunchAttributeValue *value) {
  VGPU_NEED(value);
  std::shared_ptr<Stream> stream;
  VGPU_TRY(needStream(handle, stream));
  if (attribute == CU_LAUNCH_ATTRIBUTE_PRIORITY) {
    stream->priority = std::clamp(value->priority, greatestPriority, leastPriority);
    return CUDA_SUCCESS;
  }
  if (!isStored(attribute))
    return fail(CUDA_ERROR_INVALID_VALUE, concat("unknown stream attribute ", int(attribute)));
  std::lock_guard lock(stream->captureMutex);
  std::erase_if(stream->attributes, [&](const auto &one) { return one.first == attribute; });
  stream->attributes.emplace_back(attribute, *value);
  return CUDA_SUCCESS;
}

CUresult cuStreamGetAttribute(CUstream handle, CUlaunchAttributeID attribute,
                              CUlaunchAttributeValue *value) {
  VGPU_NEED(value);
  std::shared_ptr<Stream> stream;
  VGPU_TRY(needStream(handle, stream));
  *value = {};
  if (attribute == CU_LAUNCH_ATTRIBUTE_PRIORITY) {
    value->priority = stream->priority;
    return CUDA_SUCCESS;
  }
  if (!isStored(attribute))
    return fail(CUDA_ERROR_INVALID_VALUE, concat("unknown stream attribute ", int(attribute)));
  std::lock_guard lock(stream->captureMutex);
  for (const auto &[id, kept] : stream->attributes)
    if (id == attribute)
      *value = kept;
  return CUDA_SUCCESS;
}

CUresult cuStreamCopyAttributes(CUstream dstStream, CUstream srcStream) {
  std::shared_ptr<Stream> to, from;
  VGPU_TRY(needStream(dstStream, to));
  VGPU_TRY(needStream(srcStream, from));
  if (to == from)
    return CUDA_SUCCESS;
  std::scoped_lock lock(to->captureMutex, from->captureMutex);
  to->attributes = from->attributes;
  to->priority = from->priority.load();
  return CUDA_SUCCESS;
}

} // namespace api
} // namespace tilewright::vgpu::driver
