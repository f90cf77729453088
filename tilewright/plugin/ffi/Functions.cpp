#include "tilewright/plugin/ffi/Functions.h"

#include "tilewright/plugin/ffi/Registry.h"
#include "tilewright/support/Concat.h"

#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <new>
#include <optional>
#include <string_view>
#include <thread>

/// jaxlib's own handlers treat an error from this table as XLA's, which consists only of an
/// absl::Status: they move the status out and free the memory (for example `ctx.stream` of a buffer
/// callback). So the first word has the representation of an absl::Status without a message, and
/// the error is a single block of memory that any caller can free.
struct XLA_FFI_Error {
  uintptr_t abslStatus; // code * 4 + 1: a code without a message
  tilewright::Code code;

  static XLA_FFI_Error *create(tilewright::Code code, std::string_view message) {
    if (code == tilewright::Code::ok)
      code = tilewright::Code::unknown; // an error must not have the code OK
    void *memory = ::operator new(sizeof(XLA_FFI_Error) + message.size() + 1);
    auto *error = new (memory) XLA_FFI_Error{(static_cast<uintptr_t>(code) << 2) + 1, code};
    std::memcpy(error + 1, message.data(), message.size());
    reinterpret_cast<char *>(error + 1)[message.size()] = 0;
    return error;
  }
  static void destroy(XLA_FFI_Error *error) { ::operator delete(static_cast<void *>(error)); }
  const char *message() const { return reinterpret_cast<const char *>(this + 1); }
};

struct XLA_FFI_Future {
  std::mutex mutex;
  std::condition_variable completed;
  bool isDone = false;
  tilewright::Status status;
};

