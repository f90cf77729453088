// PJRT_Buffer: a handle on a Buffer of the runtime.
#ifndef TILEWRIGHT_PLUGIN_BUFFER_H
#define TILEWRIGHT_PLUGIN_BUFFER_H

#include "tilewright/plugin/Client.h"
#include "tilewright/runtime/Buffer.h"

#include <xla/pjrt/c/pjrt_c_api.h>

#include <memory>
#include <vector>

struct PJRT_Buffer {
  PJRT_Buffer(PJRT_Client &client, std::unique_ptr<tilewright::runtime::Buffer> buffer)
      : client(client), buffer(std::move(buffer)) {}

  PJRT_Client &client;
  const std::unique_ptr<tilewright::runtime::Buffer> buffer;
};

namespace tilewright::plugin {

/// The memory that the caller chose: `memory`, or the default memory of `device` if `memory` is
/// null.
///  - pluginArguments (E8001): both are null.
Result<runtime::Memory *> memoryFor(PJRT_Memory *memory, PJRT_Device *device, const char *function);

} // namespace tilewright::plugin

#endif // TILEWRIGHT_PLUGIN_BUFFER_H
