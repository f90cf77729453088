#include "tilewright/vgpu/driver/graph/Capture.h"

#include "tilewright/support/Concat.h"
#include "tilewright/vgpu/driver/Functions.h"
#include "tilewright/vgpu/driver/graph/Graph.h"

#include <algorithm>

namespace tilewright::vgpu::driver {

namespace {
struct ActiveCaptures {
  std::mutex mutex;
  std::vector<std::shared_ptr<Capture>> all; // guarded by mutex
  std::atomic<size_t> count = 0;             // size of `all`; read without the mutex
};
} // namespace

static ActiveCaptures &active() {
  static auto &only = *new ActiveCaptures(); // outlives main(), as the streams do
  return only;
}

static std::vector<std::shared_ptr<Capture>> activeCaptures() {
  ActiveCaptures &captures = active();
  if (captures.count.load(std::memory_order_relaxed) == 0)
    return {};
  std::lock_guard lock(captures.mutex);
  return captures.all;
}

static thread_local CUstreamCaptureMode threadMode = CU_STREAM_CAPTURE_MODE_GLOBAL;

static std::shared_ptr<Capture> captureOf(Stream &stream) {
  std::lock_guard lock(stream.captureMutex);
  return stream.capture;
}

bool isCapturing(Stream &stream) { return captureOf(stream) != nullptr; }

/// Finds nodes by handle and skips those that have been destroyed. The caller holds the graph's
/// mutex.
static std::vector<GraphNode *> nodesOf(Graph &graph, const std::vector<void *> &handles) {
  std::vector<GraphNode *> nodes;
  for (void *handle : handles)
    for (const std::shared_ptr<GraphNode> &node : graph.nodes)
      if (node->handle == handle)
        nodes.push_back(node.get());
  return nodes;
}

/// Adds a node that depends on the stream's last nodes, and makes it the stream's last node.
static CUresult addNode(Stream &stream, Capture &capture, Work work) {
  if (capture.isInvalid)
    return fail(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, "an earlier call invalidated the capture");
  std::lock_guard lock(stream.captureMutex);
  std::lock_guard graphLock(capture.graph->mutex);
  GraphNode *node =
      capture.graph->add(std::move(work), nodesOf(*capture.graph, stream.captureTips));
  stream.captureTips = {node->handle};
  return CUDA_SUCCESS;
}

CUresult refuseImplicit(Stream &stream) {
  if (stream.kind != Stream::Kind::legacy)
    return CUDA_SUCCESS;
  CUresult result = CUDA_SUCCESS;
  for (const std::shared_ptr<Capture> &capture : activeCaptures()) {
    std::shared_ptr<Stream> origin = capture->origin.lock();
    if (capture->context != stream.context.get() || !origin || !origin->isBlocking())
      continue;
    capture->isInvalid = true;
    result = fail(CUDA_ERROR_STREAM_CAPTURE_IMPLICIT,
                  "work in the legacy stream waits for all blocking streams, and one of them is "
                  "being captured; use another stream, or capture a non-blocking one");
  }
  return result;
}

CUresult captureWork(const std::shared_ptr<Stream> &stream, const Work &work, bool &isDone) {
  std::shared_ptr<Capture> capture = captureOf(*stream);
  if (!capture)
    return refuseImplicit(*stream);
  isDone = true;
  return addNode(*stream, *capture, work);
}

CUresult captureRecord(const std::shared_ptr<Stream> &stream, const std::shared_ptr<Event> &event,
                       unsigned flags, bool &isDone) {
  std::shared_ptr<Capture> capture = captureOf(*stream);
  if (!capture)
    return refuseImplicit(*stream);
  isDone = true;
  if (flags & CU_EVENT_RECORD_EXTERNAL)
    return addNode(*stream, *capture, RecordWork{event});
  if (capture->isInvalid)
    return fail(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, "an earlier call invalidated the capture");
  std::scoped_lock lock(stream->captureMutex, event->mutex);
  event->capture = capture;
  event->captureNodes = stream->captureTips;
  event->record.reset();
  return CUDA_SUCCESS;
}

CUresult captureWait(const std::shared_ptr<Stream> &stream, const std::shared_ptr<Event> &event,
                     unsigned flags, bool &isDone) {
  std::shared_ptr<Capture> mine = captureOf(*stream), other;
  std::vector<void *> nodes;
  {
    std::lock_guard lock(event->mutex);
    other = event->capture.lock();
    nodes = event->captureNodes;
  }
  if (!mine && !other)
    return refuseImplicit(*stream);
  isDone = true;
  if (mine && (flags & CU_EVENT_WAIT_EXTERNAL))
    return addNode(*stream, *mine, WaitWork{event});
  if ((mine && mine->isInvalid) || (other && other->isInvalid))
    return fail(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, "an earlier call invalidated the capture");
  if (mine && !other) {
    mine->isInvalid = true;
    return fail(
        CUDA_ERROR_STREAM_CAPTURE_ISOLATION,
        "a captured stream cannot wait for an event that was recorded outside of the capture");
  }
  if (mine && mine != other) {
    mine->isInvalid = other->isInvalid = true;
    return fail(CUDA_ERROR_STREAM_CAPTURE_MERGE, "the event belongs to another capture");
  }
  if (stream->kind == Stream::Kind::legacy) {
    other->isInvalid = true;
    return fail(CUDA_ERROR_STREAM_CAPTURE_IMPLICIT, "the legacy stream cannot be captured");
  }
  std::lock_guard lock(stream->captureMutex);
  if (!mine) {
    stream->capture = other;
    stream->captureTips.clear();
    std::lock_guard captureLock(other->mutex);
    other->forked.push_back(stream);
  }
  for (void *node : nodes)
    if (std::find(stream->captureTips.begin(), stream->captureTips.end(), node) ==
        stream->captureTips.end())
      stream->captureTips.push_back(node);
  return CUDA_SUCCESS;
}

CUresult refuseInCapture(Stream &stream) {
  std::shared_ptr<Capture> capture = captureOf(stream);
  if (!capture)
    return CUDA_SUCCESS;
  capture->isInvalid = true;
  return fail(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED,
              "the call is not allowed on a stream that is being captured");
}

CUresult refuseWhileCapturing(Context &context) {
  if (threadMode == CU_STREAM_CAPTURE_MODE_RELAXED)
    return CUDA_SUCCESS;
  CUresult result = CUDA_SUCCESS;
  for (const std::shared_ptr<Capture> &capture : activeCaptures()) {
    const bool isMine = capture->owner == std::this_thread::get_id() &&
                        capture->mode != CU_STREAM_CAPTURE_MODE_RELAXED;
    const bool isGlobal = threadMode == CU_STREAM_CAPTURE_MODE_GLOBAL &&
                          capture->mode == CU_STREAM_CAPTURE_MODE_GLOBAL;
    if (!isMine && !isGlobal)
      continue;
    capture->isInvalid = true;
    result = fail(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED,
                  "the call is not allowed while a stream is being captured, unless "
                  "cuThreadExchangeStreamCaptureMode sets the relaxed mode");
  }
  return result;
}

CUresult refuseCapturedEvent(Event &event) {
  std::lock_guard lock(event.mutex);
  std::shared_ptr<Capture> capture = event.capture.lock();
  if (!capture)
    return CUDA_SUCCESS;
  capture->isInvalid = true;
  return fail(CUDA_ERROR_CAPTURED_EVENT, "the event was recorded in a capture");
}

/// Takes the stream out of its capture.
static void leave(Stream &stream) {
  std::lock_guard lock(stream.captureMutex);
  stream.capture.reset();
  stream.captureTips.clear();
}

void invalidateCapture(Stream &stream) {
  if (std::shared_ptr<Capture> capture = captureOf(stream))
    capture->isInvalid = true;
}

static CUresult beginCapture(CUstream handle, CUstreamCaptureMode mode,
                             std::shared_ptr<Graph> graph, std::vector<void *> tips) {
  VGPU_NEED(mode >= CU_STREAM_CAPTURE_MODE_GLOBAL && mode <= CU_STREAM_CAPTURE_MODE_RELAXED);
  std::shared_ptr<Stream> stream;
  VGPU_TRY(needStream(handle, stream));
  if (stream->kind == Stream::Kind::legacy)
    return fail(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, "the legacy stream cannot be captured");
  static std::atomic<uint64_t> nextId = 1;
  auto capture = std::make_shared<Capture>();
  capture->graph = graph ? std::move(graph) : std::make_shared<Graph>();
  capture->mode = mode;
  capture->id = nextId++;
  capture->owner = std::this_thread::get_id();
  capture->context = stream->context.get();
  capture->origin = stream;
  {
    std::lock_guard lock(stream->captureMutex);
    if (stream->capture)
      return fail(CUDA_ERROR_ILLEGAL_STATE, "the stream is already being captured");
    stream->capture = capture;
    stream->captureTips = std::move(tips);
  }
  ActiveCaptures &captures = active();
  std::lock_guard lock(captures.mutex);
  captures.all.push_back(std::move(capture));
  captures.count = captures.all.size();
  return CUDA_SUCCESS;
}

/// The streams that take part in a capture, except its origin. Returns a copy, so that the caller
/// can lock the streams without holding the capture's lock.
static std::vector<std::shared_ptr<Stream>> forkedStreams(Capture &capture) {
  std::lock_guard lock(capture.mutex);
  std::vector<std::shared_ptr<Stream>> streams;
  for (const std::weak_ptr<Stream> &weak : capture.forked)
    if (std::shared_ptr<Stream> stream = weak.lock())
      streams.push_back(std::move(stream));
  return streams;
}

/// Whether the origin has waited for all work of the forked streams.
static bool isJoined(Capture &capture, const std::vector<void *> &originTips) {
  std::vector<void *> forkedTips;
  for (const std::shared_ptr<Stream> &stream : forkedStreams(capture)) {
    std::lock_guard lock(stream->captureMutex);
    forkedTips.insert(forkedTips.end(), stream->captureTips.begin(), stream->captureTips.end());
  }
  std::lock_guard lock(capture.graph->mutex);
  std::set<GraphNode *> reached;
  std::vector<GraphNode *> open = nodesOf(*capture.graph, originTips);
  while (!open.empty()) {
    GraphNode *node = open.back();
    open.pop_back();
    if (reached.insert(node).second)
      open.insert(open.end(), node->dependencies.begin(), node->dependencies.end());
  }
  for (GraphNode *node : nodesOf(*capture.graph, forkedTips))
    if (!reached.count(node))
      return false;
  return true;
}

/// The state of a stream's capture, which all versions of cuStreamGetCaptureInfo return.
struct CaptureInfo {
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  uint64_t id = 0;
  std::shared_ptr<Graph> graph;
};

static CUresult captureInfo(CUstream handle, CaptureInfo &info, const CUgraphNode **dependencies,
                            size_t *count) {
  std::shared_ptr<Stream> stream;
  VGPU_TRY(needStream(handle, stream));
  if (stream->kind == Stream::Kind::legacy)
    VGPU_TRY(refuseImplicit(*stream));
  std::lock_guard lock(stream->captureMutex);
  if (!stream->capture)
    return CUDA_SUCCESS;
  info.status = stream->capture->isInvalid ? CU_STREAM_CAPTURE_STATUS_INVALIDATED
                                           : CU_STREAM_CAPTURE_STATUS_ACTIVE;
  info.id = stream->capture->id;
  info.graph = stream->capture->graph;
  // The stream stores handles, so the caller can get a pointer to the stream's own list, which is
  // valid until the list changes.
  if (dependencies)
    *dependencies = reinterpret_cast<const CUgraphNode *>(stream->captureTips.data());
  if (count)
    *count = stream->captureTips.size();
  return CUDA_SUCCESS;
}

namespace api {

CUresult cuStreamBeginCapture(CUstream stream) {
  return beginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL, nullptr, {});
}

CUresult cuStreamBeginCapture(CUstream stream, CUstreamCaptureMode mode) {
  return beginCapture(stream, mode, nullptr, {});
}

CUresult cuStreamBeginCaptureToGraph(CUstream stream, CUgraph handle,
                                     const CUgraphNode *dependencies, const CUgraphEdgeData *,
                                     size_t numDependencies, CUstreamCaptureMode mode) {
  std::shared_ptr<Graph> graph;
  VGPU_TRY(needGraph(handle, graph));
  std::vector<GraphNode *> nodes;
  std::vector<void *> tips;
  {
    std::lock_guard lock(graph->mutex);
    VGPU_TRY(needNodes(*graph, dependencies, numDependencies, nodes));
    for (GraphNode *node : nodes)
      tips.push_back(node->handle);
  }
  return beginCapture(stream, mode, graph, std::move(tips));
}

CUresult cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode *mode) {
  VGPU_NEED(mode && *mode >= CU_STREAM_CAPTURE_MODE_GLOBAL &&
            *mode <= CU_STREAM_CAPTURE_MODE_RELAXED);
  std::swap(*mode, threadMode);
  return CUDA_SUCCESS;
}

