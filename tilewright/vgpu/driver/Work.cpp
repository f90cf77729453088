#include "tilewright/vgpu/driver/Work.h"

#include "tilewright/support/Concat.h"
#include "tilewright/vgpu/driver/Copy.h"
#include "tilewright/vgpu/driver/Interrupt.h"
#include "tilewright/vgpu/driver/Memory.h"
#include "tilewright/vgpu/driver/Pool.h"
#include "tilewright/vgpu/driver/graph/Capture.h"
#include "tilewright/vgpu/driver/graph/Conditional.h"
#include "tilewright/vgpu/driver/graph/Graph.h"
#include "tilewright/vgpu/driver/module/Module.h"
#include "tilewright/vgpu/driver/observe/Observe.h"
#include "tilewright/vgpu/driver/observe/ObserveCheck.h"
#include "tilewright/vgpu/driver/observe/ObserveFunction.h"
#include "tilewright/vgpu/driver/observe/Summary.h"
#include "tilewright/vgpu/machine/Launch.h"

#include <cstring>
#include <thread>

namespace tilewright::vgpu::driver {

/// The CUDA error code for the failure of a kernel.
static CUresult resultOf(const Status &status) {
  if (!status.error())
    return CUDA_ERROR_LAUNCH_FAILED;
  switch (*status.error()) {
  case Error::vgpuAccess:
    return CUDA_ERROR_ILLEGAL_ADDRESS;
  case Error::vgpuAssert:
    return CUDA_ERROR_ASSERT;
  case Error::vgpuDeadlock:
  case Error::vgpuLivelock:
  case Error::vgpuTimeout:
    return CUDA_ERROR_LAUNCH_TIMEOUT;
  default:
    return CUDA_ERROR_LAUNCH_FAILED;
  }
}

machine::Accessor accessorOf(Context &context) {
  machine::Accessor accessor{context.device.ordinal, 0};
  std::lock_guard lock(context.mutex);
  for (void *handle : context.peers)
    if (const std::shared_ptr<Context> peer = Driver::get().contexts.find(handle))
      accessor.peers |= uint64_t(1) << peer->device.ordinal;
  return accessor;
}

static void run(Context &context, const KernelWork &work) {
  const Function &function = *work.function;
  const InterruptScope interrupts;
  const auto begin = std::chrono::steady_clock::now();
  const Status status = function.binary->launch(context, work, interrupts.isRequested());
  noteLaunch(function.name, std::chrono::steady_clock::now() - begin);
  if (status.isOk())
    return;
  noteFailure(concat("kernel ", function.name, ", grid ", listed(work.grid), ", block ",
                     listed(work.block), ": ", status.toString()));
  context.setFailure(resultOf(status));
}

/// Handles memory that was freed after the work was submitted, for example the memory of a graph
/// node.
static bool isUsable(Context &context, CUresult checked, std::string_view what) {
  if (checked == CUDA_SUCCESS)
    return true;
  noteFailure(concat(what, " of memory that is no longer allocated"));
  context.setFailure(CUDA_ERROR_ILLEGAL_ADDRESS);
  return false;
}

static void run(Context &context, const CopyWork &work) {
  if (work.width == 0)
    return; // the pointers may be null in this case
  if (!isUsable(context, checkCopy(work), "a copy"))
    return;
  for (size_t z = 0; z < work.depth; ++z)
    for (size_t y = 0; y < work.height; ++y) {
      std::byte *to = work.to + z * work.toSlice + y * work.toPitch;
      std::memmove(to, work.from + z * work.fromSlice + y * work.fromPitch, work.width);
      tellWritten(to, work.width);
    }
}

static void run(Context &context, const FillWork &work) {
  if (work.width == 0)
    return; // the pointer may be null in this case
  if (!isUsable(context, checkFill(work), "a fill"))
    return;
  for (size_t y = 0; y < work.height; ++y) {
    std::byte *row = work.to + y * work.pitch;
    tellWritten(row, work.width * work.elementSize);
    if (work.elementSize == 1)
      std::memset(row, static_cast<int>(work.value & 0xff), work.width);
    else
      for (size_t x = 0; x < work.width; ++x)
        std::memcpy(row + x * work.elementSize, &work.value, work.elementSize);
  }
}

/// A function of the program runs on the stream: from then on the host knows what came before.
static void tellHost() {
  if (const CurrentWork *now = currentWork())
    hostLearns(std::make_shared<const machine::StreamClock>(now->before));
}

static void run(Context &, const HostWork &work) {
  tellHost();
  work.function(work.data);
}
static void run(Context &context, const CallbackWork &work) {
  tellHost();
  work.function(work.stream, context.failure(), work.data);
}
static void run(Context &, const EmptyWork &) {}

static void run(Context &, const RecordWork &work) {
  auto record = std::make_shared<Fence>();
  record->signal(currentWork() ? currentWork()->after() : nullptr);
  std::lock_guard lock(work.event->mutex);
  work.event->record = record;
}

static void run(Context &, const WaitWork &work) {
  std::shared_ptr<Fence> record = work.event->latest();
  if (!record)
    return;
  record->wait();
  if (CurrentWork *now = currentWork(); now && record->clock())
    machine::join(now->before, *record->clock());
}

static void run(Context &, const AllocateWork &work) { startUse(work.asked.dptr, *work.pool); }
static void run(Context &, const FreeWork &work) { endUse(work.address); }
static void run(Context &context, const GraphWork &work) { performGraph(context, *work.graph); }

static void run(Context &context, const ConditionalWork &work) {
  performConditional(context, work);
}

static void run(Context &context, const FunctionWork &work) {
  const HostedFunction &hosted = *work.hosted;
  for (const tilewright_vgpu_range &range : hosted.ranges)
    if (!isUsable(context, checkRange(range.begin, range.bytes), hosted.function.name))
      return;
  showAccesses(context, hosted.function.name, hosted.ranges, /*areWritten=*/false);
  const auto begin = std::chrono::steady_clock::now();
  const auto result = static_cast<CUresult>(hosted.function.run(hosted.function.data));
  noteLaunch(hosted.function.name, std::chrono::steady_clock::now() - begin);
  if (result != CUDA_SUCCESS) {
    noteFailure(concat(hosted.function.name, " failed"));
    context.setFailure(result);
    return;
  }
  for (const tilewright_vgpu_range &range : hosted.ranges)
    if (range.isWritten)
      tellWritten(reinterpret_cast<const void *>(range.begin), range.bytes);
  showAccesses(context, hosted.function.name, hosted.ranges, /*areWritten=*/true);
}

static bool isReached(uint64_t now, const ValueWork &work) {
  switch (work.flags) {
  case CU_STREAM_WAIT_VALUE_GEQ:
    return work.is64 ? static_cast<int64_t>(now - work.value) >= 0
                     : static_cast<int32_t>(static_cast<uint32_t>(now - work.value)) >= 0;
  case CU_STREAM_WAIT_VALUE_EQ:
    return now == work.value;
  case CU_STREAM_WAIT_VALUE_AND:
    return (now & work.value) != 0;
  default:
    return (~(now | work.value) & (work.is64 ? ~uint64_t(0) : 0xffffffffu)) != 0;
  }
}

template <typename Word> static void runValue(Context &context, const ValueWork &work) {
  auto *address = reinterpret_cast<Word *>(work.address);
  if (!work.waits) {
    __atomic_store_n(address, static_cast<Word>(work.value), __ATOMIC_SEQ_CST);
    return;
  }
  const InterruptScope interrupts;
  const std::chrono::nanoseconds limit = Driver::get().settings.timeLimit;
  const auto begin = std::chrono::steady_clock::now();
  while (!isReached(__atomic_load_n(address, __ATOMIC_ACQUIRE), work) && !context.failure()) {
    std::this_thread::sleep_for(std::chrono::microseconds(20));
    const bool isLate = limit.count() > 0 && std::chrono::steady_clock::now() - begin >= limit;
    if (!isLate && !interrupts.isRequested())
      continue;
    noteFailure(concat("cuStreamWaitValue for ", work.value, " was ",
                       isLate ? "stopped by --timeout" : "interrupted"));
    context.setFailure(isLate ? CUDA_ERROR_LAUNCH_TIMEOUT : CUDA_ERROR_LAUNCH_FAILED);
  }
}
static void run(Context &context, const ValueWork &work) {
  work.is64 ? runValue<uint64_t>(context, work) : runValue<uint32_t>(context, work);
  if (work.waits)
    learnAllDone();
}

void perform(Context &context, const Work &work) {
  // After a failure no work runs, except work that frees memory, callbacks that notify the host,
  // and event records.
  const bool isAlways = std::holds_alternative<FreeWork>(work) ||
                        std::holds_alternative<CallbackWork>(work) ||
                        std::holds_alternative<RecordWork>(work);
  if (context.failure() && Driver::get().settings.stickyErrors && !isAlways)
    return;
  std::visit([&](const auto &one) { run(context, one); }, work);
}

CUgraphNodeType nodeTypeOf(const Work &work) {
  static constexpr CUgraphNodeType types[] = {
      CU_GRAPH_NODE_TYPE_KERNEL,     CU_GRAPH_NODE_TYPE_MEMCPY,       CU_GRAPH_NODE_TYPE_MEMSET,
      CU_GRAPH_NODE_TYPE_HOST,       CU_GRAPH_NODE_TYPE_GRAPH,        CU_GRAPH_NODE_TYPE_EMPTY,
      CU_GRAPH_NODE_TYPE_WAIT_EVENT, CU_GRAPH_NODE_TYPE_EVENT_RECORD, CU_GRAPH_NODE_TYPE_MEM_ALLOC,
      CU_GRAPH_NODE_TYPE_MEM_FREE,   CU_GRAPH_NODE_TYPE_CONDITIONAL,  CU_GRAPH_NODE_TYPE_KERNEL,
  };
  return types[work.index()];
}

static std::shared_ptr<Fence> enqueue(const std::shared_ptr<Stream> &stream, Work work) {
  auto shared = std::make_shared<Work>(std::move(work));
  return stream->enqueue([context = stream->context, shared] { perform(*context, *shared); });
}

/// Captures or enqueues the work. `fence` is null if it was captured.
static CUresult captureOrEnqueue(const std::shared_ptr<Stream> &stream, Work work,
                                 std::shared_ptr<Fence> &fence) {
  bool isDone = false;
  VGPU_TRY(captureWork(stream, work, isDone));
  if (isDone)
    return CUDA_SUCCESS; // a node of a graph reads its source each time it runs
  if (auto *copy = std::get_if<CopyWork>(&work))
    stagePageable(*copy);
  fence = enqueue(stream, std::move(work));
  return CUDA_SUCCESS;
}

CUresult submitAndReturn(const std::shared_ptr<Stream> &stream, Work work) {
  std::shared_ptr<Fence> fence;
  return captureOrEnqueue(stream, std::move(work), fence);
}

CUresult submit(const std::shared_ptr<Stream> &stream, Work work) {
  std::shared_ptr<Fence> fence;
  VGPU_TRY(captureOrEnqueue(stream, std::move(work), fence));
  if (!fence || stream->kind != Stream::Kind::legacy || !Driver::get().settings.defaultStreamWaits)
    return CUDA_SUCCESS;
  fence->waitOnHost();
  return stream->context->tellFailure();
}

CUresult submitAndWait(const std::shared_ptr<Stream> &stream, Work work) {
  VGPU_TRY(refuseInCapture(*stream));
  VGPU_TRY(refuseImplicit(*stream));
  enqueue(stream, std::move(work))->waitOnHost();
  return stream->context->tellFailure();
}

} // namespace tilewright::vgpu::driver
