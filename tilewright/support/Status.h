// Status and Result<T>: how all code outside MLIR passes reports failure. Codes mirror the PJRT C
// API one to one, so the plugin needs no table.
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

/// Success, or a code with a message that tells the user what to do. The size of a pointer; success
/// does not allocate.
///
///   if (bytes > limit)
///     return Status(Error::artifactTooLarge,
///                   concat("artifact has ", bytes, " bytes, limit ", limit,
///                          "; raise import.max-bytes"));
class [[nodiscard]] Status {
public:
  Status() = default;

  /// A failure that users can see: it has an id, a page in docs/errors and a test.
  Status(Error error, std::string message)
      : failure(std::make_unique<Failure>(codeOf(error), error, std::move(message))) {}

  /// A failure without an error page, for callers that handle it in code.
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

  /// The text for the user: "E1003 import: <message>" and the address of the error's page.
  std::string toString() const;

  /// Prepends what the caller was doing: "while loading x: <message>".
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

/// A Status is move-only; this makes an explicit copy.
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

/// Returns the failure from the enclosing function, if there is one.
#define TILEWRIGHT_TRY(expr)                                                                       \
  do {                                                                                             \
    if (::tilewright::Status tilewrightStatus = (expr); !tilewrightStatus.isOk())                  \
      return tilewrightStatus;                                                                     \
  } while (false)

/// Declares `var` from a Result, or returns its failure from the enclosing function:
/// TILEWRIGHT_ASSIGN(Shape shape, Shape::create(dims));
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
