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
    Call call; // the one to work with if there is no meeting
  };
  void awaitQuiet(std::unique_lock<std::mutex> &lock);
  Status reach(const Pending &pending, int step, const Call &call);
  Status work(const Pending &pending, const Call &call);
  Status stopWorking(Status status);
  Status stuck(const Pending &pending, int step, const Call &call) const;

  const std::shared_ptr<Run> run;
  const int64_t number, ranks;
  const std::chrono::nanoseconds patience;
  std::map<Clique, uint64_t> sequence; // how many collectives of each clique have begun
  std::unordered_map<Ticket, Pending> pending;
  Ticket nextTicket = 1;
};

LocalRank::~LocalRank() {
  std::unique_lock lock(run->mutex);
  run->hasLeft[static_cast<size_t>(number)] = true;
  run->whereabouts[static_cast<size_t>(number)] = "has left the run";
  if (!pending.empty() && !run->failure)
    run->failure = concat("rank ", number, " has left the run with collectives under way");
  run->changed.notify_all();
  if (!pending.empty())
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

Status LocalRank::stuck(const Pending &pending, int step, const Call &call) const {
  std::string text = concat(
      "rank ", number, " waited ",
      std::chrono::duration<double>(call.patience.count() > 0 ? call.patience : patience).count(),
      " s in ", describe(call), " with ", listed(pending.meeting->members));
  for (size_t i = 0; i < pending.meeting->members.size(); ++i)
    if (pending.meeting->steps[i] < step) {
      const int64_t other = pending.meeting->members[i];
      text += concat("; rank ", other, " ", run->whereabouts[static_cast<size_t>(other)]);
    }
  return Status(Error::collectiveStuck, text + "; if they only need longer, raise "
                                               "runtime.collective-timeout");
}

/// Says that this member has done `step` and waits until every member has, or until it is known
/// that one never will. If all is well the rank may work on everybody's memory until its next step.
Status LocalRank::reach(const Pending &pending, int step, const Call &call) {
  const Meeting &meeting = *pending.meeting;
  auto isReached = [&] {
    return std::all_of(meeting.steps.begin(), meeting.steps.end(),
                       [&](int done) { return done >= step; });
  };
  auto whoLeft = [&]() -> std::optional<int64_t> {
    for (size_t i = 0; i < meeting.members.size(); ++i)
      if (meeting.steps[i] < step && run->hasLeft[static_cast<size_t>(meeting.members[i])])
        return meeting.members[i];
    return std::nullopt;
  };
  std::unique_lock lock(run->mutex);
  if (step > came)
    --run->working;
  pending.meeting->steps[pending.mine] = step;
  run->changed.notify_all();
  std::string &here = run->whereabouts[static_cast<size_t>(number)];
  here = concat("waits in ", describe(call), " with ", listed(meeting.members));
  const bool isOver =
      run->changed.wait_for(lock, call.patience.count() > 0 ? call.patience : patience,
                            [&] { return isReached() || run->failure || whoLeft(); });
  if (isReached() && (!run->failure || step == allDone)) {
    here = concat("computes after '", call.name, "'");
    if (step != allDone)
      ++run->working;
    return Status();
  }
  Status status;
  if (!isOver) {
    status = stuck(pending, step, call);
    run->failure = status.message();
  } else if (run->failure) {
    status = Status(Error::collectiveAborted, concat("rank ", number, " stops in ", describe(call),
                                                     " because ", *run->failure));
  } else {
    status = Status(Error::collectiveAborted,
                    concat("rank ", number, " waits in ", describe(call), " for rank ", *whoLeft(),
                           ", which has left the run"));
    run->failure = status.message();
  }
  run->changed.notify_all();
  awaitQuiet(lock);
  return status;
}

Status LocalRank::work(const Pending &pending, const Call &call) {
  const Meeting &meeting = *pending.meeting;
  const size_t members = meeting.members.size(), tensors = call.tensors.size();
  for (size_t i = 1; i < members; ++i)
    if (!agree(*meeting.calls[i], *meeting.calls[0])) {
      Status status = mismatch(meeting.members[i], describe(*meeting.calls[i]), meeting.members[0],
                               describe(*meeting.calls[0]));
      return stopWorking(std::move(status));
    }
  std::vector<const std::byte *> in, out;
  std::vector<const int64_t *> ragged;
  for (const std::optional<Call> &theirs : meeting.calls) {
    for (size_t t = 0; t < tensors; ++t) {
      in.push_back(theirs->tensors[t].in);
      out.push_back(theirs->tensors[t].out);
    }
    ragged.push_back(theirs->ragged.data());
  }
  const Party party{call, pending.mine, members, in, out, ragged};
  if (call.kind == Kind::allReduce) {
    std::vector<std::byte *> results;
    for (const Tensor &tensor : call.tensors)
      results.push_back(tensor.out);
    reduceShare(party, results);
    TILEWRIGHT_TRY(reach(pending, halfDone, call));
    collectShares(party);
    return Status();
  }
  std::optional<size_t> source;
  if (call.kind == Kind::permute)
    source = sourceOf(call, meeting.members, pending.mine);
  if (Status status = exchange(party, source); !status.isOk())
    return stopWorking(std::move(status));
  return Status();
}

/// A failure found while the rank works on memory of others.
Status LocalRank::stopWorking(Status status) {
  {
    std::lock_guard lock(run->mutex);
    --run->working;
  }
  abandon(status);
  return status;
}

Status LocalRank::finish(Ticket ticket) {
  auto found = pending.find(ticket);
  if (found == pending.end())
    return Status(Code::internal, "a collective is finished that was not started");
  Pending mine = std::move(found->second);
  pending.erase(found);
  const Call &call = mine.call;
  trace::Span span("collective", call.name);
  if (!mine.meeting) {
    receive({call, 0, 1, {}, {}}, std::nullopt);
    return Status();
  }
  TILEWRIGHT_TRY(reach(mine, came, call));
  TILEWRIGHT_TRY(work(mine, call));
  // Nobody may change its operand, or read on into its next step, while another still copies.
  TILEWRIGHT_TRY(reach(mine, allDone, call));
  std::lock_guard lock(run->mutex);
  run->meetings.erase(mine.key);
  return Status();
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
