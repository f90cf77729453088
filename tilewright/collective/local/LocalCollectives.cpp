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

/// One collective of one clique: who has come, and how far each member is.
struct Meeting {
  explicit Meeting(Clique members)
      : members(std::move(members)), calls(this->members.size()), steps(this->members.size()) {}
  const Clique members;
  std::vector<std::optional<Call>> calls; // by member; there once it has come
  std::vector<int> steps;                 // by member: how many of the steps below it has done
};
/// Steps of a member: it came, it did its first half, it did its second half. Everybody waits for
/// all to have done a step before the next, so memory is read only while it is still.
constexpr int came = 1, halfDone = 2, allDone = 3;

/// Everything about one run that its ranks share.
struct Run {
  std::mutex mutex;
  std::condition_variable changed;
  // guarded by mutex:
  std::map<std::pair<Clique, uint64_t>, std::shared_ptr<Meeting>> meetings;
  std::vector<std::string> whereabouts; // by rank, for messages
  std::vector<bool> hasLeft;            // by rank
  std::optional<std::string> failure;   // why everybody must stop; no work begins after it is set
  int working = 0;                      // ranks that read or write memory of others right now
};

class LocalRank final : public Communicator {
public:
  LocalRank(std::shared_ptr<Run> run, int64_t rank, int64_t ranks,
            std::chrono::nanoseconds patience)
      : run(std::move(run)), number(rank), ranks(ranks), patience(patience) {}
  ~LocalRank() override;

