// Event: a handle on work that completes once, with success or failure.
#ifndef TILEWRIGHT_RUNTIME_EVENT_H
#define TILEWRIGHT_RUNTIME_EVENT_H

#include "tilewright/support/Status.h"

#include <chrono>
#include <functional>
#include <memory>
#include <span>

namespace tilewright::runtime {

/// A handle on something that completes once (a shared future). Copies refer to the same state. An
/// event that has already succeeded is a null pointer, so the event of work that ran synchronously
/// costs nothing.
///
///   Event done = buffer->definition();
///   done.onReady([](const Status &status) { … });   // at once, or on the completing thread
///   TILEWRIGHT_TRY(done.await());
///
/// Thread-safe.
class Event {
public:
  /// An event that has already succeeded.
  Event() = default;
  /// An event that has already completed with the failure `status`.
  static Event failed(Status status);

  bool isReady() const;
  /// The outcome; only after isReady().
  Status status() const;
  /// Whether it is ready and failed.
  bool isFailed() const;

  /// Blocks until it is complete and returns the outcome.
  Status await() const;
  /// Like await(), but waits at most for `timeout`; false if the event has not completed by then.
  bool awaitFor(std::chrono::nanoseconds timeout) const;

  /// Calls `callback` exactly once: immediately if the event is complete, otherwise on the thread
  /// that completes it, with no lock held. Callbacks must not throw and should be short.
  using Callback = std::function<void(const Status &)>;
  void onReady(Callback callback) const;

  /// Completes when all have; fails with the first failure in the order given.
  static Event all(std::span<const Event> events);

  bool operator==(const Event &) const = default;

private:
  friend class Promise;
  struct State;
  explicit Event(std::shared_ptr<State> state) : state(std::move(state)) {}
  std::shared_ptr<State> state; // null: already succeeded
};

/// The producer's side of an event. Destroying a promise that was not completed fails its event, so
/// that no thread waits forever.
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
