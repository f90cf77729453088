// The functions of the XLA FFI that handlers call.
#ifndef TILEWRIGHT_PLUGIN_FFI_FUNCTIONS_H
#define TILEWRIGHT_PLUGIN_FFI_FUNCTIONS_H

#include "tilewright/plugin/ffi/UserData.h"
#include "tilewright/runtime/CustomCall.h"
#include "tilewright/support/Status.h"
#include "tilewright/support/ThreadPool.h"

#include <xla/ffi/api/c_api.h>

#include <array>
#include <cstdint>

namespace tilewright::plugin::ffi {

/// An object that a handler keeps between stages.
struct State {
  int64_t type = 0;
  void *object = nullptr;
};

} // namespace tilewright::plugin::ffi

/// The run for which a handler is called; lives on the caller's stack.
struct XLA_FFI_ExecutionContext {
  const tilewright::plugin::ffi::UserData *userData = nullptr;
  std::array<tilewright::plugin::ffi::State, 4> states; // by the stage that set it
  tilewright::ThreadPool *pool = nullptr;
  int64_t runId = 0;
  int32_t deviceOrdinal = 0;
  tilewright::runtime::DeviceQueue *queue = nullptr; // null for a handler that works on the host
};

namespace tilewright::plugin::ffi {

/// The table that is passed to handlers with each call.
const XLA_FFI_Api &functions();

/// Converts the error that a handler returned to a Status and frees it; null is success.
Status takeError(XLA_FFI_Error *error);

/// Waits for asynchronous work that a handler started, and frees the future. Null is success.
Status takeFuture(XLA_FFI_Future *future);

} // namespace tilewright::plugin::ffi

#endif // TILEWRIGHT_PLUGIN_FFI_FUNCTIONS_H
