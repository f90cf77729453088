// Status and Result<T>: how everything outside MLIR passes reports failure.
// Codes mirror the PJRT C API one to one, so the plugin needs no table.
#ifndef TILEWRIGHT_SUPPORT_STATUS_H
#define TILEWRIGHT_SUPPORT_STATUS_H

#include "tilewright/support/Errors.h"

#include <cassert>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

namespace tilewright {

/// Success, or a code with a message that says what to do next. One pointer
/// wide; success allocates nothing.
///
///   if (bytes > limit)
///     return Status(Error::artifactTooLarge,
///                   concat("artifact has ", bytes, " bytes, limit ", limit, "; raise
///                   import.max-bytes"));
class [[nodiscard]] Status {
public:
  Status() = default;

  /// A failure that users meet: it has an id, a page in docs/errors and a test.
  Status(Error error, std::string message)
      : failure(std::make_unique<Failure>(codeOf(error), error, std::move(message))) {}

  /// A failure without a page of its own, for callers that are code.
  Status(Code code, std::string message)
      : failure(std::make_unique<Failure>(code, std::nullopt, std::move(message))) {
    assert(code != Code::ok && "success carries no message");
  }

  bool isOk() const { return !failure; }
  Code code() const { return failure ? failure->code : Code::ok; }
  std::optional<Error> error() const { return failure ? failure->error : std::nullopt; }
  const std::string &message() const {
    static const std::string empty;
    return failure ? failure->message : empty;
  }

  /// What a person reads: "E1003 import: <message>" and where the page is.
  std::string toString() const;

  /// Says what the caller was doing: "while loading x: <message>".
  Status during(std::string_view activity) && {
    if (failure)
      failure->message = "while " + std::string(activity) + ": " + failure->message;
    return std::move(*this);
  }

private:
  struct Failure {
    Failure(Code code, std::optional<Error> error, std::string message)
        : code(code), error(error), message(std::move(message)) {}
    Code code;
    std::optional<Error> error;
    std::string message;
  };
  std::unique_ptr<Failure> failure;
};

/// A Status has one owner; this makes another one of the same content.
inline Status copyOf(const Status &status) {
  if (status.isOk())
    return Status();
  return status.error() ? Status(*status.error(), status.message())
                        : Status(status.code(), status.message());
}

/// A T, or the Status that explains its absence.
template <typename T> class [[nodiscard]] Result {
public:
  Result(T value) : state(std::in_place_index<0>, std::move(value)) {}
  Result(Status status) : state(std::in_place_index<1>, std::move(status)) {
    assert(!std::get<1>(state).isOk() && "a Result needs a value or a failure");
  }

  bool isOk() const { return state.index() == 0; }
  Status takeStatus() && { return isOk() ? Status() : std::move(std::get<1>(state)); }
  T &operator*() & { return value(); }
  const T &operator*() const & { return const_cast<Result *>(this)->value(); }
  T &&operator*() && { return std::move(value()); }
  T *operator->() { return &value(); }
  const T *operator->() const { return &const_cast<Result *>(this)->value(); }

private:
  T &value() {
    assert(isOk() && "a failed Result has no value; look at isOk() first");
    return *std::get_if<0>(&state);
  }
  std::variant<T, Status> state;
};

} // namespace tilewright

/// Leaves the enclosing function with the failure, if there is one.
#define TILEWRIGHT_TRY(expr)                                                                       \
  do {                                                                                             \
    if (::tilewright::Status tilewrightStatus = (expr); !tilewrightStatus.isOk())                  \
      return tilewrightStatus;                                                                     \
  } while (false)

/// Declares `var` from a Result, or leaves the enclosing function with its
/// failure: TILEWRIGHT_ASSIGN(Shape shape, Shape::create(dims));
#define TILEWRIGHT_ASSIGN(var, expr)                                                               \
  TILEWRIGHT_ASSIGN_IMPL(TILEWRIGHT_JOIN(tilewrightResult, __LINE__), var, expr)
#define TILEWRIGHT_ASSIGN_IMPL(result, var, expr)                                                  \
  auto result = (expr);                                                                            \
  if (!result.isOk())                                                                              \
    return std::move(result).takeStatus();                                                         \
  var = *std::move(result)
#define TILEWRIGHT_JOIN(a, b) TILEWRIGHT_JOIN_IMPL(a, b)
#define TILEWRIGHT_JOIN_IMPL(a, b) a##b

#endif // TILEWRIGHT_SUPPORT_STATUS_H