CUresult cuStreamEndCapture(CUstream handle, CUgraph *result) {
  VGPU_NEED(result);
  std::shared_ptr<Stream> stream;
  VGPU_TRY(needStream(handle, stream));
  std::shared_ptr<Capture> capture;
  std::vector<void *> tips;
  {
    std::lock_guard lock(stream->captureMutex);
    capture = stream->capture;
    tips = stream->captureTips;
  }
  *result = nullptr;
  if (!capture)
    return fail(CUDA_ERROR_ILLEGAL_STATE, "the stream is not being captured");
  if (capture->origin.lock() != stream)
    return fail(CUDA_ERROR_STREAM_CAPTURE_UNMATCHED, "the capture began in another stream");
  if (capture->mode != CU_STREAM_CAPTURE_MODE_RELAXED &&
      capture->owner != std::this_thread::get_id())
    return fail(CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD, "the capture was begun by another thread");
  const bool joined = isJoined(*capture, tips);
  leave(*stream);
  for (const std::shared_ptr<Stream> &forked : forkedStreams(*capture))
    leave(*forked);
  {
    ActiveCaptures &captures = active();
    std::lock_guard lock(captures.mutex);
    std::erase(captures.all, capture);
    captures.count = captures.all.size();
  }
  if (capture->isInvalid)
    return fail(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, "an earlier call invalidated the capture");
  if (!joined)
    return fail(CUDA_ERROR_STREAM_CAPTURE_UNJOINED,
                "a forked stream has work that the origin stream does not wait for; record an "
                "event in the forked stream and wait for it in the origin stream");
  if (!capture->graph->handle)
    Driver::get().graphs.add(capture->graph);
  *result = static_cast<CUgraph>(capture->graph->handle);
  return CUDA_SUCCESS;
}