  int64_t rank() const override { return number; }
  int64_t size() const override { return ranks; }
  Result<Ticket> start(const Call &call) override;
  Status finish(Ticket ticket) override;
  void abandon(const Status &why) override;

private:
  struct Pending {
    std::shared_ptr<Meeting> meeting; // null: nothing to wait for
    std::pair<Clique, uint64_t> key;
    size_t mine = 0;
    Call call;
    int step = came;       // the last that this rank has done
    bool isOver = false;   // all have done all
    Status wrong;          // what this rank found wrong with it
    bool isReady() const { // for its next step
      return !isOver && wrong.isOk() && meeting &&
             std::all_of(meeting->steps.begin(), meeting->steps.end(),
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
  const std::chrono::nanoseconds patience;
  std::map<Clique, uint64_t> sequence; // how many collectives of each clique have begun
  std::map<Ticket, Pending> pending;
  Ticket nextTicket = 1;
};

LocalRank::~LocalRank() {
  std::unique_lock lock(run->mutex);
  run->hasLeft[static_cast<size_t>(number)] = true;
  run->whereabouts[static_cast<size_t>(number)] = "has left the run";
  const bool isUnderWay = std::any_of(pending.begin(), pending.end(), [](const auto &each) {
    return each.second.meeting && !each.second.isOver;
  });
  if (isUnderWay && !run->failure)
    run->failure = concat("rank ", number, " has left the run with collectives under way");
  run->changed.notify_all();
  if (isUnderWay)
    awaitQuiet(lock);
}

/// After a failure: waits until nobody touches memory of others. Short, because no work begins.
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
    std::shared_ptr<Meeting> &meeting = run->meetings[mine.key];
    if (!meeting)
      meeting = std::make_shared<Meeting>(std::move(*clique));
    mine.meeting = meeting;
    meeting->calls[mine.mine] = call;
    meeting->steps[mine.mine] = came;
  }
  run->changed.notify_all();
  return ticket;
}

Status LocalRank::stuck(const Pending &pending) const {
  const Call &call = pending.call;
  std::string text = concat(
      "rank ", number, " waited ",
      std::chrono::duration<double>(call.patience.count() > 0 ? call.patience : patience).count(),
      " s in ", describe(call), " with ", listed(pending.meeting->members));
  for (size_t i = 0; i < pending.meeting->members.size(); ++i)
    if (pending.meeting->steps[i] < pending.step) {
      const int64_t other = pending.meeting->members[i];
      text += concat("; rank ", other, " ", run->whereabouts[static_cast<size_t>(other)]);
    }
  return Status(Error::collectiveStuck, text + "; if they only need longer, raise "
                                               "runtime.collective-timeout");
}

/// A member that is missing and will never come.
std::optional<int64_t> LocalRank::whoLeft(const Pending &pending) const {
  const Meeting &meeting = *pending.meeting;
  for (size_t i = 0; i < meeting.members.size(); ++i)
    if (meeting.steps[i] < pending.step && run->hasLeft[static_cast<size_t>(meeting.members[i])])
      return meeting.members[i];
  return std::nullopt;
}

/// This rank's part between the step that all have done and its next, which is returned.
Result<int> LocalRank::work(const Pending &pending) const {
  const Meeting &meeting = *pending.meeting;
  const Call &call = pending.call;
  const size_t members = meeting.members.size(), tensors = call.tensors.size();
  std::vector<const std::byte *> in, out;
  std::vector<const int64_t *> ragged;
  for (size_t i = 0; i < members; ++i) {
    const Call &theirs = *meeting.calls[i];
    if (pending.step == came && !agree(theirs, *meeting.calls[0]))
      return mismatch(meeting.members[i], describe(theirs), meeting.members[0],
                      describe(*meeting.calls[0]));
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
    source = sourceOf(call, meeting.members, pending.mine);
  TILEWRIGHT_TRY(exchange(party, source));
  return allDone;
}

/// One step of a collective whose members have all done the one before. The lock is let go while
/// this rank works on everybody's memory.
void LocalRank::advance(Pending &pending, std::unique_lock<std::mutex> &lock) {
  // Nobody may change its operand, or read on into its next step, while another still copies.
  if (pending.step == allDone) {
    run->meetings.erase(pending.key);
    pending.isOver = true;
    return;
  }
  ++run->working;
  lock.unlock();
  Result<int> next = work(pending);
  lock.lock();
  --run->working;
  if (next.isOk()) {
    pending.step = pending.meeting->steps[pending.mine] = *next;
  } else {
    pending.wrong = std::move(next).takeStatus();
    if (!run->failure)
      run->failure = concat("rank ", number, " failed: ", pending.wrong.message());
  }
  run->changed.notify_all();
}

/// Whoever waits for one collective pushes on what else it has started: others may wait for that.
bool LocalRank::advanceAll(std::unique_lock<std::mutex> &lock) {
  bool hasMoved = false;
  for (auto &[ticket, each] : pending)
    while (each.isReady() && (!run->failure || each.step == allDone)) {
      advance(each, lock);
      hasMoved = true;
    }
  return hasMoved;
}

/// After a failure, or for one that is found now.
Status LocalRank::stopped(Pending &pending) {
  if (!pending.wrong.isOk())
    return std::move(pending.wrong);
  const std::string here = describe(pending.call);
  if (run->failure)
    return Status(Error::collectiveAborted,
                  concat("rank ", number, " stops in ", here, " because ", *run->failure));
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
    return Status(Code::internal, "a collective is finished that was not started");
  Pending &mine = found->second;
  const Call &call = mine.call;
  trace::Span span("collective", call.name);
  if (!mine.meeting) {
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
    here = concat("waits in ", describe(call), " with ", listed(mine.meeting->members));
    const bool isNews =
        run->changed.wait_for(lock, call.patience.count() > 0 ? call.patience : patience, [&] {
          return run->failure || whoLeft(mine) ||
                 std::any_of(pending.begin(), pending.end(),
                             [](const auto &each) { return each.second.isReady(); });
        });
    if (isNews && !run->failure && !whoLeft(mine))
      continue;
    if (mine.isReady() && mine.step == allDone)
      continue; // it is over, whatever happened since
    status = stopped(mine);
    run->changed.notify_all();
    awaitQuiet(lock);
    break;
  }
  if (mine.isOver)
    here = concat("computes after '", call.name, "'");
  pending.erase(found);
  return status;
}

} // namespace

struct LocalCollectives::State {
  std::mutex mutex;
  std::unordered_map<int64_t, std::weak_ptr<Run>> runs; // guarded by mutex
};

LocalCollectives::LocalCollectives(std::chrono::nanoseconds patience)
    : patience(patience), state(std::make_shared<State>()) {}
LocalCollectives::~LocalCollectives() = default;

Result<std::unique_ptr<Communicator>> LocalCollectives::join(const Seat &seat) {
  const auto [runId, rank, ranks, members] = seat;
  std::lock_guard lock(state->mutex);
  std::shared_ptr<Run> run = state->runs[runId].lock();
  if (!run) {
    // Runs that are over are forgotten when the next one begins.
    std::erase_if(state->runs, [](const auto &entry) { return entry.second.expired(); });
    run = std::make_shared<Run>();
    run->whereabouts.resize(static_cast<size_t>(ranks), "computes");
    run->hasLeft.resize(static_cast<size_t>(ranks));
    state->runs[runId] = run;
  }
  return std::unique_ptr<Communicator>(
      std::make_unique<LocalRank>(std::move(run), rank, ranks, patience));
}

} // namespace tilewright::collective
