// The functions of the XLA FFI that handlers call back.
#ifndef TILEWRIGHT_PLUGIN_FFI_FUNCTIONS_H
#define TILEWRIGHT_PLUGIN_FFI_FUNCTIONS_H

#include "tilewright/plugin/ffi/UserData.h"
#include "tilewright/support/Status.h"
#include "tilewright/support/ThreadPool.h"

#include <xla/ffi/api/c_api.h>

#include <array>
#include <cstdint>

namespace tilewright::plugin::ffi {

/// What a handler kept between stages.
struct State {
  int64_t type = 0;
  void *object = nullptr;
};

} // namespace tilewright::plugin::ffi

/// The run that a handler is called for; lives on the stack of the call.
struct XLA_FFI_ExecutionContext {
  const tilewright::plugin::ffi::UserData *userData = nullptr;
  std::array<tilewright::plugin::ffi::State, 4> states; // by the stage that set it
  tilewright::ThreadPool *pool = nullptr;
  int64_t runId = 0;
  int32_t deviceOrdinal = 0;
};

namespace tilewright::plugin::ffi {

/// The table that handlers get with each call.
const XLA_FFI_Api &functions();

/// Frees what a handler returned and says what it was; null is success.
Status takeError(XLA_FFI_Error *error);

/// Waits for the end of what a handler left running, and frees it. Null is success.
Status takeFuture(XLA_FFI_Future *future);

} // namespace tilewright::plugin::ffi

#endif // TILEWRIGHT_PLUGIN_FFI_FUNCTIONS_H