CUresult cuStreamIsCapturing(CUstream stream, CUstreamCaptureStatus *captureStatus) {
  VGPU_NEED(captureStatus);
  CaptureInfo info;
  VGPU_TRY(captureInfo(stream, info, nullptr, nullptr));
  *captureStatus = info.status;
  return CUDA_SUCCESS;
}

CUresult cuStreamGetCaptureInfo(CUstream stream, CUstreamCaptureStatus *captureStatusOut,
                                uint64_t *idOut) {
  return cuStreamGetCaptureInfo(stream, captureStatusOut, idOut, nullptr, nullptr, nullptr,
                                nullptr);
}

CUresult cuStreamGetCaptureInfo(CUstream stream, CUstreamCaptureStatus *captureStatusOut,
                                uint64_t *idOut, CUgraph *graphOut,
                                const CUgraphNode **dependenciesOut, size_t *numDependenciesOut) {
  return cuStreamGetCaptureInfo(stream, captureStatusOut, idOut, graphOut, dependenciesOut, nullptr,
                                numDependenciesOut);
}

CUresult cuStreamGetCaptureInfo(CUstream stream, CUstreamCaptureStatus *captureStatusOut,
                                uint64_t *idOut, CUgraph *graphOut,
                                const CUgraphNode **dependenciesOut,
                                const CUgraphEdgeData **edgeDataOut, size_t *numDependenciesOut) {
  VGPU_NEED(captureStatusOut);
  CaptureInfo info;
  VGPU_TRY(captureInfo(stream, info, dependenciesOut, numDependenciesOut));
  *captureStatusOut = info.status;
  if (info.status != CU_STREAM_CAPTURE_STATUS_ACTIVE)
    return CUDA_SUCCESS;
  if (idOut)
    *idOut = info.id;
  if (edgeDataOut)
    *edgeDataOut = nullptr;
  if (graphOut) {
    // A captured graph gets its handle when the program first asks for it, or when the capture
    // ends.
    if (!info.graph->handle)
      Driver::get().graphs.add(info.graph);
    *graphOut = static_cast<CUgraph>(info.graph->handle);
  }
  return CUDA_SUCCESS;
}

