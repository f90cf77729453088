// Every failure a user can meet, by name. The list is Errors.def; this header
// turns it into an enum and three questions.
#ifndef TILEWRIGHT_SUPPORT_ERRORS_H
#define TILEWRIGHT_SUPPORT_ERRORS_H

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace tilewright {

/// PJRT_Error_Code, value for value.
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

/// The name as PJRT and absl print it: "INVALID_ARGUMENT".
std::string_view nameOf(Code code);

enum class Error : uint16_t {
#define TILEWRIGHT_ERROR(number, name, code, summary) name = number,
#include "tilewright/support/Errors.def"
};

Code codeOf(Error error);
/// The id a user reads and searches for: "E1003".
std::string idOf(Error error);
/// One line that says what went wrong in general, as the error's page does.
std::string_view summaryOf(Error error);
/// The part of the system that reports it: "import", "interpret".
std::string_view stageOf(Error error);
std::span<const Error> allErrors();

} // namespace tilewright

#endif // TILEWRIGHT_SUPPORT_ERRORS_H
