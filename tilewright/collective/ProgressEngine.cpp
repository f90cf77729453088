#include "tilewright/collective/ProgressEngine.h"
#include "tilewright/collective/Move.h"
#include "tilewright/support/Concat.h"
#include "tilewright/support/Trace.h"

#include <algorithm>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace tilewright::collective {

std::vector<int64_t> Membership::processes() const {
  std::vector<int64_t> all;
  for (int64_t process : processOfRank)
    if (process >= 0)
      all.push_back(process);
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  return all;
}

std::vector<int64_t> Membership::ranksOf(int64_t process) const {
  std::vector<int64_t> ranks;
  for (size_t rank = 0; rank < processOfRank.size(); ++rank)
    if (processOfRank[rank] == process)
      ranks.push_back(static_cast<int64_t>(rank));
  return ranks;
}

std::string Membership::ranksText(int64_t process) const {
  const std::vector<int64_t> ranks = ranksOf(process);
  return ranks.size() == 1 ? concat("rank ", ranks[0]) : concat("ranks ", listed(ranks));
}

bool FailureBox::set(std::string text) {
  std::lock_guard lock(mutex);
  if (has.load(std::memory_order_relaxed))
    return false;
  why = std::move(text);
  has.store(true, std::memory_order_release);
  return true;
}

std::string FailureBox::text() const {
  std::lock_guard lock(mutex);
  return why;
}

OrderedChannel &ProgressEngine::channelOf(const Clique &members, uint64_t salt) {
  // Channel id 0 means "none" in lookups.
  const uint64_t id = std::max<uint64_t>(hashOf(members, salt), 1);
  std::lock_guard lock(channelsMutex);
  OrderedChannel &channel = channels[id];
  if (channel.members.empty()) {
    channel.id = id;
    channel.members = members;
    channel.mine =
        static_cast<size_t>(std::find(members.begin(), members.end(), number) - members.begin());
  }
  return channel;
}

struct PendingCollective {
  Communicator::Ticket ticket = 0;
  OrderedChannel *channel = nullptr;
  /// A deep copy of a call, because the caller's may be destroyed before the collective ends.
  struct Copy {
    Call call;
    std::string text;
  };
  std::unique_ptr<Copy> owned;
  CollectiveRequest request;
  std::unique_ptr<Operation> operation; // set when it reaches the head of its channel
  bool isDone = false;
  Status end;
};

ProgressEngine::ProgressEngine(int64_t rank, std::chrono::nanoseconds timeout, FailureBox &failure)
    : number(rank), timeout(timeout), failure(failure) {}
ProgressEngine::~ProgressEngine() = default;

ProgressEngine::Ticket ProgressEngine::start(OrderedChannel &channel,
                                             const CollectiveRequest &request) {
  auto pending = std::make_unique<PendingCollective>();
  pending->channel = &channel;
  pending->owned = std::make_unique<PendingCollective::Copy>(
      PendingCollective::Copy{*request.call, std::string(request.text)});
  pending->request = request;
  pending->request.call = &pending->owned->call;
  pending->request.text = pending->owned->text;
  Ticket ticket;
  {
    std::lock_guard lock(inboxMutex);
    ticket = pending->ticket = nextTicket++;
    inbox.push_back(std::move(pending));
    hasMail.store(true, std::memory_order_release);
  }
  // Announce the collective now. If another thread makes progress, that thread will announce it.
  if (std::unique_lock lock(progressMutex, std::try_to_lock); lock)
    advanceAll();
  wakeProgressThread();
  return ticket;
}

void ProgressEngine::enqueue(PendingCollective &pending) {
  OrderedChannel &channel = *pending.channel;
  if (channel.sequence == 0 && channel.queue.empty() &&
      std::find(used.begin(), used.end(), &channel) == used.end())
    used.push_back(&channel);
  channel.queue.push_back(&pending);
}

void ProgressEngine::admit() {
  if (!hasMail.load(std::memory_order_acquire))
    return;
  std::vector<std::unique_ptr<PendingCollective>> fresh;
  {
    std::lock_guard lock(inboxMutex);
    fresh.swap(inbox);
    hasMail.store(false, std::memory_order_relaxed);
  }
  for (std::unique_ptr<PendingCollective> &pending : fresh) {
    enqueue(*pending);
    pendingByTicket[pending->ticket] = std::move(pending);
  }
}

Status ProgressEngine::stopped(const Call &call) const {
  return Status(Error::collectiveAborted, concat("rank ", number, " stopped in ", describe(call),
                                                 " because ", failure.text()));
}