CUresult cuStreamUpdateCaptureDependencies(CUstream stream, CUgraphNode *dependencies,
                                           size_t numDependencies, unsigned flags) {
  return cuStreamUpdateCaptureDependencies(stream, dependencies, nullptr, numDependencies, flags);
}

CUresult cuStreamUpdateCaptureDependencies(CUstream handle, CUgraphNode *dependencies,
                                           const CUgraphEdgeData *, size_t numDependencies,
                                           unsigned flags) {
  VGPU_NEED(flags <= CU_STREAM_SET_CAPTURE_DEPENDENCIES);
  std::shared_ptr<Stream> stream;
  VGPU_TRY(needStream(handle, stream));
  std::lock_guard lock(stream->captureMutex);
  if (!stream->capture)
    return fail(CUDA_ERROR_ILLEGAL_STATE, "the stream is not being captured");
  std::vector<GraphNode *> nodes;
  std::lock_guard graphLock(stream->capture->graph->mutex);
  VGPU_TRY(needNodes(*stream->capture->graph, dependencies, numDependencies, nodes));
  if (flags == CU_STREAM_SET_CAPTURE_DEPENDENCIES)
    stream->captureTips.clear();
  for (GraphNode *node : nodes)
    stream->captureTips.push_back(node->handle);
  return CUDA_SUCCESS;
}

} // namespace api
} // namespace tilewright::vgpu::driver
