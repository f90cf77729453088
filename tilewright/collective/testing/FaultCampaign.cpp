#include "tilewright/collective/testing/FaultCampaign.h"
#include "tilewright/collective/testing/FaultRank.h"
#include "tilewright/collective/testing/Processes.h"
#include "tilewright/support/Concat.h"

#include <csignal>
#include <sys/mman.h>
#include <unistd.h>

namespace tilewright::collective::test {

using namespace std::chrono_literals;

namespace {

/// Starts the processes of a plan, injects the faults that they cannot inject themselves, and
/// checks their records.
class Judge {
public:
  Judge(const FaultPlan &plan, Relay *relay);
  ~Judge() { munmap(board, sizeof(FaultBoard)); }
  Outcome judge();

private:
  void start();
  bool tend(); // true while a process is still running
  void tendFault(size_t epoch);
  int64_t struckAt(size_t epoch) const;
  void cutOff(int64_t host, bool isCut);
  void foresee();
  std::vector<int64_t> membersOf(size_t epoch) const;
  bool isQuorum(uint32_t left, size_t epoch) const;
  /// Whether a rank is expected to work to the end.
  bool isLast(int64_t rank) const {
    const size_t quiet = plan.faults[0].isFatal() ? plan.faults.size() : 0;
    return (views[quiet] & (1U << rank)) != 0;
  }
  bool isOn(int64_t rank, int64_t host) const {
    return plan.hostOf[static_cast<size_t>(rank)] == host;
  }
  std::vector<int64_t> culpritsFor(int64_t rank, const Fault &fault) const;
  void judgeEnds();
  void judgeEpoch(size_t epoch);
  void judgeError(size_t epoch, int64_t rank, const Record &record);
  void judgeRebuild(size_t epoch, bool isFromDeath);
  void wrong(const std::string &text) { outcome.wrongs.push_back(text); }
  const Record &recordOf(int64_t rank, size_t epoch) const {
    return board->records[static_cast<size_t>(rank)][epoch];
  }

