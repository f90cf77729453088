#include "tilewright/collective/membership/testing/Simulation.h"
#include "tilewright/collective/membership/testing/Witness.h"
#include "tilewright/support/Concat.h"

#include <algorithm>
#include <deque>
#include <ostream>
#include <queue>

namespace tilewright::collective::membership {

namespace {

using Time = int64_t; // microseconds

constexpr Time second = 1'000'000;
constexpr Time beatLength = 50'000;

/// A random number generator with the same numbers on every platform, unlike the distributions of
/// the C++ standard.
class Random {
public:
  explicit Random(uint64_t seed) : state(seed) {}
  uint64_t next() {
    uint64_t z = state += 0x9e3779b97f4a7c15;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }
  int64_t below(int64_t limit) { return static_cast<int64_t>(next() % uint64_t(limit)); }
  int64_t between(int64_t low, int64_t high) { return low + below(high - low + 1); }
  bool isOneIn(int64_t times) { return below(times) == 0; }

private:
  uint64_t state;
};

enum class Fault {
  crash,
  crashInStep,
  leave,
  pause,
  slow,
  cut,
  partition,
  suspect,
  revoke,
  restart
};
constexpr Fault lastFault = Fault::restart;

/// A message or event in flight on a connection.
struct Parcel {
  enum Kind { message, lost, ended } kind = message;
  Message content;
};

struct Channel { // from one node to another
  std::deque<Parcel> parcels;
  Time last = 0; // arrival time of the last parcel
  bool isOpen = false;
};

struct Happening {
  enum Kind { arrive, beat, connect, fault, resume, look } kind;
  Time time;
  uint64_t number; // creation order; breaks ties, so that the result does not depend on the heap
  size_t from, to;
  bool operator>(const Happening &other) const {
    return time != other.time ? time > other.time : number > other.number;
  }
};

class World;

/// One process. A restarted process is a new node.
class Node final : public Effects {
public:
  Node(World &world, size_t index, size_t place, const StateMachine::Settings &settings,
       const UnsafeStateMachine::Rules &rules)
      : world(world), index(index), place(place), machine(settings, *this, rules) {}
  void send(size_t to, const Message &message) override;
  void over(uint64_t epoch, const Reason &reason) override;
  void deliver(uint64_t epoch, const Places &members) override;
  void stop(Status status) override;

  World &world;
  const size_t index, place;
  UnsafeStateMachine machine;
  std::vector<std::optional<size_t>> nodeAt; // by place: the node that it is connected to
  bool isDead = false, isPaused = false;
  std::optional<int> sendsLeft; // before it crashes in the middle of a step
  std::vector<Happening> held;  // arrived while it was paused
};

class World {
public:
  World(uint64_t seed, const UnsafeStateMachine::Rules &rules, std::ostream *log, size_t dense)
      : random(seed), rules(rules), log(log), dense(dense) {}
  Outcome run();

private:
  friend class Node;
  StateMachine::Settings settingsOf(size_t place) const;
  void schedule(Happening::Kind kind, Time time, size_t from, size_t to);
  void happen(const Happening &happening);
  void connect(size_t a, size_t b);
  void put(size_t from, size_t to, Parcel parcel);
  void arrive(Node &from, Node &to);
  void commit(Fault fault, size_t victim);
  void die(Node &node);
  void cut(Node &a, Node &b);
  void restart(size_t place);
  void finishStep(Node &node);
  bool isParted(size_t placeA, size_t placeB) const;
  bool isSettled() const;
  void look();
  template <typename... Parts> void note(const Parts &...parts) {
    if (log)
      *log << time << ": " << concat(parts...) << '\n';
  }
  Channel &channel(size_t from, size_t to) { return channels[from * maxNodes + to]; }

