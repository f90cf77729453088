#include "tilewright/collective/membership/testing/Scale.h"
#include "tilewright/collective/membership/StateMachine.h"

#include <numeric>

namespace tilewright::collective::membership {

namespace {

using Time = int64_t; // microseconds

constexpr Time second = 1'000'000, beatLength = 200'000, handling = 2;

/// Events by time. Most are less than a heartbeat ahead, so a ring of lists, one for each
/// microsecond, takes the place of a heap.
struct Event {
  enum Kind : uint8_t { alive, message, beat, connect, ended } kind;
  uint32_t from, to;
  uint32_t index = 0;   // of the message; the epoch of a heartbeat
  bool isReady = false; // its receiver has time for it
};

class Job;

class Process final : public Effects {
public:
  Process(Job &job, size_t place, const StateMachine::Settings &settings)
      : job(job), place(place), machine(settings, *this) {}
  void send(size_t to, const Message &message) override;
  void over(uint64_t, const Reason &) override;
  void deliver(uint64_t epoch, const Places &members) override;
  void stop(Status) override { hasFailed = true; }

  Job &job;
  const size_t place;
  StateMachine machine;
  Time free = 0; // when it can handle the next message
  size_t sent = 0;
  bool isDead = false, hasFailed = false;
};

class Job {
public:
  explicit Job(const ScaleScenario &scenario)
      : scenario(scenario), random(scenario.seed), ring(ringSize) {
    std::vector<int64_t> numbers(scenario.processes);
    std::iota(numbers.begin(), numbers.end(), 0);
    StateMachine::Settings settings;
    settings.processes = std::make_shared<const std::vector<int64_t>>(std::move(numbers));
    settings.dense = 64;
    settings.silentBeats = 5;
    settings.answerBeats = 5 + static_cast<int>(scenario.processes / 4096);
    settings.leadBeats = 3 * settings.answerBeats;
    processes.reserve(scenario.processes);
    for (size_t place = 0; place < scenario.processes; ++place) {
      settings.self = place;
      processes.push_back(std::make_unique<Process>(*this, place, settings));
    }
  }

  ScaleOutcome run() {
    ScaleOutcome outcome;
    for (const auto &process : processes) {
      const auto place = static_cast<uint32_t>(process->place);
      const Time begin = Time(next() % uint64_t(second));
      Time at = begin;
      process->machine.neighbours().forEach([&](size_t other) {
        if (other < place)
          later(at += 1000, {Event::connect, place, static_cast<uint32_t>(other)});
      });
      outcome.neighbours = std::max(outcome.neighbours, process->machine.neighbours().count());
      later(begin + beatLength, {Event::beat, place, place});
    }
    advanceUntil(60 * second, [&] { return delivered[0] == processes.size(); });
    outcome.started = double(now) / second;
    for (const auto &process : processes)
      process->sent = 0;
    // A second without trouble, in which heartbeats are counted.
    advanceUntil(now + second, [] { return false; });
    size_t most = 0;
    for (const auto &process : processes)
      most = std::max(most, std::exchange(process->sent, 0));
    outcome.heartbeats = double(most);
    Process &victim = *processes[scenario.victim];
    victim.isDead = true;
    const Time death = now;
    if (scenario.isSeen)
      victim.machine.neighbours().forEach([&](size_t other) {
        later(now + latency(),
              {Event::ended, static_cast<uint32_t>(victim.place), static_cast<uint32_t>(other)});
      });
    countsHeartbeats = false;
    const size_t living = processes.size() - 1;
    advanceUntil(death + 60 * second, [&] { return overs >= living; });
    outcome.noticed = double(now - death) / second;
    advanceUntil(death + 60 * second, [&] { return delivered[1] >= living; });
    outcome.agreed = double(now - death) / second;
    size_t all = 0;
    outcome.isComplete = delivered[0] == processes.size() && delivered[1] == living;
    for (const auto &process : processes) {
      all += process->sent;
      outcome.busiest = std::max(outcome.busiest, process->sent);
      if (!process->isDead)
        outcome.isComplete &= !process->hasFailed && process->machine.epoch() == 1 &&
                              !process->machine.members().has(scenario.victim);
    }
    outcome.messages = double(all) / double(living);
    outcome.members = processes[scenario.victim == 0 ? 1 : 0]->machine.members().count();
    return outcome;
  }

