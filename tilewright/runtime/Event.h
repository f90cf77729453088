// Event: something that will have happened, once, well or badly.
#ifndef TILEWRIGHT_RUNTIME_EVENT_H
#define TILEWRIGHT_RUNTIME_EVENT_H

#include "tilewright/support/Status.h"

#include <chrono>
#include <functional>
#include <memory>
#include <span>

namespace tilewright::runtime {

/// A handle on something that happens once. Copies refer to the same thing. An
/// event that has already happened well is a null pointer, so results of work
/// that ran at once cost nothing to describe.
///
///   Event done = buffer->definition();
///   done.onReady([](const Status &status) { … });   // at once, or on the completing thread
///   TILEWRIGHT_TRY(done.await());
///
/// Thread-safe.
class Event {
public:
  /// Has happened, well.
  Event() = default;
  /// Has happened, badly; or well if `status` is.
  static Event failed(Status status);

  bool isReady() const;
  /// How it ended; only after isReady().
  Status status() const;
  /// Ready and badly.
  bool isFailed() const;

  /// Blocks until it has happened and says how.
  Status await() const;
  /// The same for at most `patience`; false if it has not happened by then.
  bool awaitFor(std::chrono::nanoseconds patience) const;

  /// Calls `callback` exactly once: now, if it has happened, else on the thread that completes it,
  /// with no lock held. Callbacks must not throw and should be short.
  using Callback = std::function<void(const Status &)>;
  void onReady(Callback callback) const;

  /// Happens when all have; fails as the first failed one in the order given.
  static Event all(std::span<const Event> events);

  bool operator==(const Event &) const = default;

private:
  friend class Promise;
  struct State;
  explicit Event(std::shared_ptr<State> state) : state(std::move(state)) {}
  std::shared_ptr<State> state; // null: has happened, well
};

/// The side of an event that makes it happen. Destroying a promise that was not
/// kept fails its event, so that nobody waits for ever.
class Promise {
public:
  Promise();
  Promise(Promise &&) noexcept = default;
  Promise &operator=(Promise &&) noexcept;
  ~Promise();

  Event event() const { return Event(state); }
  /// Completes the event, once; callbacks run before this returns.
  void complete(Status status = Status());

private:
  std::shared_ptr<Event::State> state;
};

} // namespace tilewright::runtime

#endif // TILEWRIGHT_RUNTIME_EVENT_H
