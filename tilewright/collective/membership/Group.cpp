#include "tilewright/collective/membership/Group.h"
#include "tilewright/collective/hosts/HostsEngine.h"
#include "tilewright/collective/membership/Machine.h"
#include "tilewright/collective/membership/Meeting.h"
#include "tilewright/collective/membership/Notes.h"
#include "tilewright/support/Concat.h"
#include "tilewright/support/Trace.h"

#include <algorithm>
#include <list>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

namespace tilewright::collective::membership {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

/// The thread has the machine and the connections; the callers have what is published, and leave
/// orders.
class Group::Body final : private Effects {
public:
  Body(const Offer &offer, std::unique_ptr<Door> door,
       std::vector<std::unique_ptr<Connection>> connections, int meetBeats)
      : offer(offer), door(std::move(door)), connections(std::move(connections)),
        bell(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)), machine(settingsOf(offer, meetBeats), *this) {
  }
  ~Body() override {
    leave();
    order([this] { isEnding = true; });
    if (thread.joinable())
      thread.join();
  }

  void leave() {
    order([this] {
      if (machine.isStopped())
        return;
      machine.leave();
      stop(Status(Code::cancelled, concat("process ", offer.process, " has left the job")));
    });
  }
  Status begin();

  // For callers.
  View view() const {
    std::lock_guard lock(mutex);
    return current;
  }
  Status status() const {
    std::lock_guard lock(mutex);
    return copyOf(end);
  }
  std::optional<Reason> whyOver(uint64_t epoch) const {
    std::lock_guard lock(mutex);
    if (const auto found = reasons.find(epoch); found != reasons.end())
      return found->second;
    return std::nullopt;
  }
  void suspect(uint64_t epoch, int64_t process, std::string evidence) {
    order([this, epoch, process, evidence = std::move(evidence)] {
      if (const auto place = placeOf(process))
        machine.suspect(epoch, *place, evidence);
    });
  }
  void revoke(uint64_t epoch, Reason reason) {
    order([this, epoch, reason = std::move(reason)] { machine.revoke(epoch, reason); });
  }
  Result<View> agree(uint64_t epoch, Deadline deadline);
  std::unique_ptr<Watch> watch(uint64_t epoch, OnOver onOver);
  Status putNote(uint64_t epoch, std::string_view key, std::string_view value);

  Notes notes;

private:
  class Watcher;
  static Machine::Settings settingsOf(const Offer &offer, int meetBeats);
  std::optional<size_t> placeOf(int64_t process) const {
    const auto found = std::lower_bound(offer.processes.begin(), offer.processes.end(), process);
    if (found == offer.processes.end() || *found != process)
      return std::nullopt;
    return static_cast<size_t>(found - offer.processes.begin());
  }
  void order(std::function<void()> what);
  void work();
  void obey();
  void receiveFrom(size_t place);
  void finishOver(uint64_t epoch, const Reason &reason);

  // Effects, on the thread.
  void send(size_t place, const Message &message) override;
  void over(uint64_t epoch, const Reason &reason) override;
  void deliver(uint64_t epoch, const Places &members) override;
  void stop(Status status) override;

  const Offer offer;
  // Of the thread:
  const std::unique_ptr<Door> door;
  std::vector<std::unique_ptr<Connection>> connections; // by place; null: none, or gone
  const Descriptor bell;
  Machine machine;
  bool isEnding = false;

  mutable std::mutex mutex;
  std::condition_variable changed;
  // guarded by mutex:
  std::vector<std::function<void()>> orders;
  View current;
  bool hasView = false;
  Status end;
  std::map<uint64_t, Reason> reasons; // of epochs that are over
  std::list<std::shared_ptr<Watcher>> watchers;

  std::thread thread;
};

/// One that waits for the end of an epoch.
class Group::Body::Watcher {
public:
  Watcher(uint64_t epoch, OnOver onOver) : epoch(epoch), onOver(std::move(onOver)) {}
  const uint64_t epoch;
  void call(const Reason &reason) {
    std::lock_guard lock(calling);
    if (onOver)
      std::exchange(onOver, nullptr)(reason);
  }
  void forget() {
    std::lock_guard lock(calling);
    onOver = nullptr;
  }

private:
  std::mutex calling;
  OnOver onOver; // guarded by calling; empty: called, or no longer wanted
};

Machine::Settings Group::Body::settingsOf(const Offer &offer, int meetBeats) {
  Machine::Settings settings;
  settings.processes = offer.processes;
  settings.self = static_cast<size_t>(
      std::lower_bound(offer.processes.begin(), offer.processes.end(), offer.process) -
      offer.processes.begin());
  settings.epoch = offer.epoch;
  settings.meetBeats = meetBeats;
  settings.silentBeats = settings.answerBeats = offer.silentBeats;
  settings.leadBeats = 3 * offer.silentBeats;
  settings.settleBeats = 50 * offer.silentBeats;
  return settings;
}

