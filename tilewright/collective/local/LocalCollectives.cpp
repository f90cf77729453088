#include "tilewright/collective/local/LocalCollectives.h"
#include "tilewright/collective/Clique.h"
#include "tilewright/collective/Move.h"
#include "tilewright/support/Concat.h"
#include "tilewright/support/Trace.h"

#include <algorithm>
#include <condition_variable>
#include <map>
#include <mutex>
#include <unordered_map>

namespace tilewright::collective {

namespace {

/// The rendezvous of one collective of one clique: which members have joined, and the progress of
/// each.
struct LocalRendezvous {
  explicit LocalRendezvous(Clique members)
      : members(std::move(members)), calls(this->members.size()), steps(this->members.size()) {}
  const Clique members;
  std::vector<std::optional<Call>> calls; // by member; set when it joins
  std::vector<int> steps;                 // by member: the last step that it has completed
};
/// The steps of a member: it has joined, it has done its first half, it has done its second half. A
/// member starts a step only when all members have completed the previous step, so no member reads
/// memory while another writes it.
constexpr int came = 1, halfDone = 2, allDone = 3;

/// State that the ranks of a run share.
struct Run {
  std::mutex mutex;
  std::condition_variable changed;
  // guarded by mutex:
  std::map<std::pair<Clique, uint64_t>, std::shared_ptr<LocalRendezvous>> rendezvous;
  std::vector<std::string> whereabouts; // by rank, for messages
  std::vector<bool> hasLeft;            // by rank
  std::optional<std::string> failure;   // why all ranks must stop; no work begins after it is set
  int working = 0;                      // ranks that access other ranks' memory right now
};

class LocalRank final : public Communicator {
public:
  LocalRank(std::shared_ptr<Run> run, int64_t rank, int64_t ranks, std::chrono::nanoseconds timeout)
      : run(std::move(run)), number(rank), ranks(ranks), timeout(timeout) {}
  ~LocalRank() override;

  int64_t rank() const override { return number; }
  int64_t size() const override { return ranks; }
  Result<Ticket> start(const Call &call) override;
  Status finish(Ticket ticket) override;
  void abandon(const Status &why) override;

private:
  struct Pending {
    std::shared_ptr<LocalRendezvous> rendezvous; // null: nothing to wait for
    std::pair<Clique, uint64_t> key;
    size_t mine = 0;
    Call call;
    int step = came;       // the last step that this rank has completed
    bool isOver = false;   // all members have completed all steps
    Status wrong;          // the error that this rank found in it
    bool isReady() const { // whether its next step can begin
      return !isOver && wrong.isOk() && rendezvous &&
             std::all_of(rendezvous->steps.begin(), rendezvous->steps.end(),
                         [&](int done) { return done >= step; });
    }
  };
  void awaitQuiet(std::unique_lock<std::mutex> &lock);
  void advance(Pending &pending, std::unique_lock<std::mutex> &lock);
  bool advanceAll(std::unique_lock<std::mutex> &lock);
  Result<int> work(const Pending &pending) const;
  std::optional<int64_t> whoLeft(const Pending &pending) const;
  Status stopped(Pending &pending);
  Status stuck(const Pending &pending) const;

