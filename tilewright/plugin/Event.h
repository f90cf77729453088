// PJRT_Event: a handle on an Event of the runtime.
#ifndef TILEWRIGHT_PLUGIN_EVENT_H
#define TILEWRIGHT_PLUGIN_EVENT_H

#include "tilewright/runtime/Event.h"

#include <xla/pjrt/c/pjrt_c_api.h>

#include <optional>

struct PJRT_Event {
  tilewright::runtime::Event event;
  /// Set for events that the caller signals itself (Event_Create, Event_Set).
  std::optional<tilewright::runtime::Promise> promise = std::nullopt;
};

#endif // TILEWRIGHT_PLUGIN_EVENT_H