/// Starts no collective after a failure. If a predecessor was dropped before it began, a new
/// collective would take its sequence number and receive the messages that peers sent for it.
void ProgressEngine::advance(OrderedChannel &channel) {
  while (!channel.queue.empty() && !failure.isSet()) {
    PendingCollective &pending = *channel.queue.front();
    if (!pending.operation)
      pending.operation = begin(channel, pending.request);
    Result<bool> result = pending.operation->advance();
    if (result.isOk() && !*result)
      return;
    pending.end = std::move(result).takeStatus();
    if (!pending.end.isOk())
      fail(pending.end.message());
    pending.isDone = true;
    pending.operation.reset();
    channel.queue.pop_front();
  }
}

void ProgressEngine::advanceAll() {
  admit();
  if (failure.isSet())
    return;
  for (OrderedChannel *channel : used)
    advance(*channel);
}

bool ProgressEngine::progress() {
  std::unique_lock lock(progressMutex, std::try_to_lock);
  if (!lock)
    return false;
  advanceAll();
  return !failure.isSet() && std::any_of(used.begin(), used.end(), [](OrderedChannel *channel) {
    return !channel->queue.empty();
  });
}

/// The maximum number of ranks that a message lists; a list of thousands would hide the cause.
static constexpr size_t maxNamed = 8;

static std::string shortList(const Clique &members) {
  return members.size() <= 2 * maxNamed
             ? concat("ranks ", listed(members))
             : concat(members.size(), " ranks from ", members.front(), " to ", members.back());
}

Status ProgressEngine::stuck(const PendingCollective &pending) {
  const std::chrono::nanoseconds waited =
      pending.request.call->timeout.count() > 0 ? pending.request.call->timeout : timeout;
  std::string text =
      concat("rank ", number, " waited ", std::chrono::duration<double>(waited).count(), " s in ",
             describe(*pending.request.call), " among ", shortList(pending.channel->members));
  size_t missing = 0;
  for (size_t i = 0; i < pending.channel->members.size(); ++i)
    if (i != pending.channel->mine && (!pending.operation || pending.operation->isMissing(i)) &&
        ++missing <= maxNamed)
      text += concat("; rank ", pending.channel->members[i], " ",
                     peerStatus(pending.channel->members[i]));
  if (missing > maxNamed)
    text += concat("; and ", missing - maxNamed, " more ranks");
  return Status(Error::collectiveStuck,
                text + "; if the ranks are only slow, raise runtime.collective-timeout");
}

/// "waits in 'all_reduce.3' … for rank 1 (waits in 'all_reduce.2' … for rank 2) among ranks
/// [0, 1, 2]"
std::string ProgressEngine::waiting(const PendingCollective &pending, bool withTheirs) {
  const Clique &members = pending.channel->members;
  std::string text = concat("waits in ", describe(*pending.request.call));
  const char *separator = " for rank ";
  size_t missing = 0;
  for (size_t i = 0; pending.operation && i < members.size(); ++i)
    if (i != pending.channel->mine && pending.operation->isMissing(i) && ++missing <= maxNamed) {
      text += concat(std::exchange(separator, ", rank "), members[i]);
      if (std::exchange(withTheirs, false)) // only for the first rank, to keep the text short
        text += concat(" (", peerStatus(members[i]), ")");
    }
  if (missing > maxNamed)
    text += concat(" and ", missing - maxNamed, " more");
  return concat(text, " among ", shortList(members));
}

Status ProgressEngine::wait(PendingCollective &pending) {
  const Call &call = *pending.request.call;
  const std::chrono::nanoseconds longest = call.timeout.count() > 0 ? call.timeout : timeout;
  std::optional<Deadline> deadline; // set lazily, to avoid reading the clock
  bool isOverdue = false;
  int published = 0; // how many status updates this long wait has published
  for (uint64_t round = 0;; ++round) {
    if (pending.isDone)
      break;
    if (failure.isSet()) {
      pending.end = stopped(call);
      break;
    }
    const bool isSleeping = isSleepRound(round);
    // Usually no other collective is in progress, so a spinning rank advances only its own channel.
    // A rank that sleeps between attempts must advance all channels: otherwise peers that need it
    // in another collective would wait while it sleeps.
    if (round < 64 && !isSleeping)
      advance(*pending.channel);
    else
      advanceAll();
    if (pending.isDone)
      break;
    if (isSleeping && !deadline) {
      deadline = after(longest);
      publishStatus(waiting(pending, false), false);
      enterSleep();
    }
    if (isSleeping) {
      if (auto who = pollPeers(*pending.channel, pending.operation.get(), pending.request.run)) {
        advanceAll(); // the member may have sent its data before it left
        if (!pending.isDone && !failure.isSet()) {
          pending.end = Status(Error::collectiveAborted, concat("rank ", number, " waits in ",
                                                                describe(call), " for ", *who));
          fail(pending.end.message());
          break;
        }
        continue;
      }
      const auto now = std::chrono::steady_clock::now();
      // At half of the timeout publish which ranks are missing; at three quarters also what those
      // ranks have published.
      if (published < 2 && now >= *deadline - longest / (2 << published))
        publishStatus(waiting(pending, published++ > 0), true);
      // A process may resume from SIGSTOP long after its deadline. So first process what has
      // arrived meanwhile, and give up only at the second overdue check.
      if (now >= *deadline && std::exchange(isOverdue, true)) {
        pending.end = stuck(pending);
        fail(pending.end.message());
        break;
      }
    }
    backOff(round);
  }
  if (deadline) {
    leaveSleep();
    // A rank that fails keeps its last status, because peers are about to read it.
    if (pending.end.isOk())
      publishStatus(concat("last completed ", describe(call)), published > 0);
  }
  return std::move(pending.end);
}