  const std::shared_ptr<Run> run;
  const int64_t number, ranks;
  const std::chrono::nanoseconds timeout;
  std::map<Clique, uint64_t> sequence; // number of collectives begun, by clique
  std::map<Ticket, Pending> pending;
  Ticket nextTicket = 1;
};

LocalRank::~LocalRank() {
  std::unique_lock lock(run->mutex);
  run->hasLeft[static_cast<size_t>(number)] = true;
  run->whereabouts[static_cast<size_t>(number)] = "has left the run";
  const bool isUnderWay = std::any_of(pending.begin(), pending.end(), [](const auto &each) {
    return each.second.rendezvous && !each.second.isOver;
  });
  if (isUnderWay && !run->failure)
    run->failure = concat("rank ", number, " left the run while its collectives were in progress");
  run->changed.notify_all();
  if (isUnderWay)
    awaitQuiet(lock);
}

/// After a failure, waits until no rank accesses other ranks' memory. The wait is short, because no
/// new work begins.
void LocalRank::awaitQuiet(std::unique_lock<std::mutex> &lock) {
  run->changed.wait(lock, [&] { return run->working == 0; });
}

void LocalRank::abandon(const Status &why) {
  std::unique_lock lock(run->mutex);
  if (!run->failure)
    run->failure = concat("rank ", number, " failed: ", why.message());
  run->changed.notify_all();
  awaitQuiet(lock);
}

Result<Communicator::Ticket> LocalRank::start(const Call &call) {
  TILEWRIGHT_ASSIGN(std::optional<Clique> clique, cliqueOf(call, number, ranks));
  TILEWRIGHT_TRY(checkCall(call, clique ? static_cast<int64_t>(clique->size()) : 1));
  const Ticket ticket = nextTicket++;
  Pending &mine = pending[ticket];
  mine.call = call;
  if (!clique)
    return ticket;
  mine.mine =
      static_cast<size_t>(std::find(clique->begin(), clique->end(), number) - clique->begin());
  mine.key = {*clique, sequence[*clique]++};
  {
    std::lock_guard lock(run->mutex);
    std::shared_ptr<LocalRendezvous> &rendezvous = run->rendezvous[mine.key];
    if (!rendezvous)
      rendezvous = std::make_shared<LocalRendezvous>(std::move(*clique));
    mine.rendezvous = rendezvous;
    rendezvous->calls[mine.mine] = call;
    rendezvous->steps[mine.mine] = came;
  }
  run->changed.notify_all();
  return ticket;
}

Status LocalRank::stuck(const Pending &pending) const {
  const Call &call = pending.call;
  std::string text = concat(
      "rank ", number, " waited ",
      std::chrono::duration<double>(call.timeout.count() > 0 ? call.timeout : timeout).count(),
      " s in ", describe(call), " among ranks ", listed(pending.rendezvous->members));
  for (size_t i = 0; i < pending.rendezvous->members.size(); ++i)
    if (pending.rendezvous->steps[i] < pending.step) {
      const int64_t other = pending.rendezvous->members[i];
      text += concat("; rank ", other, " ", run->whereabouts[static_cast<size_t>(other)]);
    }
  return Status(Error::collectiveStuck, text + "; if the ranks are only slow, raise "
                                               "runtime.collective-timeout");
}

/// A missing member that has left the run, so it will never join.
std::optional<int64_t> LocalRank::whoLeft(const Pending &pending) const {
  const LocalRendezvous &rendezvous = *pending.rendezvous;
  for (size_t i = 0; i < rendezvous.members.size(); ++i)
    if (rendezvous.steps[i] < pending.step &&
        run->hasLeft[static_cast<size_t>(rendezvous.members[i])])
      return rendezvous.members[i];
  return std::nullopt;
}

/// Does this rank's part of the next step, after all members have completed the previous one.
/// Returns the step that the rank has now completed.
Result<int> LocalRank::work(const Pending &pending) const {
  const LocalRendezvous &rendezvous = *pending.rendezvous;
  const Call &call = pending.call;
  const size_t members = rendezvous.members.size(), tensors = call.tensors.size();
  std::vector<const std::byte *> in, out;
  std::vector<const int64_t *> ragged;
  for (size_t i = 0; i < members; ++i) {
    const Call &theirs = *rendezvous.calls[i];
    if (pending.step == came && !agree(theirs, *rendezvous.calls[0]))
      return mismatch(rendezvous.members[i], describe(theirs), rendezvous.members[0],
                      describe(*rendezvous.calls[0]));
    for (size_t t = 0; t < tensors; ++t) {
      in.push_back(theirs.tensors[t].in);
      out.push_back(theirs.tensors[t].out);
    }
    ragged.push_back(theirs.ragged.data());
  }
  const Party party{call, pending.mine, members, in, out, ragged};
  if (pending.step == halfDone) {
    collectShares(party);
    return allDone;
  }
  if (call.kind == Kind::allReduce) {
    std::vector<std::byte *> results;
    for (const Tensor &tensor : call.tensors)
      results.push_back(tensor.out);
    reduceShare(party, results);
    return halfDone;
  }
  std::optional<size_t> source;
  if (call.kind == Kind::permute)
    source = sourceOf(call, rendezvous.members, pending.mine);
  TILEWRIGHT_TRY(exchange(party, source));
  return allDone;
}

/// Runs one step of a collective whose members have all completed the previous step. Releases the
/// lock while this rank accesses the memory of other ranks.
void LocalRank::advance(Pending &pending, std::unique_lock<std::mutex> &lock) {
  // A rank returns only when all members are done, because until then a peer may still read its
  // operand.
  if (pending.step == allDone) {
    run->rendezvous.erase(pending.key);
    pending.isOver = true;
    return;
  }
  ++run->working;
  lock.unlock();
  Result<int> next = work(pending);
  lock.lock();
  --run->working;
  if (next.isOk()) {
    pending.step = pending.rendezvous->steps[pending.mine] = *next;
  } else {
    pending.wrong = std::move(next).takeStatus();
    if (!run->failure)
      run->failure = concat("rank ", number, " failed: ", pending.wrong.message());
  }
  run->changed.notify_all();
}

/// Advances all collectives that this rank has started, because peers may wait for any of them.
/// Returns whether one advanced.
bool LocalRank::advanceAll(std::unique_lock<std::mutex> &lock) {
  bool hasMoved = false;
  for (auto &[ticket, each] : pending)
    while (each.isReady() && (!run->failure || each.step == allDone)) {
      advance(each, lock);
      hasMoved = true;
    }
  return hasMoved;
}

/// The error that finish() returns: an earlier failure, a member that has left, or a timeout.
Status LocalRank::stopped(Pending &pending) {
  if (!pending.wrong.isOk())
    return std::move(pending.wrong);
  const std::string here = describe(pending.call);
  if (run->failure)
    return Status(Error::collectiveAborted,
                  concat("rank ", number, " stopped in ", here, " because ", *run->failure));
  const std::optional<int64_t> gone = whoLeft(pending);
  Status status = gone ? Status(Error::collectiveAborted,
                                concat("rank ", number, " waits in ", here, " for rank ", *gone,
                                       ", which has left the run"))
                       : stuck(pending);
  run->failure = status.message();
  return status;
}

Status LocalRank::finish(Ticket ticket) {
  auto found = pending.find(ticket);
  if (found == pending.end())
    return Status(Code::internal, "finish() called for a collective that was not started");
  Pending &mine = found->second;
  const Call &call = mine.call;
  trace::Span span("collective", call.name);
  if (!mine.rendezvous) {
    receive({call, 0, 1, {}, {}}, std::nullopt);
    pending.erase(found);
    return Status();
  }
  std::unique_lock lock(run->mutex);
  std::string &here = run->whereabouts[static_cast<size_t>(number)];
  Status status;
  while (!mine.isOver) {
    if (advanceAll(lock))
      continue;
    here = concat("waits in ", describe(call), " among ranks ", listed(mine.rendezvous->members));
    const bool isNews =
        run->changed.wait_for(lock, call.timeout.count() > 0 ? call.timeout : timeout, [&] {
          return run->failure || whoLeft(mine) ||
                 std::any_of(pending.begin(), pending.end(),
                             [](const auto &each) { return each.second.isReady(); });
        });
    if (isNews && !run->failure && !whoLeft(mine))
      continue;
    if (mine.isReady() && mine.step == allDone)
      continue; // it has completed, whatever failed since
    status = stopped(mine);
    run->changed.notify_all();
    awaitQuiet(lock);
    break;
  }
  if (mine.isOver)
    here = concat("last completed '", call.name, "'");
  pending.erase(found);
  return status;
}

} // namespace

struct LocalCollectives::State {
  std::mutex mutex;
  std::unordered_map<int64_t, std::weak_ptr<Run>> runs; // guarded by mutex
};

LocalCollectives::LocalCollectives(std::chrono::nanoseconds timeout)
    : timeout(timeout), state(std::make_shared<State>()) {}
LocalCollectives::~LocalCollectives() = default;

Result<std::unique_ptr<Communicator>> LocalCollectives::join(const RunMembership &own) {
  const auto [runId, rank, ranks, members] = own;
  std::lock_guard lock(state->mutex);
  std::shared_ptr<Run> run = state->runs[runId].lock();
  if (!run) {
    // Drop runs that have ended.
    std::erase_if(state->runs, [](const auto &entry) { return entry.second.expired(); });
    run = std::make_shared<Run>();
    run->whereabouts.resize(static_cast<size_t>(ranks), "has not joined a collective yet");
    run->hasLeft.resize(static_cast<size_t>(ranks));
    state->runs[runId] = run;
  }
  return std::unique_ptr<Communicator>(
      std::make_unique<LocalRank>(std::move(run), rank, ranks, timeout));
}

} // namespace tilewright::collective