  static constexpr size_t maxNodes = 14;
  Random random;
  const UnsafeStateMachine::Rules rules;
  std::ostream *const log;
  const size_t dense;
  std::vector<int64_t> processes;
  std::vector<size_t> hostOf; // by place
  std::vector<std::unique_ptr<Node>> nodes;
  std::vector<Channel> channels = std::vector<Channel>(maxNodes * maxNodes);
  std::priority_queue<Happening, std::vector<Happening>, std::greater<>> queue;
  uint64_t made = 0;
  Time time = 0, lastTrouble = 0, end = 0;
  Time longestDelay = 300;
  // The hosts on one side of a partition, and the time when the partition heals.
  std::vector<bool> isBeyond;
  Time healing = 0;
  std::vector<Fault> faults;
  Witness witness;
  Outcome outcome;
};

void Node::send(size_t to, const Message &message) {
  if (sendsLeft && (*sendsLeft)-- <= 0)
    return; // it has already crashed
  if (nodeAt[to])
    world.put(index, *nodeAt[to], {Parcel::message, message});
}

void Node::over(uint64_t epoch, const Reason &reason) {
  if (sendsLeft && *sendsLeft < 0)
    return;
  world.note("node ", index, " ends epoch ", epoch, ": ", world.log ? reason.toString() : "");
  world.witness.over(index, epoch);
}

void Node::deliver(uint64_t epoch, const Places &members) {
  if (sendsLeft && *sendsLeft < 0)
    return;
  std::vector<size_t> list;
  members.forEach([&](size_t member) { list.push_back(member); });
  world.note("node ", index, " delivers epoch ", epoch, " ", listed(list));
  world.outcome.views += epoch > 0;
  world.witness.deliver(index, epoch, members);
}

void Node::stop(Status status) {
  if (sendsLeft && *sendsLeft < 0)
    return;
  world.note("node ", index, " stops: ", world.log ? status.toString() : "");
  world.outcome.minorities += status.error() == Error::groupMinority;
  world.outcome.fenced += status.error() == Error::rankFenced;
  world.outcome.unsettled += status.error() == Error::groupUnsettled;
  world.witness.stop(index);
}

StateMachine::Settings World::settingsOf(size_t place) const {
  StateMachine::Settings settings;
  settings.processes = std::make_shared<const std::vector<int64_t>>(processes);
  settings.self = place;
  settings.dense = dense;
  settings.rendezvousBeats = 40;
  settings.silentBeats = 4;
  settings.answerBeats = 4;
  settings.leadBeats = 12;
  settings.settleBeats = 120;
  return settings;
}

void World::schedule(Happening::Kind kind, Time at, size_t from, size_t to) {
  queue.push({kind, at, made++, from, to});
}

bool World::isParted(size_t a, size_t b) const {
  return healing > time && isBeyond[hostOf[a]] != isBeyond[hostOf[b]];
}

/// Connections preserve order; a partition delays parcels until it heals.
void World::put(size_t from, size_t to, Parcel parcel) {
  Channel &way = channel(from, to);
  if (!way.isOpen)
    return;
  Time when = time + random.between(20, longestDelay);
  if (isParted(nodes[from]->place, nodes[to]->place))
    when += healing - time;
  way.last = std::max(way.last + 1, when);
  way.parcels.push_back(std::move(parcel));
  schedule(Happening::arrive, way.last, from, to);
}

void World::connect(size_t a, size_t b) {
  Node &one = *nodes[a], &two = *nodes[b];
  if (one.isDead || two.isDead || one.machine.isStopped() || two.machine.isStopped())
    return;
  if (isParted(one.place, two.place)) {
    schedule(Happening::connect, healing + 1000, a, b);
    return;
  }
  // Node `a` connects, and node `b` admits or rejects it; connections are made only in this
  // direction.
  if (!two.machine.admits(one.place, one.machine.epoch())) {
    note("node ", b, " rejects node ", a);
    Message message;
    message.type = Message::out;
    message.epoch = two.machine.epoch();
    one.machine.receive(two.place, message);
    finishStep(one);
    return;
  }
  one.nodeAt[two.place] = b;
  two.nodeAt[one.place] = a;
  channel(a, b).isOpen = channel(b, a).isOpen = true;
  one.machine.connected(two.place);
  finishStep(one);
  two.machine.connected(one.place);
  finishStep(two);
}

void World::arrive(Node &from, Node &to) {
  Channel &way = channel(from.index, to.index);
  if (way.parcels.empty())
    return; // it was lost
  Parcel parcel = std::move(way.parcels.front());
  way.parcels.pop_front();
  if (to.isDead || to.machine.isStopped())
    return;
  if (parcel.kind == Parcel::message) {
    if (log && parcel.content.type != Message::alive)
      note("node ", to.index, " receives type ", int(parcel.content.type), " of epoch ",
           parcel.content.epoch, " ballot ", parcel.content.ballot.round, ".",
           parcel.content.ballot.place, " from node ", from.index);
    to.machine.receive(from.place, parcel.content);
  } else {
    note("node ", to.index, parcel.kind == Parcel::ended ? " sees the end of" : " loses", " node ",
         from.index);
    if (parcel.kind == Parcel::ended)
      to.machine.ended(from.place);
    else
      to.machine.lost(from.place);
  }
  finishStep(to);
}

/// Called after each event of a node; the node may have crashed or stopped during the event.
void World::finishStep(Node &node) {
  ++outcome.steps;
  if (node.sendsLeft && *node.sendsLeft < 0 && !node.isDead) {
    note("node ", node.index, " crashed in the middle of that");
    ++outcome.crashes;
    witness.crash(node.index);
    lastTrouble = time;
    die(node);
  } else if (node.machine.isStopped() && !node.isDead) {
    die(node);
  }
}

/// Ends the connections of a node. Peers on its host see the end, after all data that the node
/// sent. Peers on other hosts may lose data, or not see the end at all.
void World::die(Node &node) {
  node.isDead = true;
  for (std::optional<size_t> &peer : node.nodeAt) {
    if (!peer)
      continue;
    Node &other = *nodes[*peer];
    Channel &out = channel(node.index, *peer), &in = channel(*peer, node.index);
    if (out.isOpen && !other.isDead) {
      if (hostOf[node.place] == hostOf[other.place]) {
        put(node.index, *peer, {Parcel::ended, {}});
      } else if (!random.isOneIn(3)) {
        if (random.isOneIn(2))
          out.parcels.resize(static_cast<size_t>(random.between(0, int64_t(out.parcels.size()))));
        put(node.index, *peer, {Parcel::lost, {}});
      }
    }
    out.isOpen = false;
    in.isOpen = false;
  }
}

void World::cut(Node &a, Node &b) {
  for (auto [from, to] : {std::pair(&a, &b), std::pair(&b, &a)}) {
    Channel &way = channel(from->index, to->index);
    if (!way.isOpen)
      return;
    way.parcels.resize(static_cast<size_t>(random.between(0, int64_t(way.parcels.size()))));
    put(from->index, to->index, {Parcel::lost, {}});
    way.isOpen = false;
  }
}

void World::restart(size_t place) {
  if (nodes.size() == maxNodes)
    return;
  const size_t index = nodes.size();
  nodes.push_back(std::make_unique<Node>(*this, index, place, settingsOf(place), rules));
  nodes.back()->nodeAt.resize(processes.size());
  witness.add(place);
  ++outcome.restarts;
  note("process ", place, " is restarted as node ", index);
  for (size_t other = 0; other < index; ++other)
    if (!nodes[other]->isDead && nodes.back()->machine.neighbours().has(nodes[other]->place))
      schedule(Happening::connect, time + random.between(100, 20'000), index, other);
  schedule(Happening::beat, time + beatLength, index, index);
}

void World::commit(Fault fault, size_t victim) {
  Node &node = *nodes[victim];
  Node &other = *nodes[size_t(random.below(int64_t(nodes.size())))];
  if (fault == Fault::restart) {
    // Restart any dead process instead of the victim.
    for (const auto &each : nodes)
      if (each->isDead) {
        restart(each->place);
        return;
      }
    return;
  }
  if (node.isDead)
    return;
  lastTrouble = time;
  switch (fault) {
  case Fault::crash:
    note("node ", victim, " crashes");
    ++outcome.crashes;
    witness.crash(victim);
    die(node);
    break;
  case Fault::crashInStep:
    if (!node.sendsLeft)
      node.sendsLeft = static_cast<int>(random.below(40));
    break;
  case Fault::leave:
    note("node ", victim, " leaves");
    if (node.isPaused)
      break;
    witness.stop(victim);
    node.machine.leave();
    finishStep(node);
    break;
  case Fault::pause:
  case Fault::slow:
    if (node.isPaused)
      break;
    node.isPaused = true;
    ++outcome.pauses;
    lastTrouble = time + (fault == Fault::slow ? random.between(1000, 120'000)
                                               : random.between(1000, second));
    note("node ", victim, " is paused until ", lastTrouble);
    schedule(Happening::resume, lastTrouble, victim, victim);
    break;
  case Fault::cut:
    if (hostOf[node.place] != hostOf[other.place]) {
      note("the connection of nodes ", victim, " and ", other.index, " breaks");
      ++outcome.cuts;
      cut(node, other);
    }
    break;
  case Fault::partition:
    if (healing > time)
      break;
    for (size_t host = 0; host < isBeyond.size(); ++host)
      isBeyond[host] = random.isOneIn(2);
    ++outcome.partitions;
    // Some partitions outlast every timeout.
    healing = time + (random.isOneIn(3) ? 60 * second : random.between(1000, second));
    note("a partition until ", healing);
    break;
  case Fault::suspect:
    if (node.isPaused)
      break;
    note("node ", victim, " suspects process ", other.place);
    ++outcome.suspicions;
    node.machine.suspect(node.machine.epoch(), other.place, "it was asked to");
    finishStep(node);
    break;
  case Fault::revoke:
    if (node.isPaused)
      break;
    note("node ", victim, " revokes");
    node.machine.revoke(node.machine.epoch(), Reason::of(-1, "it was asked to"));
    finishStep(node);
    break;
  case Fault::restart:
    break;
  }
}

void World::happen(const Happening &happening) {
  Node &node = *nodes[happening.to];
  const bool isForNode = happening.kind == Happening::arrive || happening.kind == Happening::beat;
  if (isForNode && node.isPaused && !node.isDead) {
    node.held.push_back(happening);
    return;
  }
  switch (happening.kind) {
  case Happening::arrive:
    arrive(*nodes[happening.from], node);
    break;
  case Happening::beat:
    if (node.isDead)
      break;
    node.machine.beat();
    finishStep(node);
    schedule(Happening::beat, time + beatLength + random.between(0, beatLength / 20), node.index,
             node.index);
    break;
  case Happening::connect:
    connect(happening.from, happening.to);
    break;
  case Happening::fault:
    commit(faults[happening.from], happening.to);
    break;
  case Happening::resume: {
    // A resumed node processes received messages before its clock advances.
    node.isPaused = false;
    std::vector<Happening> held = std::move(node.held);
    node.held.clear();
    for (const bool isBeat : {false, true})
      for (const Happening &each : held)
        if ((each.kind == Happening::beat) == isBeat)
          happen(each);
    break;
  }
  case Happening::look:
    look();
    break;
  }
}

/// Whether all survivors continue together in one view.
bool World::isSettled() const {
  Places left;
  for (const auto &node : nodes)
    if (!node->isDead)
      left.add(node->place);
  for (const auto &node : nodes)
    if (!node->isDead && (node->isPaused || node->machine.members() != left ||
                          node->machine.isOver() || node->machine.isStopped()))
      return false;
  return true;
}

void World::look() {
  if (time > lastTrouble + 2 * beatLength && (healing <= time || healing > end) && isSettled())
    end = time;
  schedule(Happening::look, time + 3 * beatLength, 0, 0);
}

Outcome World::run() {
  const size_t count = static_cast<size_t>(random.between(2, 9));
  // A storm: many crashes on one host, with long delays and a wrong suspicion. Few other schedules
  // exercise the rule that an end counts only when all members that answer have seen it
  // (Rules::proofNeedsAll).
  const bool isStorm = random.isOneIn(8);
  const size_t hosts = isStorm ? 1 : static_cast<size_t>(random.between(1, 3));
  outcome.processes = count;
  isBeyond.resize(hosts);
  for (size_t place = 0; place < count; ++place) {
    processes.push_back(static_cast<int64_t>(place));
    hostOf.push_back(static_cast<size_t>(random.below(int64_t(hosts))));
  }
  for (size_t place = 0; place < count; ++place) {
    nodes.push_back(std::make_unique<Node>(*this, place, place, settingsOf(place), rules));
    nodes.back()->nodeAt.resize(count);
    witness.add(place);
    nodes.back()->machine.start();
    schedule(Happening::beat, random.between(0, beatLength), place, place);
  }
  longestDelay = isStorm || random.isOneIn(4) ? 60'000 : random.isOneIn(2) ? 5'000 : 300;
  for (size_t a = 0; a < count; ++a)
    for (size_t b = 0; b < a; ++b)
      if (nodes[a]->machine.neighbours().has(b))
        schedule(Happening::connect, random.between(0, 20'000), a, b);
  schedule(Happening::look, beatLength, 0, 0);

  // Use few kinds of faults per schedule, so that each kind also occurs alone.
  uint64_t kinds = random.next() & random.next();
  const bool isCrashOnly = !isStorm && random.isOneIn(4);
  if (isCrashOnly)
    kinds = static_cast<uint64_t>(random.between(1, 3));
  if (isStorm)
    kinds = 1 << int(Fault::crash) | 1 << int(Fault::crashInStep) | 1 << int(Fault::suspect);
  std::vector<Fault> possible;
  for (int kind = 0; kind <= static_cast<int>(lastFault); ++kind)
    if (kinds >> kind & 1)
      possible.push_back(static_cast<Fault>(kind));
  const int64_t most =
      possible.empty() ? 0 : random.between(1, isCrashOnly ? int64_t(count) - 1 : 8);
  const bool isEarly = random.isOneIn(6);
  const Time from = isEarly ? 0 : 30'000 + 4 * longestDelay;
  // Faults are either close together, so that a fault occurs while the previous one is being
  // handled, or spread out.
  const Time span = isStorm             ? 250'000
                    : random.isOneIn(2) ? 20'000
                    : random.isOneIn(2) ? 300'000
                                        : 2 * second;
  for (int64_t i = 0; i < most; ++i) {
    faults.push_back(possible[size_t(random.below(int64_t(possible.size())))]);
    schedule(Happening::fault, from + random.below(span), size_t(i),
             size_t(random.below(int64_t(count))));
  }
  // With delays near the protocol's timeouts, live processes may be suspected.
  outcome.isStrict = (isCrashOnly || most == 0) && !isEarly && longestDelay <= 5'000;
  lastTrouble = from + span;
  end = 60 * second;
  while (!queue.empty() && queue.top().time < end && witness.problem().empty()) {
    const Happening happening = queue.top();
    queue.pop();
    time = happening.time;
    happen(happening);
  }
  outcome.problem = witness.problem();
  if (outcome.problem.empty() && !isSettled())
    outcome.problem = "the survivors do not share a view long after the last fault";
  // Of a job whose processes are not all connected, a majority must be left.
  const bool isOneHost = hosts == 1 && count <= dense;
  if (outcome.problem.empty() && outcome.isStrict && (isOneHost || 2 * outcome.crashes < count) &&
      outcome.minorities + outcome.fenced + outcome.unsettled > 0)
    outcome.problem = "a live process did not continue, although only others crashed";
  note(outcome.problem.empty() ? "no violation" : outcome.problem);
  return outcome;
}

} // namespace

Outcome simulate(uint64_t seed, const UnsafeStateMachine::Rules &rules, std::ostream *log,
                 size_t dense) {
  return World(seed, rules, log, dense).run();
}

} // namespace tilewright::collective::membership