Status ProgressEngine::finish(Ticket ticket) {
  std::unique_lock lock(progressMutex);
  admit();
  Status status;
  if (auto found = pendingByTicket.find(ticket); found == pendingByTicket.end()) {
    status = failure.isSet()
                 ? Status(Error::collectiveAborted,
                          concat("rank ", number, " stopped because ", failure.text()))
                 : Status(Code::internal, "finish() called for a collective that was not started");
  } else {
    trace::Span span("collective", found->second->request.call->name);
    status = wait(*found->second);
    std::erase(found->second->channel->queue, found->second.get());
    pendingByTicket.erase(found);
  }
  const bool isMore = !pendingByTicket.empty();
  lock.unlock();
  if (isMore)
    wakeProgressThread();
  return status;
}

Status ProgressEngine::run(OrderedChannel &channel, const CollectiveRequest &request) {
  trace::Span span("collective", request.call->name);
  std::unique_lock lock(progressMutex);
  admit();
  PendingCollective pending;
  pending.channel = &channel;
  pending.request = request;
  enqueue(pending);
  Status status = wait(pending);
  if (!pending.isDone)
    std::erase(channel.queue, &pending);
  const bool isMore = !pendingByTicket.empty();
  lock.unlock();
  if (isMore)
    wakeProgressThread();
  return status;
}

bool ProgressEngine::drop(int64_t run) {
  std::lock_guard lock(progressMutex);
  admit();
  bool hasDropped = false;
  for (auto it = pendingByTicket.begin(); it != pendingByTicket.end();) {
    if (it->second->request.run != run) {
      ++it;
      continue;
    }
    hasDropped |= !it->second->isDone;
    std::erase(it->second->channel->queue, it->second.get());
    it = pendingByTicket.erase(it);
  }
  return hasDropped;
}

ProgressThread::ProgressThread(std::function<bool()> progress, std::function<void()> rest)
    : progress(std::move(progress)), rest(std::move(rest)) {}

ProgressThread::~ProgressThread() {
  {
    std::lock_guard lock(mutex);
    isOver = true;
  }
  changed.notify_all();
  if (thread.joinable())
    thread.join();
}

void ProgressThread::wake() {
  {
    std::lock_guard lock(mutex);
    if (isAwake)
      return;
    isAwake = true;
    if (!thread.joinable())
      thread = std::thread([this] { work(); });
  }
  changed.notify_all();
}

bool askForShortSlices() {
  // The kernel's struct sched_attr, in its first version; C libraries disagree about who defines
  // it.
  struct {
    uint32_t size = 48, policy = 0;
    uint64_t flags = 0;
    int32_t nice = 0;
    uint32_t priority = 0;
    uint64_t runtime = 0, deadline = 0, period = 0;
  } attributes;
  static_assert(sizeof attributes == 48);
  if (syscall(SYS_sched_getattr, 0, &attributes, sizeof attributes, 0) != 0 ||
      attributes.policy != 0) // not SCHED_OTHER: the user has decided
    return false;
  attributes.flags = 0;
  attributes.runtime = 100'000; // ns, the shortest that the kernel accepts
  return syscall(SYS_sched_setattr, 0, &attributes, 0) == 0;
}

void ProgressThread::work() {
  trace::nameThread("collective progress");
  pthread_setname_np(pthread_self(), "tw progress"); // what top and /proc show
  askForShortSlices();
  std::unique_lock lock(mutex);
  while (true) {
    changed.wait(lock, [&] { return isAwake || isOver; });
    if (isOver)
      return;
    isAwake = false; // a wake() from here on is not lost
    lock.unlock();
    while (progress()) {
      rest();
      std::lock_guard again(mutex);
      if (isOver)
        break;
    }
    lock.lock();
  }
}

ProgressRank::ProgressRank(RunMembership own, ProgressEngine &engine,
                           std::shared_ptr<void> keepAlive)
    : own(std::move(own)), engine(engine), keepAlive(std::move(keepAlive)) {}

