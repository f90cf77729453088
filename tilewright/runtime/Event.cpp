#include "tilewright/runtime/Event.h"

#include <atomic>
#include <cassert>
#include <condition_variable>
#include <mutex>
#include <vector>

namespace tilewright::runtime {

struct Event::State {
  std::atomic<bool> isDone = false;
  Status status; // written before isDone, never after
  std::mutex mutex;
  std::condition_variable done;
  std::vector<Callback> callbacks; // guarded by mutex
};

Event Event::failed(Status status) {
  if (status.isOk())
    return Event();
  auto state = std::make_shared<State>();
  state->status = std::move(status);
  state->isDone.store(true, std::memory_order_release);
  return Event(std::move(state));
}

bool Event::isReady() const { return !state || state->isDone.load(std::memory_order_acquire); }

Status Event::status() const {
  assert(isReady() && "an event has no status before it has happened");
  return state ? copyOf(state->status) : Status();
}

bool Event::isFailed() const { return state && isReady() && !state->status.isOk(); }

/// The number of spins before sleeping: waits of some 10 µs (a short program on another thread) are
/// common, and spinning is cheaper than sleeping and waking.
static constexpr int looksBeforeSleep = 100;

static void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

Status Event::await() const {
  for (int look = 0; look < looksBeforeSleep && !isReady(); ++look)
    relax();
  if (!isReady()) {
    std::unique_lock lock(state->mutex);
    state->done.wait(lock, [&] { return state->isDone.load(std::memory_order_acquire); });
  }
  return status();
}

bool Event::awaitFor(std::chrono::nanoseconds timeout) const {
  if (isReady())
    return true;
  std::unique_lock lock(state->mutex);
  return state->done.wait_for(lock, timeout,
                              [&] { return state->isDone.load(std::memory_order_acquire); });
}

void Event::onReady(Callback callback) const {
  static const Status fine;
  if (!state)
    return callback(fine);
  if (!isReady()) {
    std::lock_guard lock(state->mutex);
    // Check again under the lock: complete() takes the callbacks under it.
    if (!state->isDone.load(std::memory_order_relaxed)) {
      state->callbacks.push_back(std::move(callback));
      return;
    }
  }
  callback(state->status);
}

Event Event::all(std::span<const Event> events) {
  std::vector<Event> pending;
  for (const Event &event : events)
    if (!event.isReady())
      pending.push_back(event);
  if (pending.empty()) {
    for (const Event &event : events)
      if (event.isFailed())
        return event;
    return Event();
  }
  if (events.size() == 1)
    return events.front();
  struct Joined {
    Promise promise;
    std::vector<Event> events;
    std::atomic<size_t> missing;
  };
  auto joined = std::make_shared<Joined>();
  joined->events.assign(events.begin(), events.end());
  joined->missing = pending.size();
  Event result = joined->promise.event();
  for (const Event &event : pending)
    event.onReady([joined](const Status &) {
      if (joined->missing.fetch_sub(1, std::memory_order_acq_rel) != 1)
        return;
      Status status;
      for (const Event &one : joined->events)
        if (one.isFailed()) {
          status = one.status();
          break;
        }
      // The events refer to this object through their callbacks; clear them to break the cycle.
      joined->events.clear();
      joined->promise.complete(std::move(status));
    });
  return result;
}

Promise::Promise() : state(std::make_shared<Event::State>()) {}

Promise::~Promise() {
  if (state && !state->isDone.load(std::memory_order_relaxed))
    complete(
        Status(Code::cancelled, "the promise of this event was destroyed before it was completed"));
}

Promise &Promise::operator=(Promise &&other) noexcept {
  std::swap(state, other.state);
  return *this;
}

void Promise::complete(Status status) {
  assert(state && !state->isDone.load(std::memory_order_relaxed) && "an event happens once");
  std::vector<Event::Callback> callbacks;
  const std::shared_ptr<Event::State> kept = state; // a callback may destroy this promise
  {
    std::lock_guard lock(kept->mutex);
    kept->status = std::move(status);
    callbacks.swap(kept->callbacks);
    kept->isDone.store(true, std::memory_order_release);
  }
  kept->done.notify_all();
  for (Event::Callback &callback : callbacks)
    callback(kept->status);
}

} // namespace tilewright::runtime