  void put(const Process &from, size_t to, const Message &message) {
    Event event{Event::alive, static_cast<uint32_t>(from.place), static_cast<uint32_t>(to),
                static_cast<uint32_t>(message.epoch)};
    if (message.type != Message::alive) {
      event.kind = Event::message;
      if (unused.empty()) {
        unused.push_back(messages.size());
        messages.emplace_back();
      }
      event.index = static_cast<uint32_t>(unused.back());
      unused.pop_back();
      messages[event.index] = message;
    }
    later(now + latency(), event);
  }

  bool countsHeartbeats = true;
  size_t overs = 0;
  size_t delivered[2] = {0, 0};

private:
  uint64_t next() {
    uint64_t z = random += 0x9e3779b97f4a7c15;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }
  Time latency() { return Time(20 + next() % 41); }
  void later(Time at, const Event &event) {
    if (at - now < Time(ringSize))
      ring[size_t(at) % ringSize].push_back(event);
    else
      far[at].push_back(event);
  }

  template <typename Done> void advanceUntil(Time end, Done done) {
    for (; now < end && !done(); ++now) {
      if (const auto due = far.find(now); due != far.end()) {
        for (const Event &event : due->second)
          happen(event);
        far.erase(due);
      }
      std::vector<Event> &list = ring[size_t(now) % ringSize];
      for (size_t i = 0; i < list.size(); ++i) {
        const Event event = list[i]; // handling it may add to the list
        happen(event);
      }
      list.clear();
    }
  }

  void happen(const Event &event) {
    Process &to = *processes[event.to];
    if (to.isDead) {
      if (event.kind == Event::message)
        unused.push_back(event.index);
      return;
    }
    // A process handles messages one after the other.
    if ((event.kind == Event::message || event.kind == Event::alive) && !event.isReady) {
      const Time at = std::max(to.free, now);
      to.free = at + handling;
      if (at > now) {
        Event ready = event;
        ready.isReady = true;
        later(at, ready);
        return;
      }
    }
    switch (event.kind) {
    case Event::alive: {
      Message message;
      message.epoch = event.index;
      to.machine.receive(event.from, message);
      break;
    }
    case Event::message: {
      const Message message = std::move(messages[event.index]);
      unused.push_back(event.index);
      to.machine.receive(event.from, message);
      break;
    }
    case Event::beat:
      to.machine.beat();
      later(now + beatLength, event);
      break;
    case Event::connect:
      processes[event.from]->machine.connected(event.to);
      to.machine.connected(event.from);
      break;
    case Event::ended:
      to.machine.ended(event.from);
      break;
    }
  }

  static constexpr size_t ringSize = 4096;
  const ScaleScenario scenario;
  uint64_t random;
  std::vector<std::unique_ptr<Process>> processes;
  Time now = 0;
  std::vector<std::vector<Event>> ring; // by time modulo its size
  std::map<Time, std::vector<Event>> far;
  std::vector<Message> messages; // in flight; `unused` are the other places
  std::vector<size_t> unused;
};

void Process::send(size_t to, const Message &message) {
  sent += (message.type == Message::alive) == job.countsHeartbeats;
  if (!isDead)
    job.put(*this, to, message);
}

void Process::over(uint64_t, const Reason &) { job.overs += !isDead; }

void Process::deliver(uint64_t epoch, const Places &) {
  if (epoch < 2)
    ++job.delivered[epoch];
}

} // namespace

ScaleOutcome simulateScale(const ScaleScenario &scenario) { return Job(scenario).run(); }

} // namespace tilewright::collective::membership
