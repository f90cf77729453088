// Contexts, and the current context of each thread.
#include "tilewright/support/Concat.h"
#include "tilewright/vgpu/driver/Driver.h"
#include "tilewright/vgpu/driver/Functions.h"
#include "tilewright/vgpu/driver/Stream.h"
#include "tilewright/vgpu/driver/graph/Capture.h"
#include "tilewright/vgpu/driver/module/Module.h"

namespace tilewright::vgpu::driver {

// The context stack of a thread; the last one is current. A null entry means that no context is
// current.
static thread_local std::vector<std::shared_ptr<Context>> stack;

std::shared_ptr<Context> currentContext() { return stack.empty() ? nullptr : stack.back(); }

CurrentContext::CurrentContext(std::shared_ptr<Context> context) {
  stack.push_back(std::move(context));
}
CurrentContext::~CurrentContext() { stack.pop_back(); }

CUresult needContext(std::shared_ptr<Context> &context) {
  context = currentContext();
  if (!context)
    return fail(CUDA_ERROR_INVALID_CONTEXT,
                "no context is current to this thread; retain the primary context of a device "
                "and make it current");
  if (context->destroyed)
    return fail(CUDA_ERROR_CONTEXT_IS_DESTROYED, "the current context was destroyed");
  return Driver::get().settings.stickyErrors ? context->failure() : CUDA_SUCCESS;
}

void Context::setFailure(CUresult failure) {
  int none = 0;
  firstFailure.compare_exchange_strong(none, failure);
}

CUresult Context::tellFailure() {
  return static_cast<CUresult>(Driver::get().settings.stickyErrors ? firstFailure.load()
                                                                   : firstFailure.exchange(0));
}

std::shared_ptr<Stream> Context::legacy() {
  std::lock_guard lock(mutex);
  if (!legacyStream) {
    legacyStream = std::make_shared<Stream>(weak_from_this().lock(), Stream::Kind::legacy, 0u, 0);
    allStreams.push_back(legacyStream);
  }
  return legacyStream;
}

void Context::dropLegacy() {
  // The stream and its context own each other; this breaks the cycle.
  std::lock_guard lock(mutex);
  legacyStream.reset();
}

namespace {
/// The default streams of a thread, one for each context; closed when the thread ends.
struct ThreadStreams {
  ~ThreadStreams() {
    for (auto &[context, stream] : streams)
      stream->close();
  }
  std::vector<std::pair<Context *, std::shared_ptr<Stream>>> streams;
};
} // namespace

std::shared_ptr<Stream> Context::perThread() {
  static thread_local ThreadStreams mine;
  for (auto &[context, stream] : mine.streams)
    if (context == this)
      return stream;
  auto stream = std::make_shared<Stream>(weak_from_this().lock(), Stream::Kind::perThread, 0u, 0);
  addStream(stream);
  mine.streams.emplace_back(this, stream);
  return stream;
}

void Context::addStream(const std::shared_ptr<Stream> &stream) {
  std::lock_guard lock(mutex);
  std::erase_if(allStreams, [](const std::weak_ptr<Stream> &one) { return one.expired(); });
  allStreams.push_back(stream);
}

std::vector<std::shared_ptr<Stream>> Context::streams() {
  std::lock_guard lock(mutex);
  std::vector<std::shared_ptr<Stream>> living;
  for (const std::weak_ptr<Stream> &one : allStreams)
    if (std::shared_ptr<Stream> stream = one.lock())
      living.push_back(std::move(stream));
  return living;
}

CUresult Context::synchronise() {
  for (const std::shared_ptr<Stream> &stream : streams())
    if (std::shared_ptr<Fence> last = stream->last())
      last->waitOnHost();
  return tellFailure();
}

/// Destroys a context: its streams accept no more work, and its handles are no longer valid.
static void destroy(const std::shared_ptr<Context> &context) {
  context->synchronise();
  context->destroyed = true;
  Driver &driver = Driver::get();
  for (const std::shared_ptr<Stream> &stream : context->streams())
    stream->close();
  context->dropLegacy();
  driver.contexts.take(context->handle);
  driver.streams.takeIf([&](const Stream &one) { return one.context == context; });
  releaseContextObjects(*context);
}

static std::shared_ptr<Context> newContext(Device &device, unsigned flags, unsigned version) {
  static std::atomic<uint64_t> nextId = 1;
  auto context = std::make_shared<Context>(device, flags, version);
  context->id = nextId++;
  Driver::get().contexts.add(context);
  return context;
}

static CUresult needContextOf(CUcontext handle, std::shared_ptr<Context> &context) {
  context = Driver::get().contexts.find(handle);
  return context ? CUDA_SUCCESS : fail(CUDA_ERROR_INVALID_CONTEXT, "invalid or destroyed context");
}

/// Finds the context of a handle; the current context if the handle is null.
static CUresult needContextOrCurrent(CUcontext handle, std::shared_ptr<Context> &context) {
  return handle ? needContextOf(handle, context) : needContext(context);
}

/// Like needContextOrCurrent(), but returns a context even if it has failed. Null if there is none.
static std::shared_ptr<Context> findContextOrCurrent(CUcontext handle) {
  return handle ? Driver::get().contexts.find(handle) : currentContext();
}

/// Writes a value that the current context stores to the caller's variable.
template <typename T, typename Stored>
static CUresult giveStored(T *result, std::atomic<Stored> Context::*member) {
  std::shared_ptr<Context> context;
  VGPU_TRY(needContext(context));
  *result = static_cast<T>((context.get()->*member).load());
  return CUDA_SUCCESS;
}
/// Sets a value that the current context stores.
template <typename Stored>
static CUresult store(std::atomic<Stored> Context::*member, Stored value) {
  std::shared_ptr<Context> context;
  VGPU_TRY(needContext(context));
  context.get()->*member = value;
  return CUDA_SUCCESS;
}

/// Calls `use` with a limit of the current context while holding the context's mutex.
template <typename Use> static CUresult withLimit(CUlimit limit, Use use) {
  std::shared_ptr<Context> context;
  VGPU_TRY(needContext(context));
  if (limit < 0 || static_cast<size_t>(limit) >= std::size(context->limits))
    return fail(CUDA_ERROR_UNSUPPORTED_LIMIT, concat("unknown limit ", int(limit)));
  std::lock_guard lock(context->mutex);
  use(context->limits[limit]);
  return CUDA_SUCCESS;
}

static bool areContextFlags(unsigned flags) {
  const unsigned schedule = flags & CU_CTX_SCHED_MASK;
  return (flags & ~unsigned(CU_CTX_FLAGS_MASK)) == 0 && (schedule & (schedule - 1)) == 0;
}

namespace api {

CUresult cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice number) {
  VGPU_NEED(context);
  Device *device = nullptr;
  VGPU_TRY(needDevice(number, device));
  std::lock_guard lock(device->mutex);
  if (!device->primary)
    device->primary = newContext(*device, device->primaryFlags, 3020);
  ++device->primaryUses;
  *context = static_cast<CUcontext>(device->primary->handle);
  return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxRelease(CUdevice number) {
  Device *device = nullptr;
  VGPU_TRY(needDevice(number, device));
  std::shared_ptr<Context> last;
  {
    std::lock_guard lock(device->mutex);
    if (device->primaryUses == 0)
      return fail(CUDA_ERROR_INVALID_CONTEXT, "the primary context is not retained");
    if (--device->primaryUses == 0)
      last = std::move(device->primary);
  }
  if (last)
    destroy(last);
  return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxSetFlags(CUdevice number, unsigned flags) {
  Device *device = nullptr;
  VGPU_TRY(needDevice(number, device));
  VGPU_NEED(areContextFlags(flags));
  std::lock_guard lock(device->mutex);
  device->primaryFlags = flags;
  if (device->primary)
    device->primary->flags = flags;
  return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxGetState(CUdevice number, unsigned *flags, int *active) {
  VGPU_NEED(flags && active);
  Device *device = nullptr;
  VGPU_TRY(needDevice(number, device));
  std::lock_guard lock(device->mutex);
  *flags = device->primaryFlags;
  *active = device->primary != nullptr;
  return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxReset(CUdevice number) {
  Device *device = nullptr;
  VGPU_TRY(needDevice(number, device));
  std::shared_ptr<Context> last;
  {
    std::lock_guard lock(device->mutex);
    last = std::move(device->primary);
    device->primaryUses = 0;
  }
  if (last)
    destroy(last);
  return CUDA_SUCCESS;
}

CUresult cuCtxCreate(CUcontext *context, unsigned flags, CUdevice number) {
  VGPU_NEED(context && areContextFlags(flags));
  Device *device = nullptr;
  VGPU_TRY(needDevice(number, device));
  std::shared_ptr<Context> made = newContext(*device, flags, 3020);
  stack.push_back(made);
  *context = static_cast<CUcontext>(made->handle);
  return CUDA_SUCCESS;
}

CUresult cuCtxCreate(CUcontext *context, CUexecAffinityParam *paramsArray, int numParams,
                     unsigned flags, CUdevice device) {
  if (paramsArray && numParams > 0)
    return fail(CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY, "execution affinity is not supported");
  return cuCtxCreate(context, flags, device);
}

CUresult cuCtxCreate(CUcontext *context, CUctxCreateParams *params, unsigned flags,
                     CUdevice device) {
  if (params && params->cigParams)
    return fail(CUDA_ERROR_NOT_SUPPORTED, "CUDA in Graphics is not supported");
  return params ? cuCtxCreate(context, params->execAffinityParams, params->numExecAffinityParams,
                              flags, device)
                : cuCtxCreate(context, flags, device);
}

CUresult cuCtxDestroy(CUcontext handle) {
  std::shared_ptr<Context> context;
  VGPU_TRY(needContextOf(handle, context));
  {
    std::lock_guard lock(context->device.mutex);
    if (context->device.primary == context)
      return fail(CUDA_ERROR_INVALID_CONTEXT,
                  "primary contexts cannot be destroyed; use cuDevicePrimaryCtxRelease");
  }
  destroy(context);
  if (!stack.empty() && stack.back() == context)
    stack.pop_back();
  return CUDA_SUCCESS;
}

CUresult cuCtxPushCurrent(CUcontext handle) {
  std::shared_ptr<Context> context;
  VGPU_TRY(needContextOf(handle, context));
  stack.push_back(std::move(context));
  return CUDA_SUCCESS;
}

CUresult cuCtxPopCurrent(CUcontext *context) {
  if (stack.empty() || !stack.back())
    return fail(CUDA_ERROR_INVALID_CONTEXT, "no context is current");
  if (context)
    *context = static_cast<CUcontext>(stack.back()->handle);
  stack.pop_back();
  return CUDA_SUCCESS;
}

CUresult cuCtxSetCurrent(CUcontext handle) {
  std::shared_ptr<Context> context;
  if (handle)
    VGPU_TRY(needContextOf(handle, context));
  if (stack.empty()) {
    if (context)
      stack.push_back(std::move(context));
  } else if (context) {
    stack.back() = std::move(context);
  } else {
    stack.pop_back();
  }
  return CUDA_SUCCESS;
}

CUresult cuCtxGetCurrent(CUcontext *context) {
  VGPU_NEED(context);
  std::shared_ptr<Context> current = currentContext();
  *context = current ? static_cast<CUcontext>(current->handle) : nullptr;
  return CUDA_SUCCESS;
}

CUresult cuCtxGetDevice(CUdevice *device) { return cuCtxGetDevice(device, nullptr); }

CUresult cuCtxGetDevice(CUdevice *device, CUcontext handle) {
  VGPU_NEED(device);
  std::shared_ptr<Context> context = findContextOrCurrent(handle);
  if (!context)
    return fail(CUDA_ERROR_INVALID_CONTEXT, "no context is current");
  *device = context->device.ordinal;
  return CUDA_SUCCESS;
}

CUresult cuCtxGetFlags(unsigned *flags) {
  VGPU_NEED(flags);
  return giveStored(flags, &Context::flags);
}

CUresult cuCtxSetFlags(unsigned flags) {
  VGPU_NEED(areContextFlags(flags));
  return store(&Context::flags, flags);
}

CUresult cuCtxGetId(CUcontext handle, unsigned long long *id) {
  VGPU_NEED(id);
  std::shared_ptr<Context> context = findContextOrCurrent(handle);
  if (!context)
    return fail(CUDA_ERROR_CONTEXT_IS_DESTROYED, "invalid or destroyed context");
  *id = context->id;
  return CUDA_SUCCESS;
}

CUresult cuCtxSynchronize() { return cuCtxSynchronize(nullptr); }

CUresult cuCtxSynchronize(CUcontext handle) {
  std::shared_ptr<Context> context;
  VGPU_TRY(needContextOrCurrent(handle, context));
  VGPU_TRY(refuseWhileCapturing(*context));
  return context->synchronise();
}

CUresult cuCtxSetLimit(CUlimit limit, size_t value) {
  return withLimit(limit, [&](size_t &stored) { stored = value; });
}

CUresult cuCtxGetLimit(size_t *value, CUlimit limit) {
  VGPU_NEED(value);
  return withLimit(limit, [&](size_t stored) { *value = stored; });
}

CUresult cuCtxGetCacheConfig(CUfunc_cache *config) {
  VGPU_NEED(config);
  return giveStored(config, &Context::cacheConfig);
}

CUresult cuCtxSetCacheConfig(CUfunc_cache config) {
  VGPU_NEED(config >= CU_FUNC_CACHE_PREFER_NONE && config <= CU_FUNC_CACHE_PREFER_EQUAL);
  return store(&Context::cacheConfig, int(config));
}

CUresult cuCtxGetSharedMemConfig(CUsharedconfig *config) {
  VGPU_NEED(config);
  return giveStored(config, &Context::sharedConfig);
}

CUresult cuCtxSetSharedMemConfig(CUsharedconfig config) {
  VGPU_NEED(config >= 0 && config <= 2);
  return store(&Context::sharedConfig, int(config));
}

CUresult cuCtxGetApiVersion(CUcontext handle, unsigned *version) {
  VGPU_NEED(version);
  std::shared_ptr<Context> context;
  VGPU_TRY(needContextOrCurrent(handle, context));
  *version = context->apiVersion;
  return CUDA_SUCCESS;
}

CUresult cuCtxGetStreamPriorityRange(int *least, int *greatest) {
  std::shared_ptr<Context> context;
  VGPU_TRY(needContext(context));
  if (least)
    *least = leastPriority;
  if (greatest)
    *greatest = greatestPriority;
  return CUDA_SUCCESS;
}

CUresult cuCtxResetPersistingL2Cache() {
  std::shared_ptr<Context> context;
  return needContext(context);
}

CUresult cuCtxEnablePeerAccess(CUcontext peerContext, unsigned flags) {
  VGPU_NEED(flags == 0);
  std::shared_ptr<Context> context, peer;
  VGPU_TRY(needContext(context));
  VGPU_TRY(needContextOf(peerContext, peer));
  if (&peer->device == &context->device)
    return fail(CUDA_ERROR_INVALID_DEVICE, "both contexts belong to the same device");
  std::lock_guard lock(context->mutex);
  return context->peers.insert(peer->handle).second
             ? CUDA_SUCCESS
             : fail(CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED,
                    "access to this peer is already enabled");
}

CUresult cuCtxDisablePeerAccess(CUcontext peerContext) {
  std::shared_ptr<Context> context, peer;
  VGPU_TRY(needContext(context));
  VGPU_TRY(needContextOf(peerContext, peer));
  std::lock_guard lock(context->mutex);
  return context->peers.erase(peer->handle)
             ? CUDA_SUCCESS
             : fail(CUDA_ERROR_PEER_ACCESS_NOT_ENABLED, "access to this peer is not enabled");
}

} // namespace api
} // namespace tilewright::vgpu::driver
