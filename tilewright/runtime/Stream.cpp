#include "tilewright/runtime/Stream.h"
#include "tilewright/support/Trace.h"

#include <utility>

namespace tilewright::runtime {

thread_local Stream::InlineTask *Stream::innermost = nullptr;

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
  for (const InlineTask *inlineTask = innermost; inlineTask; inlineTask = inlineTask->outer)
    if (inlineTask->stream == this)
      return true;
  return false;
}

Stream::InlineTask::InlineTask(Stream &wanted) {
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

Stream::InlineTask::~InlineTask() {
  if (!stream)
    return;
  innermost = outer;
  if (!isOutermost)
    return;
  std::lock_guard lock(stream->mutex);
  stream->isRunning = false;
  ++stream->ended;
  // Notify under the lock: a waiting thread may destroy the stream right after.
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
  InlineTask inlineTask;
  inlineTask.stream = this;
  innermost = &inlineTask;
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
    task = nullptr; // free what it captured before the next task begins
    lock.lock();
    isRunning = false;
    ++ended;
    finished.notify_all();
  }
  innermost = nullptr;
  inlineTask.stream = nullptr; // the loop above does the accounting of an InlineTask
}

} // namespace tilewright::runtime
