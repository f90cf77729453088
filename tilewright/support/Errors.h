// All errors that users can see, by name. Errors.def lists them; this header generates an enum and
// three lookup functions from it.
#ifndef TILEWRIGHT_SUPPORT_ERRORS_H
#define TILEWRIGHT_SUPPORT_ERRORS_H

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace tilewright {

/// The values are those of PJRT_Error_Code.
enum class Code : uint8_t {
  ok = 0,
  cancelled = 1,
  unknown = 2,
  invalidArgument = 3,
  deadlineExceeded = 4,
  notFound = 5,
  alreadyExists = 6,
  permissionDenied = 7,
  resourceExhausted = 8,
  failedPrecondition = 9,
  aborted = 10,
  outOfRange = 11,
  unimplemented = 12,
  internal = 13,
  unavailable = 14,
  dataLoss = 15,
  unauthenticated = 16,
};

/// The name that PJRT and absl print: "INVALID_ARGUMENT".
std::string_view nameOf(Code code);

enum class Error : uint16_t {
#define TILEWRIGHT_ERROR(number, name, code, summary) name = number,
#include "tilewright/support/Errors.def"
};

Code codeOf(Error error);
/// The id a user reads and searches for: "E1003".
std::string idOf(Error error);
/// A one-line summary, as on the error's page.
std::string_view summaryOf(Error error);
/// The component that reports it: "import", "interpret".
std::string_view stageOf(Error error);
std::span<const Error> allErrors();

} // namespace tilewright

#endif // TILEWRIGHT_SUPPORT_ERRORS_H