namespace tilewright::plugin::ffi {
namespace {

XLA_FFI_Error *fail(Code code, std::string_view message) {
  return XLA_FFI_Error::create(code, message);
}
XLA_FFI_Error *fail(const Status &status) {
  return status.isOk() ? nullptr : fail(status.code(), status.toString());
}
std::string_view textOf(XLA_FFI_ByteSpan span) { return {span.ptr, span.len}; }

XLA_FFI_Error *createError(XLA_FFI_Error_Create_Args *args) {
  return fail(static_cast<Code>(args->errc), args->message ? args->message : "");
}
void getMessage(XLA_FFI_Error_GetMessage_Args *args) { args->message = args->error->message(); }
void destroyError(XLA_FFI_Error_Destroy_Args *args) { XLA_FFI_Error::destroy(args->error); }

XLA_FFI_Error *registerHandler(XLA_FFI_Handler_Register_Args *args) {
  std::optional<Platform> platform = platformNamed(textOf(args->platform));
  return platform
             ? fail(Registry::global().addHandlers(textOf(args->name), *platform, args->bundle))
             : nullptr; // this plugin has no devices of that platform
}
XLA_FFI_Error *registerType(XLA_FFI_Type_Register_Args *args) {
  return fail(Registry::global().addType(textOf(args->name), args->type_id->type_id,
                                         args->type_info ? args->type_info->deleter : nullptr));
}

XLA_FFI_Error *getStream(XLA_FFI_Stream_Get_Args *args) {
  runtime::DeviceQueue *queue = args->ctx ? args->ctx->queue : nullptr;
  args->stream = queue ? queue->stream() : nullptr;
  return queue ? nullptr
               : fail(Code::unimplemented, "a CPU device has no stream, nor has a handler that is "
                                           "registered for the platform 'cpu'");
}

XLA_FFI_Error *getUserData(XLA_FFI_ExecutionContext_Get_Args *args) {
  args->data = nullptr;
  if (const UserData *userData = args->ctx->userData)
    if (auto found = userData->find(args->type_id->type_id); found != userData->end())
      args->data = found->second;
  return args->data ? nullptr
                    : fail(Code::notFound, concat("the caller passed no user data of type ",
                                                  args->type_id->type_id));
}

XLA_FFI_Error *setState(XLA_FFI_State_Set_Args *args) {
  State &state = args->ctx->states[static_cast<size_t>(args->stage) & 3];
  if (state.object)
    return fail(Code::failedPrecondition, "the stage already has a state");
  state = {args->type_id->type_id, args->state};
  return nullptr;
}

XLA_FFI_Error *getState(XLA_FFI_State_Get_Args *args) {
  const State &state = args->ctx->states[static_cast<size_t>(args->stage) & 3];
  if (!state.object)
    return fail(Code::notFound, "the stage has no state");
  if (state.type != args->type_id->type_id)
    return fail(Code::invalidArgument,
                concat("the state has type ", state.type, ", but the handler requested type ",
                       args->type_id->type_id));
  args->state = state.object;
  return nullptr;
}

XLA_FFI_Error *allocate(XLA_FFI_DeviceMemory_Allocate_Args *args) {
  if (runtime::DeviceQueue *queue = args->ctx ? args->ctx->queue : nullptr) {
    Result<std::byte *> block = queue->allocate(args->size);
    args->data = block.isOk() ? *block : nullptr;
    return block.isOk() ? nullptr : fail(std::move(block).takeStatus());
  }
  size_t alignment = std::max<size_t>(args->alignment, 64);
  size_t size = (args->size + alignment - 1) / alignment * alignment;
  args->data = std::aligned_alloc(alignment, std::max(size, alignment));
  return args->data ? nullptr
                    : fail(Code::resourceExhausted, concat("cannot allocate the ", args->size,
                                                           " bytes that a handler requested"));
}
XLA_FFI_Error *release(XLA_FFI_DeviceMemory_Free_Args *args) {
  // Device memory stays until the run has ended: work that uses it may only be queued.
  if (!args->ctx || !args->ctx->queue)
    std::free(args->data);
  return nullptr;
}

// Starts a new thread: a handler that schedules a task and waits for it needs a thread other than
// its own, which ThreadPool cannot guarantee because it only runs loops.
XLA_FFI_Error *schedule(XLA_FFI_ThreadPool_Schedule_Args *args) {
  std::thread([task = args->task, data = args->data] { task(data); }).detach();
  return nullptr;
}
XLA_FFI_Error *countThreads(XLA_FFI_ThreadPool_NumThreads_Args *args) {
  *args->num_threads = args->ctx->pool ? args->ctx->pool->threadCount() : 1;
  return nullptr;
}

XLA_FFI_Error *createFuture(XLA_FFI_Future_Create_Args *args) {
  args->future = new XLA_FFI_Future;
  return nullptr;
}
void complete(XLA_FFI_Future &future, Status status) {
  std::lock_guard lock(future.mutex);
  future.status = std::move(status);
  future.isDone = true;
  future.completed.notify_all();
}
XLA_FFI_Error *setAvailable(XLA_FFI_Future_SetAvailable_Args *args) {
  complete(*args->future, Status());
  return nullptr;
}
XLA_FFI_Error *setFutureError(XLA_FFI_Future_SetError_Args *args) {
  complete(*args->future, takeError(args->error));
  return nullptr;
}

XLA_FFI_Error *getRunId(XLA_FFI_RunId_Get_Args *args) {
  args->run_id = args->ctx->runId;
  return nullptr;
}
XLA_FFI_Error *getDeviceOrdinal(XLA_FFI_DeviceOrdinal_Get_Args *args) {
  args->device_ordinal = args->ctx->deviceOrdinal;
  return nullptr;
}

} // namespace

const XLA_FFI_Api &functions() {
  static const XLA_FFI_Api api = {
      XLA_FFI_Api_STRUCT_SIZE,
      nullptr,
      {XLA_FFI_Api_Version_STRUCT_SIZE, nullptr, XLA_FFI_API_MAJOR, XLA_FFI_API_MINOR},
      nullptr, // only XLA's own handlers use this, and they are never called here
      createError,
      getMessage,
      destroyError,
      registerHandler,
      getStream,
      registerType,
      getUserData,
      setState,
      getState,
      allocate,
      release,
      schedule,
      countThreads,
      createFuture,
      setAvailable,
      setFutureError,
      getRunId,
      getDeviceOrdinal,
  };
  return api;
}

Status takeError(XLA_FFI_Error *error) {
  if (!error)
    return Status();
  Status status(error->code, error->message());
  XLA_FFI_Error::destroy(error);
  return status;
}

Status takeFuture(XLA_FFI_Future *future) {
  if (!future)
    return Status();
  Status status;
  {
    std::unique_lock lock(future->mutex);
    future->completed.wait(lock, [&] { return future->isDone; });
    status = std::move(future->status);
  }
  delete future;
  return status;
}

} // namespace tilewright::plugin::ffi
