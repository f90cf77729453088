// PJRT_Error: a Status that crosses the C boundary.
#ifndef TILEWRIGHT_PLUGIN_ERROR_H
#define TILEWRIGHT_PLUGIN_ERROR_H

#include "tilewright/support/Status.h"

#include <xla/pjrt/c/pjrt_c_api.h>

namespace tilewright::plugin {

/// Converts a Status to the return value of a C API function: null for success, otherwise an error
/// that the caller destroys. Its message is Status::toString(), so a JAX user reads our error id,
/// the source line and what to do.
PJRT_Error *toError(Status status);

/// Converts an error of the C API to a Status; PJRT_Error_Code_OK becomes success.
Status toStatus(PJRT_Error_Code code, const char *message, size_t size);

/// - pluginArguments (E8001)
Status nullHandle(const char *function, const char *field);
Status unimplemented(const char *function);

} // namespace tilewright::plugin

#endif // TILEWRIGHT_PLUGIN_ERROR_H
