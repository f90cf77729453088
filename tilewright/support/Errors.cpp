#include "tilewright/support/Errors.h"

#include "tilewright/support/Concat.h"
#include "tilewright/support/Status.h"

namespace tilewright {
namespace {

struct ErrorRow {
  Error error;
  Code code;
  std::string_view summary;
};

constexpr ErrorRow rows[] = {
#define TILEWRIGHT_ERROR(number, name, code, summary) {Error::name, Code::code, summary},
#include "tilewright/support/Errors.def"
};

constexpr Error errors[] = {
#define TILEWRIGHT_ERROR(number, name, code, summary) Error::name,
#include "tilewright/support/Errors.def"
};

constexpr std::string_view stages[] = {"tools",   "import",     "transform", "interpret", "target",
                                       "runtime", "collective", "vgpu",      "plugin"};

const ErrorRow &rowOf(Error error) {
  for (const ErrorRow &row : rows)
    if (row.error == error)
      return row;
  assert(false && "every Error is a row of Errors.def");
  return rows[0];
}

} // namespace

std::string_view nameOf(Code code) {
  constexpr std::string_view names[] = {"OK",
                                        "CANCELLED",
                                        "UNKNOWN",
                                        "INVALID_ARGUMENT",
                                        "DEADLINE_EXCEEDED",
                                        "NOT_FOUND",
                                        "ALREADY_EXISTS",
                                        "PERMISSION_DENIED",
                                        "RESOURCE_EXHAUSTED",
                                        "FAILED_PRECONDITION",
                                        "ABORTED",
                                        "OUT_OF_RANGE",
                                        "UNIMPLEMENTED",
                                        "INTERNAL",
                                        "UNAVAILABLE",
                                        "DATA_LOSS",
                                        "UNAUTHENTICATED"};
  return names[static_cast<size_t>(code)];
}

Code codeOf(Error error) { return rowOf(error).code; }
std::string_view summaryOf(Error error) { return rowOf(error).summary; }
std::string_view stageOf(Error error) { return stages[static_cast<size_t>(error) / 1000]; }
std::span<const Error> allErrors() { return errors; }

std::string idOf(Error error) {
  std::string digits = std::to_string(static_cast<unsigned>(error));
  return "E" + std::string(4 - digits.size(), '0') + digits;
}

std::string Status::toString() const {
  if (isOk())
    return "OK";
  if (!failure->error)
    return concat(nameOf(failure->code), ": ", failure->message);
  std::string id = idOf(*failure->error);
  return concat(id, " ", stageOf(*failure->error), ": ", failure->message,
                "\n  more: tilewright explain ", id);
}

} // namespace tilewright
