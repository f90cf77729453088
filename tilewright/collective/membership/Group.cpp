#include "tilewright/collective/membership/Group.h"
#include "tilewright/collective/hosts/HostsEngine.h"
#include "tilewright/collective/membership/GroupRendezvous.h"
#include "tilewright/collective/membership/Notes.h"
#include "tilewright/collective/membership/StateMachine.h"
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

/// The membership thread owns the state machine and the connections. Callers read the published
/// state and queue orders for the thread.
class Group::Body final : private Effects {
public:
  Body(const Config &config, std::unique_ptr<GroupListener> listener,
       std::vector<std::unique_ptr<Connection>> connections, int rendezvousBeats)
      : config(config), listener(std::move(listener)), connections(std::move(connections)),
        bell(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
        machine(settingsOf(config, rendezvousBeats), *this) {}
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
      stop(Status(Code::cancelled, concat("process ", config.process, " has left the job")));
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
      if (const auto place = config.placeOf(process))
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
  static StateMachine::Settings settingsOf(const Config &config, int rendezvousBeats);
  void order(std::function<void()> what);
  void work();
  void obey();
  void receiveFrom(size_t place);
  void sendNote(std::span<const std::byte> bytes, std::optional<size_t> from);
  void finishOver(uint64_t epoch, const Reason &reason);

  // Effects of the state machine, called on the membership thread.
  void send(size_t place, const Message &message) override;
  void over(uint64_t epoch, const Reason &reason) override;
  void deliver(uint64_t epoch, const Places &members) override;
  void stop(Status status) override;

  const Config config;
  // Owned by the membership thread:
  const std::unique_ptr<GroupListener> listener;
  std::vector<std::unique_ptr<Connection>> connections; // by place; null: never connected, or lost
  const Descriptor bell;
  StateMachine machine;
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

/// A callback for the end of an epoch.
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
  OnOver onOver; // guarded by calling; empty: already called, or cancelled
};

StateMachine::Settings Group::Body::settingsOf(const Config &config, int rendezvousBeats) {
  StateMachine::Settings settings;
  settings.processes = std::make_shared<const std::vector<int64_t>>(config.processes);
  settings.self = static_cast<size_t>(
      std::lower_bound(config.processes.begin(), config.processes.end(), config.process) -
      config.processes.begin());
  settings.dense = config.dense;
  settings.epoch = config.epoch;
  settings.rendezvousBeats = rendezvousBeats;
  settings.silentBeats = config.silentBeats;
  // The leader asks all members. 4096 answers take it less than a heartbeat.
  settings.answerBeats = config.silentBeats + static_cast<int>(config.processes.size() / 4096);
  settings.leadBeats = 3 * settings.answerBeats;
  settings.settleBeats = 50 * config.silentBeats;
  return settings;
}

Status Group::Body::begin() {
  if (bell.get() < 0)
    return systemFailure("eventfd");
  thread = std::thread([this] { work(); });
  std::unique_lock lock(mutex);
  // No deadline here: the state machine gives up after `rendezvousBeats`.
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
          // In a large job, a note that is new to this process may also be new to its neighbours.
          if (notes.put(note->epoch, std::move(note->key), std::move(note->value)) &&
              config.processes.size() > config.dense)
            sendNote(bytes, place);
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
  auto nextBeat = Clock::now() + config.beat;
  std::vector<pollfd> polled;
  std::vector<size_t> places;
  while (true) {
    polled.assign(
        {{bell.get(), POLLIN, 0}, {listener->local(), POLLIN, 0}, {listener->remote(), POLLIN, 0}});
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
    listener->rejectPending(machine.epoch());
    // Process received messages before the clock: a process that resumes from SIGSTOP must see its
    // peers' messages before it suspects them.
    for (size_t i = 3; i < polled.size(); ++i) {
      const size_t place = places[i];
      if (connections[place] && (polled[i].revents & POLLOUT))
        connections[place]->flush();
      if (connections[place] && (polled[i].revents & ~POLLOUT) && !machine.isStopped())
        receiveFrom(place);
    }
    if (Clock::now() >= nextBeat) {
      machine.beat();
      listener->beat();
      nextBeat = std::max(nextBeat + config.beat, Clock::now() + config.beat / 2);
    }
    if (machine.isStopped())
      for (auto &connection : connections)
        connection.reset(); // all peers see the connection end
    if (isEnding)
      return;
  }
}

void Group::Body::send(size_t place, const Message &message) {
  Connection *connection = connections[place].get();
  // Skip the heartbeat if data for this peer is still queued: the data shows that this process is
  // alive.
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
  notes.end(epoch, reason); // after `reasons` is set, so that a caller woken here can ask whyOver()
  for (const auto &watcher : due)
    watcher->call(reason);
}

void Group::Body::over(uint64_t epoch, const Reason &reason) { finishOver(epoch, reason); }

void Group::Body::deliver(uint64_t epoch, const Places &members) {
  {
    std::lock_guard lock(mutex);
    current.epoch = epoch;
    current.members.clear();
    members.forEach([&](size_t place) { current.members.push_back(config.processes[place]); });
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
  finishOver(epoch, reason); // wakes waits on the epoch, too
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
  return Status(Error::groupUnsettled,
                concat("process ", config.process,
                       " timed out waiting for the epoch that follows epoch ", epoch, ": ",
                       found == reasons.end()
                           ? concat("epoch ", epoch, " has not ended")
                           : concat("the processes have not agreed on its members; epoch ", epoch,
                                    " ended because of ", found->second.toString())));
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
    if (!machine.isStopped() && machine.epoch() == epoch)
      sendNote(bytes, std::nullopt);
  });
  return Status();
}

/// Sends a note to the members that are connected, except to the one that it came from.
void Group::Body::sendNote(std::span<const std::byte> bytes, std::optional<size_t> from) {
  (machine.members() & machine.neighbours()).forEach([&](size_t place) {
    Connection *connection = connections[place].get();
    if (!connection || place == from)
      return;
    connection->send(Cargo::note, bytes);
    connection->flush();
  });
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

Result<std::unique_ptr<Group>> Group::join(const Config &given, KeyValueStore &store,
                                           Deadline deadline) {
  trace::Span span("membership", "join");
  Config config = given;
  std::sort(config.processes.begin(), config.processes.end());
  if (!std::binary_search(config.processes.begin(), config.processes.end(), config.process) ||
      config.beat.count() <= 0 || config.silentBeats < 2)
    return Status(Code::invalidArgument,
                  concat("process ", config.process, " must be one of ", listed(config.processes),
                         ", the heartbeat interval must be positive, got ", config.beat.count(),
                         " ns, and silentBeats must be at least 2, got ", config.silentBeats));
  if (config.host.empty())
    config.host = hosts::nameOfThisHost();
  auto listener = std::make_unique<GroupListener>();
  TILEWRIGHT_TRY(listener->open(config.address));
  TILEWRIGHT_ASSIGN(auto connections, connectAll(config, *listener, store, deadline));
  const int64_t beats = std::max<int64_t>((deadline - Clock::now()) / config.beat, 0) + 2;
  auto body = std::make_unique<Body>(config, std::move(listener), std::move(connections),
                                     static_cast<int>(std::min<int64_t>(beats, 1'000'000'000)));
  TILEWRIGHT_TRY(body->begin());
  return std::unique_ptr<Group>(new Group(std::move(body)));
}

} // namespace tilewright::collective::membership
