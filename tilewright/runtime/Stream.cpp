#include "tilewright/runtime/Stream.h"
#include "tilewright/support/Trace.h"

#include <utility>

namespace tilewright::runtime {

thread_local Stream::Turn *Stream::innermost = nullptr;

Stream::Stream(std::string name, size_t capacity) : name(std::move(name)), capacity(capacity) {}

Stream::~Stream() {
  std::unique_lock lock(mutex);
  finished.wait(lock, [&] { return tasks.empty() && !isRunning; });
  stopping = true;
  lock.unlock();
  arrived.notify_all();
  if (thread.joinable())
    thread.join();
}

bool Stream::isInsideAny() { return innermost; }

bool Stream::isInside() const {
  for (const Turn *turn = innermost; turn; turn = turn->outer)
    if (turn->stream == this)
      return true;
  return false;
}

Stream::Turn::Turn(Stream &wanted) {
  if (!wanted.isInside()) {
    std::lock_guard lock(wanted.mutex);
    if (wanted.isRunning || !wanted.tasks.empty())
      return;
    wanted.isRunning = isOutermost = true;
    ++wanted.begun;
  }
  stream = &wanted;
  outer = std::exchange(innermost, this);
}

Stream::Turn::~Turn() {
  if (!stream)
    return;
  innermost = outer;
  if (!isOutermost)
    return;
  std::lock_guard lock(stream->mutex);
  stream->isRunning = false;
  ++stream->ended;
  // Notified under the lock: whoever waits may destroy the stream right after.
  if (!stream->tasks.empty())
    stream->arrived.notify_one();
  stream->finished.notify_all();
}

void Stream::enqueue(Task task) {
  if (isInside())
    return task();
  {
    std::lock_guard lock(mutex);
    tasks.push_back(std::move(task));
    ++begun;
    if (!thread.joinable())
      thread = std::thread([this] { work(); });
  }
  arrived.notify_one();
}

void Stream::awaitRoom() {
  if (innermost)
    return;
  std::unique_lock lock(mutex);
  finished.wait(lock, [&] { return tasks.size() < capacity; });
}

void Stream::drain() {
  if (innermost)
    return;
  std::unique_lock lock(mutex);
  uint64_t until = begun;
  finished.wait(lock, [&] { return ended >= until; });
}

bool Stream::isIdle() const {
  std::lock_guard lock(mutex);
  return !isRunning && tasks.empty();
}

void Stream::work() {
  trace::nameThread(name);
  Turn turn;
  turn.stream = this;
  innermost = &turn;
  std::unique_lock lock(mutex);
  for (;;) {
    arrived.wait(lock, [&] { return stopping || (!tasks.empty() && !isRunning); });
    if (tasks.empty())
      break;
    isRunning = true;
    Task task = std::move(tasks.front());
    tasks.pop_front();
    lock.unlock();
    task();
    task = nullptr; // what it holds is freed before the next begins
    lock.lock();
    isRunning = false;
    ++ended;
    finished.notify_all();
  }
  innermost = nullptr;
  turn.stream = nullptr; // never had a turn to give back
}

} // namespace tilewright::runtime
