// PJRT_Error: a Status that crosses the C boundary.
#ifndef TILEWRIGHT_PLUGIN_ERROR_H
#define TILEWRIGHT_PLUGIN_ERROR_H

#include "tilewright/support/Status.h"

#include <xla/pjrt/c/pjrt_c_api.h>

namespace tilewright::plugin {

/// What a function of the C API returns: null for success, else an error that the caller destroys.
/// Its message is Status::toString(), so a JAX user reads our code, the line and what to do.
PJRT_Error *toError(Status status);

/// A Status from the pieces that the C API passes errors in. Success for PJRT_Error_Code_OK.
Status toStatus(PJRT_Error_Code code, const char *message, size_t size);

/// - pluginArguments (E8001)
Status nullHandle(const char *function, const char *field);
Status unimplemented(const char *function);

} // namespace tilewright::plugin

#endif // TILEWRIGHT_PLUGIN_ERROR_H
