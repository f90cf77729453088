#include "tilewright/collective/testing/FaultRank.h"
#include "tilewright/collective/hosts/HostsEngine.h"
#include "tilewright/collective/tcp/TcpEngine.h"
#include "tilewright/collective/testing/Processes.h"
#include "tilewright/support/Concat.h"

#include <csignal>
#include <ctime>
#include <numeric>
#include <set>
#include <unistd.h>

namespace tilewright::collective::test {

using namespace std::chrono_literals;

std::chrono::milliseconds limitOf(const FaultPlan &plan) {
  return std::max<std::chrono::milliseconds>(3 * plan.predictedStep(), 500ms) * slowness();
}
/// Longer than the group's timeout, because the group knows better which rank is to blame
/// (liveThrough).
std::chrono::milliseconds timeoutOf(const FaultPlan &plan) { return limitOf(plan) * 9 / 10; }

/// A store that injects the fault at one of its calls: a put, or the first read of a key.
class StrikingStore final : public KeyValueStore {
public:
  StrikingStore(KeyValueStore &store, FaultRank &rank, uint64_t epoch, Point point)
      : store(store), rank(rank), epoch(epoch), point(point) {}
  Status put(std::string_view key, std::string_view value) override {
    count(key);
    return store.put(key, value);
  }
  Result<std::string> get(std::string_view key, Deadline deadline) override {
    count(key);
    return store.get(key, deadline);
  }
  Result<std::optional<std::string>> tryGet(std::string_view key) override {
    count(key);
    return store.tryGet(key);
  }

private:
  void count(std::string_view key) {
    if (keys.insert(std::string(key)).second && rank.isStruckAt(epoch, point, keys.size() - 1))
      rank.strike(epoch, 0us);
  }
  KeyValueStore &store;
  FaultRank &rank;
  const uint64_t epoch;
  const Point point;
  std::set<std::string> keys;
};

const Fault *FaultRank::faultOf(uint64_t epoch) const {
  return epoch < plan.faults.size() ? &plan.faults[epoch] : nullptr;
}

bool FaultRank::isStruckAt(uint64_t epoch, Point point, uint64_t at) {
  const Fault *fault = faultOf(epoch);
  return fault && fault->point == point && fault->at == at && fault->victim == rank &&
         (fault->blow == Blow::kill || fault->blow == Blow::stop || fault->blow == Blow::pause) &&
         recordOf(epoch).struck == 0;
}

/// Records the time first, so that the judge knows it whatever happens to the process.
void FaultRank::strike(uint64_t epoch, std::chrono::microseconds later) {
  const int number = faultOf(epoch)->blow == Blow::kill ? SIGKILL : SIGSTOP;
  const int64_t when = now() + std::chrono::nanoseconds(later).count();
  recordOf(epoch).struck = when;
  if (later.count() == 0) {
    kill(getpid(), number);
    return;
  }
  sigevent event = {};
  event.sigev_notify = SIGEV_SIGNAL;
  event.sigev_signo = number;
  timer_t timer;
  itimerspec at = {};
  at.it_value = {when / 1'000'000'000, when % 1'000'000'000};
  if (timer_create(CLOCK_MONOTONIC, &event, &timer) != 0 ||
      timer_settime(timer, TIMER_ABSTIME, &at, nullptr) != 0)
    abort();
}

Status FaultRank::note(uint64_t epoch, int step, Status status) const {
  Record &record = recordOf(epoch);
  if (status.isOk() || record.noticed != 0)
    return status;
  const int64_t when = now();
  record.error = status.error() ? static_cast<int>(*status.error()) : -1;
  record.failed = step;
  record.write(status.toString());
  record.noticed = when;
  return status;
}

Membership FaultRank::job() const {
  Membership job;
  job.process = rank;
  job.processOfRank.resize(static_cast<size_t>(plan.ranks));
  std::iota(job.processOfRank.begin(), job.processOfRank.end(), 0);
  return job;
}

Result<FaultRank::Connected> FaultRank::connect(const View &view, KeyValueStore &store,
                                                std::chrono::nanoseconds timeout) const {
  const Membership membership = view.membershipOf(job());
  Connected made;
  switch (plan.engine) {
  case EngineKind::shm: {
    shm::ShmEngine::Options options;
    options.arenaBytes = size_t(64) << 20;
    options.timeout = timeoutOf(plan);
    options.connectTimeout = timeout;
    TILEWRIGHT_ASSIGN(auto engine, shm::ShmEngine::connect(membership, store, options));
    made.arena = &engine->arena();
    made.engine = std::move(engine);
    break;
  }
  case EngineKind::tcp: {
    tcp::TcpEngine::Options options;
    options.address = address;
    options.timeout = timeoutOf(plan);
    options.connectTimeout = timeout;
    options.canSpin = plan.canSpin;
    TILEWRIGHT_ASSIGN(made.engine, tcp::TcpEngine::connect(membership, store, options));
    break;
  }
  case EngineKind::hosts: {
    hosts::HostsEngine::Options options;
    options.host = concat("host", plan.hostOf[static_cast<size_t>(rank)]);
    options.address = address;
    options.arenaBytes = size_t(64) << 20;
    options.timeout = timeoutOf(plan);
    options.connectTimeout = timeout;
    options.canSpin = plan.canSpin;
    TILEWRIGHT_ASSIGN(auto engine, hosts::HostsEngine::connect(membership, store, options));
    made.arena = &engine->arena();
    made.engine = std::move(engine);
    break;
  }
  }
  return made;
}

Status FaultRank::doStep(Communicator &communicator, shm::Arena *arena, const View &view,
                         uint64_t number) {
  Step step = stepOf(plan.seed * 64 + view.epoch, number, communicator.size(), plan.most);
  const Fault *fault = faultOf(view.epoch);
  if (fault && fault->point == Point::transferring && fault->at == number) {
    step.tasks[0].kind = Kind::allReduce;
    step.tasks[0].count = plan.most;
    step.tasks[0].groups.clear();
  }
  std::vector<std::byte *> pieces;
  auto allocate = [&](size_t bytes) -> std::byte * {
    std::byte *piece = arena && plan.isInArena ? arena->allocate(bytes) : nullptr;
    return piece ? pieces.emplace_back(piece) : nullptr;
  };
  std::deque<Work> works;
  for (const Task &task : step.tasks)
    works.emplace_back(task, communicator.rank(), communicator.size(), allocate);

  if (isStruckAt(view.epoch, Point::transferring, number))
    strike(view.epoch, fault->later);
  const bool isSplitting = isStruckAt(view.epoch, Point::splitting, number);
  if (isSplitting && !(fault->isAfterStart && step.isOverlapped))
    strike(view.epoch, 0us);
  Status first;
  auto look = [&](Status status, const Work &work) {
    if (status.isOk())
      status = work.check();
    if (!status.isOk() && (first.isOk() || status.code() == Code::internal))
      first = note(view.epoch, static_cast<int>(number), std::move(status));
  };
  if (!step.isOverlapped) {
    for (const Work &work : works)
      if (first.isOk())
        look(communicator.run(work.call()), work);
  } else {
    std::vector<std::pair<Communicator::Ticket, const Work *>> tickets;
    for (const Work &work : works) {
      auto ticket = communicator.start(work.call());
      if (ticket.isOk())
        tickets.emplace_back(*ticket, &work);
      else
        look(std::move(ticket).takeStatus(), work);
    }
    if (isSplitting && fault->isAfterStart)
      strike(view.epoch, 0us);
    // Finish in an order that differs per rank, and not at once.
    Chance chance(plan.seed * 977 + number * 31 + static_cast<uint64_t>(rank));
    if (chance.isOne(4))
      usleep(static_cast<useconds_t>(chance.between(0, 800)));
    for (size_t i = tickets.size(); i > 1; --i)
      std::swap(tickets[i - 1], tickets[chance.between(0, i)]);
    // Finish all of them, also after a failure: a collective that reports success must be correct.
    for (auto [ticket, work] : tickets)
      look(communicator.finish(ticket), *work);
  }
  for (std::byte *piece : pieces)
    arena->free(piece);
  return first;
}

/// Whether all ranks want to stop here; they vote with an all_reduce.
Result<bool> FaultRank::isEnd(Communicator &communicator, const View &view, uint64_t number) {
  const Fault *fault = faultOf(view.epoch);
  const bool wants = number >= 4 && (!fault || (!fault->isFatal() && board.isCalm));
  const std::vector<std::vector<int64_t>> all;
  int32_t votes = wants ? 1 : 0;
  const std::string name = concat("step", number, ".end");
  Call call;
  call.groups = &all;
  call.reduction.operation = ReductionKind::add;
  call.name = name;
  call.place = "campaign.py:9";
  auto *bytes = reinterpret_cast<std::byte *>(&votes);
  call.tensors = {{ElementType::i32, {1}, {1}, bytes, bytes}};
  TILEWRIGHT_TRY(note(view.epoch, static_cast<int>(number), communicator.run(call)));
  if (votes < 0 || votes > communicator.size())
    return Status(Code::internal, concat("wrong: ", votes, " of ", communicator.size(), " votes"));
  return votes == communicator.size();
}

Status FaultRank::work(Communicator &communicator, shm::Arena *arena, const View &view) {
  for (uint64_t number = 0;; ++number) {
    TILEWRIGHT_TRY(doStep(communicator, arena, view, number));
    TILEWRIGHT_ASSIGN(const bool isOver, isEnd(communicator, view, number));
    if (number == 0)
      recordOf(view.epoch).worked = now();
    ++board.steps[static_cast<size_t>(rank)];
    if (isOver)
      return Status();
    // The fault's point was never reached, so inject it now.
    const Fault *fault = faultOf(view.epoch);
    if (fault && number >= 30 && isStruckAt(view.epoch, fault->point, fault->at))
      strike(view.epoch, 0us);
  }
}

Status FaultRank::liveIn(membership::Group &group, const View &view) {
  Record &record = recordOf(view.epoch);
  record.connecting = now();
  const Fault *fault = faultOf(view.epoch);
  if (fault && isStruckAt(view.epoch, Point::anyTime, fault->at))
    strike(view.epoch, fault->later + 1us);
  const std::unique_ptr<KeyValueStore> notes = group.store(view.epoch);
  StrikingStore striking(*notes, *this, view.epoch, Point::connecting);
  // If a member will never come, the group ends the wait.
  auto made = connect(view, striking, 10s * slowness());
  if (!made.isOk()) {
    Status status = std::move(made).takeStatus();
    if (auto why = group.whyOver(view.epoch); why && status.error() == Error::epochOver)
      status = std::move(status).during(concat("connecting, because ", why->toString(job())));
    return note(view.epoch, -1, std::move(status));
  }
  record.connected = now();
  const auto watch =
      group.watch(view.epoch, [engine = made->engine.get(), job = job()](const auto &why) {
        engine->revoke(why.toString(job));
      });
  if (isStruckAt(view.epoch, Point::joining, 0))
    strike(view.epoch, 0us);
  const auto mine = std::find(view.members.begin(), view.members.end(), rank);
  TILEWRIGHT_ASSIGN(
      auto communicator,
      made->engine->join({static_cast<int64_t>(view.epoch) + 1, mine - view.members.begin(),
                          static_cast<int64_t>(view.members.size()), view.members}));
  return work(*communicator, made->arena, view);
}

Status FaultRank::stayOut(membership::Group *group, const View &view, Status why) {
  board.out[static_cast<size_t>(rank)] = why.error() ? static_cast<int>(*why.error()) : -1;
  if (!group)
    return Status();
  const Deadline deadline = after(10s * slowness());
  while (!board.isCalm && std::chrono::steady_clock::now() < deadline)
    usleep(1000);
  const std::unique_ptr<KeyValueStore> notes = group->store(view.epoch);
  if (connect(view, *notes, 300ms).isOk())
    return Status(Code::internal, concat("wrong: rank ", rank, " connected in epoch ", view.epoch,
                                         ", which has ended"));
  return Status();
}

Status FaultRank::liveThrough() {
  membership::Group::Config config;
  config.process = rank;
  config.processes = job().processOfRank;
  config.host = concat("host", plan.hostOf[static_cast<size_t>(rank)]);
  config.address = address;
  config.beat = limitOf(plan) / 13; // so that eight beats are well within the limit
  StrikingStore striking(store, *this, 0, Point::rendezvous);
  board.began[static_cast<size_t>(rank)] = now();
  auto met = membership::Group::join(config, striking, after(timeoutOf(plan)));
  if (!met.isOk())
    return stayOut(nullptr, {}, note(0, -1, std::move(met).takeStatus()));
  board.met[static_cast<size_t>(rank)] = now();
  membership::Group &group = **met;
  View view = group.view();
  while (true) {
    Status status = liveIn(group, view);
    if (status.isOk()) {
      board.isDone[static_cast<size_t>(rank)] = true;
      // Leaving a group ends the epoch, also for ranks that have not yet noticed that they are
      // done. So wait for all.
      const Deadline deadline = after(5s * slowness());
      for (int64_t member : view.members)
        while (!board.isDone[member] && std::chrono::steady_clock::now() < deadline)
          usleep(200);
      return status;
    }
    if (status.code() == Code::internal)
      return status;
    membership::Reason reason;
    reason.rank = rank;
    reason.text = status.message();
    group.revoke(view.epoch, reason);
    auto next = group.agree(view.epoch, after(5s * slowness()));
    if (!next.isOk())
      return stayOut(&group, view, std::move(next).takeStatus());
    view = *std::move(next);
    if (view.epoch >= maxEpochs)
      return Status(Code::internal, concat("wrong: unexpected epoch ", view.epoch));
  }
}

Status FaultRank::live() {
  std::thread([] {}).join(); // sanitizers start their own thread together with the first one
  const Census before = Census::take();
  TILEWRIGHT_TRY(liveThrough());
  Census later = Census::take();
  // The kernel lists a thread for a moment after it was joined.
  for (int tries = 0; later.threads > before.threads && tries < 100; ++tries) {
    usleep(1000);
    later = Census::take();
  }
  // So fewer threads than before are fine, too.
  if (later.descriptors != before.descriptors || later.threads > before.threads ||
      later.mappings != before.mappings)
    return Status(Code::internal,
                  concat("leaked: ", later.descriptors, " descriptors, ", later.threads,
                         " threads, ", later.mappings, " arenas; before: ", before.descriptors,
                         ", ", before.threads, ", ", before.mappings));
  return Status();
}

} // namespace tilewright::collective::test