ProgressRank::~ProgressRank() {
  if (engine.drop(own.run))
    engine.fail(
        concat("rank ", engine.rank(), " left the run while its collectives were in progress"));
  engine.leave(own.run);
}

/// An inline comparison, because these lists are short and a function call would cost more.
template <typename List> static bool isEqual(const List &a, const List &b) {
  if (a.size() != b.size())
    return false;
  for (size_t i = 0; i < a.size(); ++i)
    if (a[i] != b[i])
      return false;
  return true;
}

/// Whether a call equals one that was validated; pointers may differ. This runs on every call, so
/// it compares exactly what agree() compares plus the result shapes, each once.
static bool isSame(const Call &a, const Call &b) {
  if (a.kind != b.kind || a.order != b.order || a.dimension != b.dimension ||
      a.splitDimension != b.splitDimension || a.tensors.size() != b.tensors.size() ||
      a.reduction.body != b.reduction.body || a.reduction.operation != b.reduction.operation)
    return false;
  for (size_t i = 0; i < a.tensors.size(); ++i) {
    const Tensor &x = a.tensors[i], &y = b.tensors[i];
    if (x.element != y.element || !isEqual(x.inDims, y.inDims) || !isEqual(x.outDims, y.outDims))
      return false;
  }
  return true;
}

static bool isSame(const std::vector<std::vector<int64_t>> &a,
                   const std::vector<std::vector<int64_t>> &b) {
  if (a.size() != b.size())
    return false;
  for (size_t i = 0; i < a.size(); ++i)
    if (!isEqual(a[i], b[i]))
      return false;
  return true;
}

Result<ProgressRank::CachedCall *> ProgressRank::validate(const Call &call) {
  const bool isRagged = call.kind == Kind::raggedAllToAll; // its validation depends on values
  if (last && !isRagged && isSame(last->call, call) && isSame(last->groups, *call.groups))
    return last;
  for (CachedCall &each : calls)
    if (!isRagged && isSame(each.call, call) && isSame(each.groups, *call.groups))
      return last = &each;
  TILEWRIGHT_ASSIGN(std::optional<Clique> clique, cliqueOf(call, own.rank, own.ranks));
  TILEWRIGHT_TRY(checkCall(call, clique ? static_cast<int64_t>(clique->size()) : 1));
  // A program has few distinct calls. The limit bounds memory if a caller keeps changing shapes.
  constexpr size_t most = 256;
  if (calls.size() == most)
    calls.pop_front();
  CachedCall &fresh = calls.emplace_back();
  last = &fresh;
  fresh.call = call;
  fresh.call.ragged = {};
  fresh.groups = *call.groups;
  fresh.text = describe(call);
  fresh.request.run = own.run;
  fresh.request.site = siteHash(call);
  fresh.request.text = fresh.text;
  for (const Tensor &tensor : call.tensors)
    fresh.request.bytes += inBytes(tensor);
  if (!call.tensors.empty() && !call.reduction.isBody())
    fresh.request.combine = combineFor(call.reduction.operation, call.tensors[0].element);
  if (clique) {
    const auto mine = std::find(clique->begin(), clique->end(), own.rank) - clique->begin();
    if (call.kind == Kind::permute) {
      fresh.request.source = sourceOf(call, *clique, static_cast<size_t>(mine));
      fresh.request.target = targetOf(call, *clique, static_cast<size_t>(mine));
    }
    if (!own.members.empty())
      for (int64_t &member : *clique)
        member = own.members[static_cast<size_t>(member)];
    fresh.channel = &engine.channelOf(*clique);
  }
  return &fresh;
}

Result<Communicator::Ticket> ProgressRank::start(const Call &call) {
  TILEWRIGHT_ASSIGN(CachedCall * cached, validate(call));
  cached->request.call = &call;
  if (cached->channel)
    return engine.start(*cached->channel, cached->request);
  receive({call, 0, 1, {}, {}}, std::nullopt);
  return alone.emplace_back(nextAlone++);
}

Status ProgressRank::finish(Ticket ticket) {
  return std::erase(alone, ticket) ? Status() : engine.finish(ticket);
}

Status ProgressRank::run(const Call &call) {
  TILEWRIGHT_ASSIGN(CachedCall * cached, validate(call));
  cached->request.call = &call;
  if (cached->channel)
    return engine.run(*cached->channel, cached->request);
  receive({call, 0, 1, {}, {}}, std::nullopt);
  return Status();
}

void ProgressRank::abandon(const Status &why) {
  engine.fail(concat("rank ", engine.rank(), " failed: ", why.message()));
  engine.drop(own.run);
}

} // namespace tilewright::collective
