#include "tilewright/vgpu/driver/observe/Order.h"

#include <mutex>

namespace tilewright::vgpu::driver {

using machine::StreamClock;

namespace {
/// A clock that many threads read and few threads change.
class SharedClocks {
public:
  SharedClock get() {
    std::lock_guard lock(mutex);
    return clock;
  }
  void learn(const SharedClock &other) {
    if (!other)
      return;
    std::lock_guard lock(mutex);
    auto joined = clock ? std::make_shared<StreamClock>(*clock) : std::make_shared<StreamClock>();
    machine::join(*joined, *other);
    clock = std::move(joined);
  }

private:
  std::mutex mutex;
  SharedClock clock; // guarded by mutex
};
} // namespace

// Both outlive main(), because the streams do.
static SharedClocks &host() {
  static auto &only = *new SharedClocks();
  return only;
}
static SharedClocks &done() {
  static auto &only = *new SharedClocks();
  return only;
}

static thread_local CurrentWork *current = nullptr;

SharedClock hostClock() { return host().get(); }
void hostLearns(const SharedClock &clock) { host().learn(clock); }
void noteDone(const SharedClock &clock) { done().learn(clock); }

void learnAllDone() {
  if (const SharedClock all = done().get(); all && current)
    machine::join(current->before, *all);
}

namespace {
/// The clock that work published under a key, and the number of pieces of work that will still
/// learn it.
struct Meeting {
  StreamClock clock;
  unsigned learners = 0;
};
struct Meetings {
  std::mutex mutex;
  std::map<uint64_t, Meeting> byKey; // guarded by mutex
};
} // namespace

static Meetings &meetings() {
  static auto &only = *new Meetings();
  return only;
}

void publish(uint64_t key, unsigned learners) {
  if (!current)
    return;
  std::lock_guard lock(meetings().mutex);
  auto [meeting, isNew] = meetings().byKey.try_emplace(key);
  if (isNew)
    meeting->second.learners = learners;
  machine::join(meeting->second.clock, *current->after());
}

void learn(uint64_t key) {
  if (!current)
    return;
  std::lock_guard lock(meetings().mutex);
  auto meeting = meetings().byKey.find(key);
  if (meeting == meetings().byKey.end())
    return;
  machine::join(current->before, meeting->second.clock);
  // Work is not ordered after itself.
  current->before.erase(current->stream);
  if (--meeting->second.learners == 0)
    meetings().byKey.erase(meeting);
}

CurrentWork::CurrentWork(uint64_t stream, uint64_t number, StreamClock before)
    : before(std::move(before)), stream(stream), number(number), outer(current) {
  current = this;
}
CurrentWork::~CurrentWork() { current = outer; }

SharedClock CurrentWork::after() const {
  auto clock = std::make_shared<StreamClock>(before);
  (*clock)[stream] = number;
  return clock;
}

CurrentWork *currentWork() { return current; }

std::shared_ptr<const machine::HostOrder> currentOrder(std::shared_ptr<const void> owner) {
  if (!current)
    return nullptr;
  return std::make_shared<machine::HostOrder>(
      machine::HostOrder{current->stream, current->number, current->before, std::move(owner)});
}

} // namespace tilewright::vgpu::driver