Status Group::Body::begin() {
  if (bell.get() < 0)
    return systemFailure("eventfd");
  thread = std::thread([this] { work(); });
  std::unique_lock lock(mutex);
  // The machine's patience ends this, if nothing else does.
  changed.wait(lock, [&] { return hasView || !end.isOk(); });
  return hasView ? Status() : copyOf(end);
}

void Group::Body::order(std::function<void()> what) {
  {
    std::lock_guard lock(mutex);
    orders.push_back(std::move(what));
  }
  const uint64_t one = 1;
  (void)!write(bell.get(), &one, sizeof one);
}

void Group::Body::obey() {
  uint64_t rung;
  (void)!read(bell.get(), &rung, sizeof rung);
  std::vector<std::function<void()>> todo;
  {
    std::lock_guard lock(mutex);
    todo.swap(orders);
  }
  for (const auto &each : todo)
    each();
}

void Group::Body::receiveFrom(size_t place) {
  const Connection::State state =
      connections[place]->receive([&](Cargo cargo, std::span<const std::byte> bytes) {
        if (cargo == Cargo::message) {
          if (const std::optional<Message> message = decode(bytes))
            machine.receive(place, *message);
        } else if (std::optional<Note> note = decodeNote(bytes)) {
          notes.put(note->epoch, std::move(note->key), std::move(note->value));
        }
      });
  if (state == Connection::State::open)
    return;
  const bool hasEnded = state == Connection::State::ended && connections[place]->isOfThisHost;
  connections[place].reset();
  if (hasEnded)
    machine.ended(place);
  else
    machine.lost(place);
}

void Group::Body::work() {
  trace::nameThread("membership");
  machine.start();
  for (size_t place = 0; place < connections.size(); ++place)
    if (connections[place])
      machine.connected(place);
  auto nextBeat = Clock::now() + offer.beat;
  std::vector<pollfd> polled;
  std::vector<size_t> places;
  while (true) {
    polled.assign(
        {{bell.get(), POLLIN, 0}, {door->local(), POLLIN, 0}, {door->remote(), POLLIN, 0}});
    places.assign(3, 0);
    for (size_t place = 0; place < connections.size(); ++place)
      if (connections[place]) {
        const short out = connections[place]->isIdle() ? 0 : POLLOUT;
        polled.push_back({connections[place]->socket(), static_cast<short>(POLLIN | out), 0});
        places.push_back(place);
      }
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(nextBeat - Clock::now()).count();
    (void)::poll(polled.data(), polled.size(),
                 static_cast<int>(std::clamp<int64_t>(left, 0, 1000)));
    obey();
    door->turnAway(machine.epoch());
    // What has come is looked at before the clock: who was stopped finds the words of the others.
    for (size_t i = 3; i < polled.size(); ++i) {
      const size_t place = places[i];
      if (connections[place] && (polled[i].revents & POLLOUT))
        connections[place]->flush();
      if (connections[place] && (polled[i].revents & ~POLLOUT) && !machine.isStopped())
        receiveFrom(place);
    }
    if (Clock::now() >= nextBeat) {
      machine.beat();
      door->beat();
      nextBeat = std::max(nextBeat + offer.beat, Clock::now() + offer.beat / 2);
    }
    if (machine.isStopped())
      for (auto &connection : connections)
        connection.reset(); // everybody sees the end
    if (isEnding)
      return;
  }
}

void Group::Body::send(size_t place, const Message &message) {
  Connection *connection = connections[place].get();
  // Who does not read needs to hear no second time that this process is alive.
  if (!connection || (message.type == Message::alive && !connection->isIdle()))
    return;
  connection->send(Cargo::message, encode(message));
  connection->flush();
}

void Group::Body::finishOver(uint64_t epoch, const Reason &reason) {
  std::vector<std::shared_ptr<Watcher>> due;
  {
    std::lock_guard lock(mutex);
    reasons.try_emplace(epoch, reason);
    for (const auto &watcher : watchers)
      if (watcher->epoch <= epoch)
        due.push_back(watcher);
  }
  changed.notify_all();
  notes.end(epoch, reason); // who hears it there can ask why
  for (const auto &watcher : due)
    watcher->call(reason);
}

void Group::Body::over(uint64_t epoch, const Reason &reason) { finishOver(epoch, reason); }

void Group::Body::deliver(uint64_t epoch, const Places &members) {
  {
    std::lock_guard lock(mutex);
    current.epoch = epoch;
    current.members.clear();
    members.forEach([&](size_t place) { current.members.push_back(offer.processes[place]); });
    hasView = true;
  }
  changed.notify_all();
}

void Group::Body::stop(Status status) {
  const Reason reason = Reason::of(-1, status.message());
  uint64_t epoch = 0;
  {
    std::lock_guard lock(mutex);
    end = std::move(status);
    epoch = current.epoch;
  }
  finishOver(epoch, reason); // also for those who wait for something else
}