  const FaultPlan &plan;
  Relay *const relay;
  FaultBoard *board;
  Processes processes;
  Chance chance;
  /// Expected members of each epoch as bits; 0: there is no such epoch.
  uint32_t views[maxEpochs + 1] = {};
  bool isOver[maxRanks] = {}; // has ended
  bool isStoreLost = false;
  bool isWell[maxEpochs] = {};
  Outcome outcome;
};

double milliseconds(int64_t nanoseconds) { return static_cast<double>(nanoseconds) / 1e6; }

Judge::Judge(const FaultPlan &plan, Relay *relay) : plan(plan), relay(relay), chance(~plan.seed) {
  void *memory =
      mmap(nullptr, sizeof(FaultBoard), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  board = static_cast<FaultBoard *>(memory); // zeros
  foresee();
}

/// Whether these survivors may continue: they are a majority, or half including the lowest member,
/// or all others are known to have ended, which only processes of the same host can know.
bool Judge::isQuorum(uint32_t left, size_t epoch) const {
  const uint32_t all = views[epoch];
  const int twice = 2 * __builtin_popcount(left), count = __builtin_popcount(all);
  if (twice > count || (twice == count && (left & all & -all)))
    return true;
  if (plan.faults[epoch].blow != Blow::kill)
    return false;
  const int64_t host = plan.hostOf[static_cast<size_t>(plan.faults[epoch].victim)];
  for (int64_t rank = 0; rank < plan.ranks; ++rank)
    if ((left & (1U << rank)) && !isOn(rank, host))
      return false;
  return true;
}

/// Computes which ranks will be in which epoch.
void Judge::foresee() {
  views[0] = (1U << plan.ranks) - 1;
  for (size_t epoch = 0; epoch < plan.faults.size() && views[epoch] != 0; ++epoch) {
    const Fault &fault = plan.faults[epoch];
    if (!fault.isFatal() || fault.point == Point::rendezvous)
      return;
    uint32_t gone = 0;
    for (int64_t rank = 0; rank < plan.ranks; ++rank)
      if (fault.blow == Blow::cut ? isOn(rank, fault.victim) : rank == fault.victim)
        gone |= views[epoch] & (1U << rank);
    // The part that is cut off may be the larger one.
    for (uint32_t left : {views[epoch] & ~gone, gone})
      if (isQuorum(left, epoch) && (left != gone || fault.blow == Blow::cut))
        views[epoch + 1] = left;
  }
}

void Judge::start() {
  if (relay) {
    relay->reset(plan.seed);
    for (size_t a = 0; a < static_cast<size_t>(plan.hosts); ++a)
      for (size_t b = 0; b < a; ++b) {
        relay->loss(a, b, plan.loss);
        relay->delay(a, b, plan.delay);
        relay->rate(a, b, plan.bytesPerSecond);
      }
  }
  for (int64_t rank = 0; rank < plan.ranks; ++rank)
    processes.start([&, rank](KeyValueStore &store, Report &) -> Status {
      std::string address = "127.0.0.1";
      if (relay) {
        const auto host = static_cast<size_t>(plan.hostOf[static_cast<size_t>(rank)]);
        TILEWRIGHT_TRY(relay->enter(host));
        address = relay->addressOf(host);
      }
      return FaultRank(plan, rank, address, *board, store).live();
    });
}

void Judge::cutOff(int64_t host, bool isCut) {
  for (int64_t other = 0; other < plan.hosts; ++other)
    if (other != host)
      isCut ? relay->cut(static_cast<size_t>(host), static_cast<size_t>(other))
            : relay->heal(static_cast<size_t>(host), static_cast<size_t>(other));
}

std::vector<int64_t> Judge::membersOf(size_t epoch) const {
  std::vector<int64_t> members;
  for (int64_t rank = 0; rank < plan.ranks; ++rank)
    if (views[epoch] & (1U << rank))
      members.push_back(rank);
  return members;
}

/// When the fault of an epoch happened; 0 if it has not yet.
int64_t Judge::struckAt(size_t epoch) const {
  const Fault &fault = plan.faults[epoch];
  if (fault.blow == Blow::cut || fault.blow == Blow::flicker)
    return board->linkStruck[epoch];
  const int64_t when = recordOf(fault.victim, epoch).struck;
  return when > now() ? 0 : when;
}

void Judge::tendFault(size_t epoch) {
  const Fault &fault = plan.faults[epoch];
  const bool isLink = fault.blow == Blow::cut || fault.blow == Blow::flicker;
  if (fault.blow == Blow::none) {
    board->isCalm = true;
    return;
  }
  if (isLink && board->linkStruck[epoch] == 0 &&
      board->steps[0] >= fault.at + 1) { // all have connected
    usleep(static_cast<useconds_t>(fault.later.count()));
    cutOff(fault.victim, true);
    board->linkStruck[epoch] = now();
  }
  const int64_t struck = struckAt(epoch);
  if (struck == 0)
    return;
  // A short fault ends by itself; a fatal one ends when the other ranks have recovered.
  bool isTime = milliseconds(now() - struck) > static_cast<double>(50 + plan.seed % 100);
  if (fault.isFatal()) {
    isTime = true;
    for (int64_t rank = 0; rank < plan.ranks; ++rank)
      isTime &=
          rank == fault.victim || board->isDone[rank] || isOver[rank] || board->out[rank] != 0;
  }
  if (isTime && !isWell[epoch]) {
    isWell[epoch] = true;
    if (isLink)
      cutOff(fault.victim, false);
    board->isCalm = true;
  }
  // Repeatedly, because on a machine that was stalled the process may be stopped later than
  // planned.
  if (isTime && !isLink && fault.blow != Blow::kill && !isOver[fault.victim])
    processes.signal(static_cast<size_t>(fault.victim), SIGCONT);
}

bool Judge::tend() {
  bool haveMet = true;
  for (int64_t rank = 0; rank < plan.ranks; ++rank)
    haveMet &= board->met[rank] != 0;
  if (plan.isStoreLost && haveMet && !std::exchange(isStoreLost, true))
    processes.removeStore();
  for (size_t epoch = 0; epoch < plan.faults.size(); ++epoch)
    tendFault(epoch);
  bool isMore = false;
  for (int64_t rank = 0; rank < plan.ranks; ++rank) {
    bool &isGone = isOver[rank];
    if (!isGone)
      isGone = processes.hasEnded(static_cast<size_t>(rank));
    isMore |= !isGone;
  }
  return isMore;
}

/// The ranks that an error may name as the culprit.
std::vector<int64_t> Judge::culpritsFor(int64_t rank, const Fault &fault) const {
  // Before there is a group, a rank that gives up because of the victim looks like a victim to the
  // next rank (collective/membership).
  const bool isRendezvous = fault.point == Point::rendezvous;
  if (fault.blow != Blow::cut && !isRendezvous)
    return {fault.victim};
  std::vector<int64_t> others;
  for (int64_t other = 0; other < plan.ranks; ++other)
    if (isRendezvous ? other != rank : isOn(other, fault.victim) != isOn(rank, fault.victim))
      others.push_back(other);
  return others;
}

void Judge::judgeError(size_t epoch, int64_t rank, const Record &record) {
  const Fault &fault = plan.faults[epoch];
  const std::string text = record.text;
  const std::string who = concat("rank ", rank, " in epoch ", epoch, ": ", text);
  bool isNamed = false;
  for (int64_t culprit : culpritsFor(rank, fault))
    for (const char *before : {"rank ", "process ", "processes ["})
      isNamed |= text.find(concat(before, culprit)) != std::string::npos;
  if (!isNamed)
    wrong(concat("the error does not name the right rank: ", who));
  const int error = record.error;
  const bool isRunning = record.failed >= 0;
  const auto is = [&](Error which) { return error == static_cast<int>(which); };
  if (isRunning ? !is(Error::collectiveAborted) && !is(Error::collectiveStuck)
                : !is(Error::ranksNotConnected) && !is(Error::epochOver))
    wrong(concat("unexpected error code: ", who));
  if (isRunning && (text.find(concat("'step", record.failed.load(), ".")) == std::string::npos ||
                    text.find("campaign.py:") == std::string::npos))
    wrong(concat("the error does not name the collective: ", who));
  const int64_t came = record.connecting != 0 ? record.connecting : board->began[rank];
  const int64_t from = std::max<int64_t>(struckAt(epoch), came);
  const double took = milliseconds(record.noticed - from);
  const bool isQuick =
      fault.blow == Blow::kill && fault.point != Point::rendezvous && !plan.hasBadNetwork();
  (isQuick ? outcome.notices : outcome.errors).push_back(took);
  const double limit = isQuick ? 50.0 * slowness() : static_cast<double>(limitOf(plan).count());
  if (took > limit)
    outcome.lates.push_back(concat("noticed after ", took, " ms, limit ", limit, ": ", who));
}

void Judge::judgeRebuild(size_t epoch, bool isFromDeath) {
  int64_t from = struckAt(epoch);
  if (!isFromDeath)
    for (int64_t rank : membersOf(epoch + 1))
      from = std::max<int64_t>(from, recordOf(rank, epoch).noticed);
  for (int64_t rank : membersOf(epoch + 1)) {
    const int64_t worked = recordOf(rank, epoch + 1).worked;
    if (worked == 0)
      continue; // reported elsewhere
    const double took = milliseconds(worked - from);
    outcome.rebuilds.push_back(took);
    const double limit =
        200.0 * slowness() +
        3.0 * static_cast<double>(plan.hasBadNetwork() ? plan.predictedStep().count() : 0);
    if (took > limit)
      outcome.lates.push_back(concat("rank ", rank, " worked again ", took, " ms after the ",
                                     isFromDeath ? "death" : "last error", ", limit ", limit));
  }
}

void Judge::judgeEpoch(size_t epoch) {
  const Fault &fault = plan.faults[epoch];
  if (views[epoch] == 0)
    return;
  if (!fault.isFatal()) {
    for (int64_t rank : membersOf(epoch))
      if (recordOf(rank, epoch).noticed != 0)
        wrong(concat("rank ", rank,
                     " got an error, though nothing was lost: ", recordOf(rank, epoch).text));
    return;
  }
  if (struckAt(epoch) == 0)
    return wrong(concat("the fault of epoch ", epoch, " did not happen"));
  const size_t quick = outcome.notices.size(), before = outcome.errors.size();
  for (int64_t rank : membersOf(epoch)) {
    const Record &record = recordOf(rank, epoch);
    const bool isVictim = fault.blow != Blow::cut && rank == fault.victim;
    if (isVictim && fault.blow == Blow::kill)
      continue;
    // An epoch may end so soon that a rank never enters it, and only hears of the next.
    const bool wasThere = record.connecting != 0 || fault.point == Point::rendezvous;
    if (record.noticed == 0 && wasThere)
      wrong(concat("rank ", rank, " got no error in epoch ", epoch));
    else if (record.noticed != 0 && !isVictim)
      judgeError(epoch, rank, record);
    if (isVictim && record.noticed != 0 && record.noticed < struckAt(epoch))
      wrong(concat("rank ", rank, " got its error before it was stopped: ", record.text));
  }
  // Ranks that the next epoch's fault hits are judged by that fault.
  if (epoch + 1 == plan.faults.size() && views[epoch + 1] != 0)
    judgeRebuild(epoch, outcome.notices.size() > quick && outcome.errors.size() == before);
}

void Judge::judgeEnds() {
  uint32_t dead = 0;
  for (size_t epoch = 0; epoch < plan.faults.size(); ++epoch)
    if (plan.faults[epoch].blow == Blow::kill && views[epoch] != 0)
      dead |= 1U << plan.faults[epoch].victim;
  for (int64_t rank = 0; rank < plan.ranks; ++rank) {
    const auto child = static_cast<size_t>(rank);
    const std::string end = processes.end(child);
    if (dead & (1U << rank)) {
      if (end != "ended by signal 9")
        wrong(concat("rank ", rank, " was not killed: ", end, " ", processes.said(child)));
    } else if (!end.empty()) {
      wrong(concat("rank ", rank, ": ", end, " ", processes.said(child)));
    } else if (isLast(rank) != board->isDone[rank]) {
      wrong(concat("rank ", rank,
                   isLast(rank) ? " left the job early with error "
                                : " did not leave the job, error ",
                   board->out[rank].load()));
    }
    outcome.steps += board->steps[rank];
  }
}

Outcome Judge::judge() {
  start();
  const Deadline deadline = after(30s + 4 * limitOf(plan));
  while (tend()) {
    if (std::chrono::steady_clock::now() > deadline) {
      for (int64_t rank = 0; rank < plan.ranks; ++rank)
        if (!isOver[rank]) {
          wrong(concat("rank ", rank, " hangs after ", board->steps[rank].load(),
                       " steps: ", recordOf(rank, 0).text));
          processes.signal(static_cast<size_t>(rank), SIGKILL);
        }
      return outcome;
    }
    usleep(200);
  }
  judgeEnds();
  for (size_t epoch = 0; epoch < plan.faults.size(); ++epoch)
    judgeEpoch(epoch);
  return outcome;
}

} // namespace

Outcome runPlan(const FaultPlan &plan, Relay *relay) {
  return Judge(plan, plan.hosts > 1 ? relay : nullptr).judge();
}

} // namespace tilewright::collective::test
