#include "tilewright/plugin/Event.h"

#include "tilewright/plugin/Api.h"
#include "tilewright/plugin/Fork.h"
#include "tilewright/plugin/Getters.h"

namespace tilewright::plugin {

TILEWRIGHT_PJRT_DESTROY(Event_Destroy, event)

PJRT_Error *Event_IsReady(PJRT_Event_IsReady_Args *args) {
  TILEWRIGHT_PJRT_HANDLE(args, event);
  give(args, &PJRT_Event_IsReady_Args::is_ready, args->event->event.isReady());
  return nullptr;
}

PJRT_Error *Event_Error(PJRT_Event_Error_Args *args) {
  TILEWRIGHT_PJRT_HANDLE(args, event);
  const runtime::Event &event = args->event->event;
  if (!event.isReady())
    return toError(Status(Code::failedPrecondition, "the event is not ready yet"));
  return toError(event.status());
}

PJRT_Error *Event_Await(PJRT_Event_Await_Args *args) {
  TILEWRIGHT_PJRT_HANDLE(args, event);
  if (!args->event->event.isReady())
    TILEWRIGHT_PJRT_TRY(checkNotForked());
  return toError(args->event->event.await());
}

PJRT_Error *Event_OnReady(PJRT_Event_OnReady_Args *args) {
  TILEWRIGHT_PJRT_HANDLE(args, event);
  TILEWRIGHT_PJRT_HANDLE(args, callback);
  if (!args->event->event.isReady())
    TILEWRIGHT_PJRT_TRY(checkNotForked());
  PJRT_Event_OnReadyCallback callback = args->callback;
  void *userArg = take(args, &PJRT_Event_OnReady_Args::user_arg);
  // A copy, because the callback may destroy the PJRT_Event.
  runtime::Event event = args->event->event;
  event.onReady(
      [callback, userArg](const Status &status) { callback(toError(copyOf(status)), userArg); });
  return nullptr;
}

PJRT_Error *Event_Create(PJRT_Event_Create_Args *args) {
  TILEWRIGHT_PJRT_ARGS(args, event);
  runtime::Promise promise;
  runtime::Event event = promise.event();
  args->event = new PJRT_Event{std::move(event), std::move(promise)};
  return nullptr;
}

PJRT_Error *Event_Set(PJRT_Event_Set_Args *args) {
  TILEWRIGHT_PJRT_ARGS(args, error_code);
  TILEWRIGHT_PJRT_HANDLE(args, event);
  if (!args->event->promise || args->event->event.isReady())
    return toError(Status(Code::failedPrecondition,
                          "only an event created by PJRT_Event_Create can be set, and only once"));
  args->event->promise->complete(toStatus(args->error_code,
                                          take(args, &PJRT_Event_Set_Args::error_message),
                                          take(args, &PJRT_Event_Set_Args::error_message_size)));
  return nullptr;
}

} // namespace tilewright::plugin
