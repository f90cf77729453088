#include "tilewright/collective/testing/FaultPlan.h"
#include "tilewright/collective/testing/Workload.h"
#include "tilewright/support/Concat.h"

#include <algorithm>
#include <set>

namespace tilewright::collective::test {

std::string_view nameOf(EngineKind kind) {
  constexpr std::string_view names[] = {"shm", "tcp", "hosts"};
  return names[static_cast<size_t>(kind)];
}
std::string_view nameOf(Blow blow) {
  constexpr std::string_view names[] = {"kill", "stop", "pause", "cut", "flicker", "none"};
  return names[static_cast<size_t>(blow)];
}
std::string_view nameOf(Point point) {
  constexpr std::string_view names[] = {"rendezvous", "any time",  "connecting",
                                        "joining",    "splitting", "transferring"};
  return names[static_cast<size_t>(point)];
}

/// Chooses where and when a fault hits a process. Steps 1, 4, 7 and 10 split cliques (stepOf).
static Fault strike(Chance &chance, Blow blow, int64_t victim, int64_t ranks) {
  Fault fault;
  fault.blow = blow;
  fault.victim = victim;
  fault.point = static_cast<Point>(chance.between(1, 6));
  switch (fault.point) {
  case Point::rendezvous:
    break;
  case Point::anyTime:
    fault.later = std::chrono::microseconds(chance.between(0, 40'000));
    break;
  case Point::connecting: // its own put, and its reads of the processes before it
    fault.at = chance.between(0, static_cast<uint64_t>(std::min(victim + 1, ranks)));
    break;
  case Point::joining:
    break;
  case Point::splitting:
    fault.at = 1 + 3 * chance.between(0, 3);
    fault.isAfterStart = chance.isOne(2);
    break;
  case Point::transferring:
    fault.at = chance.between(0, 6);
    fault.later = std::chrono::microseconds(chance.between(0, 6'000));
    break;
  }
  return fault;
}

static Fault strikeLink(Chance &chance, Blow blow, int64_t hosts) {
  Fault fault;
  fault.blow = blow;
  fault.victim = static_cast<int64_t>(chance.between(0, static_cast<uint64_t>(hosts)));
  fault.at = chance.between(0, 10);
  fault.later = std::chrono::microseconds(chance.between(0, 3'000));
  fault.point = Point::splitting;
  return fault;
}

FaultPlan FaultPlan::of(uint64_t seed) {
  Chance chance(seed);
  FaultPlan plan;
  plan.seed = seed;
  plan.engine = static_cast<EngineKind>(seed % 3);
  plan.ranks = static_cast<int64_t>(chance.between(3, 7));
  if (plan.engine == EngineKind::hosts)
    plan.ranks = 4;
  else if (chance.isOne(6))
    plan.ranks = 2;
  plan.hosts = plan.engine == EngineKind::shm   ? 1
               : plan.engine == EngineKind::tcp ? static_cast<int64_t>(chance.between(2, 4))
                                                : 2;
  for (int64_t rank = 0; rank < plan.ranks; ++rank)
    plan.hostOf.push_back(plan.engine == EngineKind::hosts ? rank / 2 : rank % plan.hosts);
  plan.isInArena = chance.isOne(2);
  plan.canSpin = chance.isOne(3);
  plan.most = chance.isOne(3) ? 256 << 10 : 32 << 10;

  auto badNetwork = [&] {
    plan.most = 8 << 10;
    switch (chance.between(0, 3)) {
    case 0:
      plan.loss = 0.01;
      return;
    case 1:
      plan.delay = std::chrono::microseconds(chance.between(500, 10'000));
      return;
    default:
      plan.bytesPerSecond = chance.between(5'000'000, 50'000'000);
    }
  };
  auto anyRank = [&] { return static_cast<int64_t>(chance.between(0, uint64_t(plan.ranks))); };
  const bool hasLinks = plan.hosts > 1;
  // With a single host there are no links, so only process faults are chosen.
  const uint64_t dice = chance.between(0, hasLinks ? 100 : 60);
  if (dice < 35 || plan.ranks == 2) {
    plan.faults = {strike(chance, Blow::kill, anyRank(), plan.ranks)};
    if (plan.faults[0].point == Point::connecting && chance.isOne(3))
      plan.faults[0].point = Point::rendezvous;
  } else if (dice < 47) { // a second kill while the others recover
    const int64_t first = anyRank();
    plan.faults = {strike(chance, Blow::kill, first, plan.ranks),
                   strike(chance, Blow::kill, (first + 1 + anyRank()) % plan.ranks, plan.ranks)};
    if (plan.faults[1].victim == first)
      plan.faults[1].victim = (first + 1) % plan.ranks;
  } else if (dice < 55) {
    plan.faults = {strike(chance, Blow::stop, anyRank(), plan.ranks)};
  } else if (dice < 60) {
    plan.faults = {strike(chance, Blow::pause, anyRank(), plan.ranks)};
  } else if (dice < 69) {
    plan.faults = {strikeLink(chance, Blow::cut, plan.hosts)};
  } else if (dice < 75) {
    plan.faults = {strikeLink(chance, Blow::flicker, plan.hosts)};
  } else if (dice < 90) {
    badNetwork();
    plan.faults = {Fault{Blow::none}};
  } else { // a death on a bad network
    badNetwork();
    plan.faults = {strike(chance, Blow::kill, anyRank(), plan.ranks)};
  }
  // A pause while no rank waits for the victim, or before the victim has connected, proves little.
  if (plan.faults[0].blow == Blow::pause && plan.faults[0].point == Point::anyTime)
    plan.faults[0].point = Point::joining;
  plan.isStoreLost = chance.isOne(4);
  return plan;
}

std::chrono::milliseconds FaultPlan::predictedStep() const {
  using namespace std::chrono_literals;
  // Four sums and a vote, each with at most two round trips.
  auto predicted = 50ms + 20 * std::chrono::ceil<std::chrono::milliseconds>(delay);
  if (bytesPerSecond > 0) // all pairs may share the link
    predicted += std::chrono::milliseconds(5 * 8 * most * ranks * ranks * 1000 /
                                           static_cast<int64_t>(bytesPerSecond));
  if (loss > 0) // several TCP retransmission timeouts, each twice as long as the one before
    predicted += 1000ms;
  if (faults[0].blow == Blow::flicker)
    predicted += 500ms;
  return predicted;
}

std::string FaultPlan::kind() const {
  std::string text;
  if (loss > 0)
    text = "1 % loss";
  else if (hasBadNetwork())
    text = "slow link";
  const Fault &first = faults[0];
  if (first.blow == Blow::none)
    return text;
  if (!text.empty())
    return concat(nameOf(first.blow), ", ", text);
  if (faults.size() > 1)
    return "two kills";
  if (first.blow == Blow::kill)
    return concat("kill, ", nameOf(first.point));
  return std::string(nameOf(first.blow));
}

std::string FaultPlan::text() const {
  std::string text = concat("seed ", seed, ": ", nameOf(engine), ", ", ranks, " ranks on hosts ",
                            listed(hostOf), isInArena ? ", in the arena" : "",
                            canSpin ? ", spinning" : "", isStoreLost ? ", store lost" : "");
  if (loss > 0)
    text += concat(", loss ", loss);
  if (delay.count() > 0)
    text += concat(", delay ", delay.count(), " us");
  if (bytesPerSecond > 0)
    text += concat(", ", bytesPerSecond / 1'000'000, " MB/s");
  for (const Fault &fault : faults)
    text += concat("; ", nameOf(fault.blow), " of ", fault.victim, " at ", nameOf(fault.point), " ",
                   fault.at, fault.isAfterStart ? ", started" : "", ", ", fault.later.count(),
                   " us later");
  return text;
}

} // namespace tilewright::collective::test
