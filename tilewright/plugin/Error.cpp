#include "tilewright/plugin/Error.h"

#include "tilewright/plugin/Api.h"
#include "tilewright/support/Concat.h"

#include <string>

namespace tilewright::plugin {
namespace {

/// Since PJRT 0.107 callers may use the function table at the start of an error instead of the
/// functions in PJRT_Api. Both call the functions here.
struct PluginError : PJRT_Error {
  explicit PluginError(const Status &status);
  Code code;
  std::string text;
};

const PluginError &of(const PJRT_Error *error) { return *static_cast<const PluginError *>(error); }

PJRT_Error_Code codeOfError(const PJRT_Error *error) {
  return static_cast<PJRT_Error_Code>(of(error).code);
}

const PJRT_Error_FunctionTable functions = {
    .struct_size = PJRT_Error_FunctionTable_STRUCT_SIZE,
    .instance_size = PJRT_Error_STRUCT_SIZE,
    .extension_start = nullptr,
    .destroy = [](PJRT_Error *error) { delete static_cast<PluginError *>(error); },
    .message =
        [](const PJRT_Error *error, const char **message, size_t *size) {
          *message = of(error).text.data();
          *size = of(error).text.size();
        },
    .get_code = codeOfError,
    .for_each_payload = [](const PJRT_Error *, PJRT_Error_PayloadVisitor, void *) {},
};

PluginError::PluginError(const Status &status)
    : PJRT_Error{&functions}, code(status.code()),
      // For an error without an id use only the message, because PJRT already passes the code.
      text(status.error() ? status.toString() : status.message()) {}

} // namespace

PJRT_Error *toError(Status status) { return status.isOk() ? nullptr : new PluginError(status); }

Status toStatus(PJRT_Error_Code code, const char *message, size_t size) {
  if (code == PJRT_Error_Code_OK)
    return Status();
  bool isKnown = code > 0 && code <= PJRT_Error_Code_UNAUTHENTICATED;
  return Status(isKnown ? static_cast<Code>(code) : Code::unknown,
                std::string(message ? message : "", message ? size : 0));
}

Status nullHandle(const char *function, const char *field) {
  return Status(Error::pluginArguments,
                concat("PJRT_", function, " requires '", field, "', which is null"));
}

Status unimplemented(const char *function) {
  return Status(Code::unimplemented, concat("Tilewright does not implement PJRT_", function));
}

void Error_Destroy(PJRT_Error_Destroy_Args *args) {
  if (args && args->error)
    functions.destroy(args->error);
}

void Error_Message(PJRT_Error_Message_Args *args) {
  functions.message(args->error, &args->message, &args->message_size);
}

PJRT_Error *Error_GetCode(PJRT_Error_GetCode_Args *args) {
  TILEWRIGHT_PJRT_HANDLE(args, error);
  give(args, &PJRT_Error_GetCode_Args::code, codeOfError(args->error));
  return nullptr;
}

// There are no payloads, but this function must succeed: if it failed, jaxlib would ask for the
// payloads of that error, and recurse without end.
PJRT_Error *Error_ForEachPayload(PJRT_Error_ForEachPayload_Args *) { return nullptr; }

Status checkStruct(const void *args, size_t size, size_t needed, const char *function) {
  if (!args)
    return Status(Error::pluginArguments,
                  concat("PJRT_", function, " was called without arguments"));
  if (size < needed)
    return Status(Error::pluginArguments,
                  concat("PJRT_", function, " requires ", needed, " bytes of arguments, got ", size,
                         "; the caller was built against a version of the PJRT C API that is too "
                         "old: update it"));
  return Status();
}

} // namespace tilewright::plugin