Result<View> Group::Body::agree(uint64_t epoch, Deadline deadline) {
  std::unique_lock lock(mutex);
  changed.wait_until(lock, deadline,
                     [&] { return (hasView && current.epoch > epoch) || !end.isOk(); });
  if (!end.isOk())
    return copyOf(end);
  if (current.epoch > epoch)
    return current;
  const auto found = reasons.find(epoch);
  return Status(
      Error::groupUnsettled,
      concat("process ", offer.process, " waited in vain for a view after epoch ", epoch, ": ",
             found == reasons.end()
                 ? "the epoch has not ended"
                 : concat("the others have not agreed; after: ", found->second.toString())));
}

std::unique_ptr<Group::Watch> Group::Body::watch(uint64_t epoch, OnOver onOver) {
  class Handle final : public Watch {
  public:
    Handle(Body &body, std::shared_ptr<Watcher> watcher)
        : body(body), watcher(std::move(watcher)) {}
    ~Handle() override {
      {
        std::lock_guard lock(body.mutex);
        body.watchers.remove(watcher);
      }
      watcher->forget();
    }

  private:
    Body &body;
    const std::shared_ptr<Watcher> watcher;
  };
  auto watcher = std::make_shared<Watcher>(epoch, std::move(onOver));
  std::optional<Reason> reason;
  {
    std::lock_guard lock(mutex);
    watchers.push_back(watcher);
    if (const auto found = reasons.lower_bound(epoch); found != reasons.end())
      reason = found->second;
    else if (!end.isOk())
      reason = Reason::of(-1, end.message());
  }
  auto handle = std::make_unique<Handle>(*this, watcher);
  if (reason)
    watcher->call(*reason);
  return handle;
}

Status Group::Body::putNote(uint64_t epoch, std::string_view key, std::string_view value) {
  TILEWRIGHT_TRY(notes.check(epoch, key));
  notes.put(epoch, std::string(key), std::string(value));
  order([this, epoch, bytes = encodeNote(epoch, key, value)] {
    if (machine.isStopped() || machine.epoch() != epoch)
      return;
    machine.members().forEach([&](size_t place) {
      if (Connection *connection = connections[place].get()) {
        connection->send(Cargo::note, bytes);
        connection->flush();
      }
    });
  });
  return Status();
}

Group::Group(std::unique_ptr<Body> body) : body(std::move(body)) {}
Group::~Group() = default;
void Group::leave() { body->leave(); }
View Group::view() const { return body->view(); }
Status Group::status() const { return body->status(); }
std::optional<Reason> Group::whyOver(uint64_t epoch) const { return body->whyOver(epoch); }
void Group::suspect(uint64_t epoch, int64_t process, std::string evidence) {
  body->suspect(epoch, process, std::move(evidence));
}
void Group::revoke(uint64_t epoch, Reason reason) { body->revoke(epoch, std::move(reason)); }
Result<View> Group::agree(uint64_t epoch, Deadline deadline) {
  return body->agree(epoch, deadline);
}
std::unique_ptr<Group::Watch> Group::watch(uint64_t epoch, OnOver onOver) {
  return body->watch(epoch, std::move(onOver));
}

std::unique_ptr<KeyValueStore> Group::store(uint64_t epoch) {
  class Store final : public KeyValueStore {
  public:
    Store(Body &body, uint64_t epoch) : body(body), epoch(epoch) {}
    Status put(std::string_view key, std::string_view value) override {
      return body.putNote(epoch, key, value);
    }
    Result<std::string> get(std::string_view key, Deadline deadline) override {
      return body.notes.get(epoch, key, deadline);
    }
    Result<std::optional<std::string>> tryGet(std::string_view key) override {
      return body.notes.tryGet(epoch, key);
    }

  private:
    Body &body;
    const uint64_t epoch;
  };
  return std::make_unique<Store>(*body, epoch);
}

Result<std::unique_ptr<Group>> Group::meet(const Offer &given, KeyValueStore &store,
                                           Deadline deadline) {
  trace::Span span("membership", "meet");
  Offer offer = given;
  std::sort(offer.processes.begin(), offer.processes.end());
  if (!std::binary_search(offer.processes.begin(), offer.processes.end(), offer.process) ||
      offer.beat.count() <= 0 || offer.silentBeats < 2)
    return Status(Code::invalidArgument,
                  concat("process ", offer.process, " is to be one of ", listed(offer.processes),
                         ", with a beat of ", offer.beat.count(), " ns and at least two of ",
                         offer.silentBeats, " silent ones"));
  if (offer.host.empty())
    offer.host = hosts::nameOfThisHost();
  auto door = std::make_unique<Door>();
  TILEWRIGHT_TRY(door->open(offer.address));
  TILEWRIGHT_ASSIGN(auto connections, connectAll(offer, *door, store, deadline));
  const int64_t beats = std::max<int64_t>((deadline - Clock::now()) / offer.beat, 0) + 2;
  auto body = std::make_unique<Body>(offer, std::move(door), std::move(connections),
                                     static_cast<int>(std::min<int64_t>(beats, 1'000'000'000)));
  TILEWRIGHT_TRY(body->begin());
  return std::unique_ptr<Group>(new Group(std::move(body)));
}

} // namespace tilewright::collective::membership
