#include "tilewright/collective/Driver.h"
#include "tilewright/collective/Move.h"
#include "tilewright/support/Concat.h"
#include "tilewright/support/Trace.h"

#include <algorithm>

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

Lane &Driver::laneOf(const Clique &members, uint64_t salt) {
  // Zero means "none" where lanes are looked up.
  const uint64_t id = std::max<uint64_t>(hashOf(members, salt), 1);
  std::lock_guard lock(lanesMutex);
  Lane &lane = lanes[id];
  if (lane.members.empty()) {
    lane.id = id;
    lane.members = members;
    lane.mine =
        static_cast<size_t>(std::find(members.begin(), members.end(), number) - members.begin());
  }
  return lane;
}

struct Entry {
  Communicator::Ticket ticket = 0;
  Lane *lane = nullptr;
  /// If the caller's may go away.
  struct Copy {
    Call call;
    std::string text;
  };
  std::unique_ptr<Copy> owned;
  Turn turn;
  std::unique_ptr<Operation> operation; // once it is its turn
  bool isDone = false;
  Status end;
};

Driver::Driver(int64_t rank, std::chrono::nanoseconds patience, FailureBox &failure)
    : number(rank), patience(patience), failure(failure) {}
Driver::~Driver() = default;

Driver::Ticket Driver::start(Lane &lane, const Turn &turn) {
  auto entry = std::make_unique<Entry>();
  entry->lane = &lane;
  entry->owned = std::make_unique<Entry::Copy>(Entry::Copy{*turn.call, std::string(turn.text)});
  entry->turn = turn;
  entry->turn.call = &entry->owned->call;
  entry->turn.text = entry->owned->text;
  Ticket ticket;
  {
    std::lock_guard lock(inboxMutex);
    ticket = entry->ticket = nextTicket++;
    inbox.push_back(std::move(entry));
    hasMail.store(true, std::memory_order_release);
  }
  // Announces it, unless somebody is at it who will do so.
  if (std::unique_lock lock(driving, std::try_to_lock); lock)
    advanceAll();
  wakeHelper();
  return ticket;
}

void Driver::enqueue(Entry &entry) {
  Lane &lane = *entry.lane;
  if (lane.sequence == 0 && lane.queue.empty() &&
      std::find(used.begin(), used.end(), &lane) == used.end())
    used.push_back(&lane);
  lane.queue.push_back(&entry);
}

void Driver::admit() {
  if (!hasMail.load(std::memory_order_acquire))
    return;
  std::vector<std::unique_ptr<Entry>> fresh;
  {
    std::lock_guard lock(inboxMutex);
    fresh.swap(inbox);
    hasMail.store(false, std::memory_order_relaxed);
  }
  for (std::unique_ptr<Entry> &entry : fresh) {
    enqueue(*entry);
    entries[entry->ticket] = std::move(entry);
  }
}

Status Driver::stopped(const Call &call) const {
  return Status(Error::collectiveAborted,
                concat("rank ", number, " stops in ", describe(call), " because ", failure.text()));
}

/// Nothing begins after a failure: those before it may have been given up, and it would take their
/// number, and what the others sent for it.
void Driver::advance(Lane &lane) {
  while (!lane.queue.empty() && !failure.isSet()) {
    Entry &entry = *lane.queue.front();
    if (!entry.operation)
      entry.operation = begin(lane, entry.turn);
    Result<bool> result = entry.operation->advance();
    if (result.isOk() && !*result)
      return;
    entry.end = std::move(result).takeStatus();
    if (!entry.end.isOk())
      fail(entry.end.message());
    entry.isDone = true;
    entry.operation.reset();
    lane.queue.pop_front();
  }
}

void Driver::advanceAll() {
  admit();
  if (failure.isSet())
    return;
  for (Lane *lane : used)
    advance(*lane);
}

bool Driver::help() {
  std::unique_lock lock(driving, std::try_to_lock);
  if (!lock)
    return false;
  advanceAll();
  return !failure.isSet() &&
         std::any_of(used.begin(), used.end(), [](Lane *lane) { return !lane->queue.empty(); });
}

/// Ranks that a message names one by one; thousands would hide what it says.
static constexpr size_t mostNamed = 8;

static std::string shortList(const Clique &members) {
  return members.size() <= 2 * mostNamed
             ? listed(members)
             : concat(members.size(), " ranks from ", members.front(), " to ", members.back());
}

Status Driver::stuck(const Entry &entry) {
  const std::chrono::nanoseconds waited =
      entry.turn.call->patience.count() > 0 ? entry.turn.call->patience : patience;
  std::string text =
      concat("rank ", number, " waited ", std::chrono::duration<double>(waited).count(), " s in ",
             describe(*entry.turn.call), " with ", shortList(entry.lane->members));
  size_t missing = 0;
  for (size_t i = 0; i < entry.lane->members.size(); ++i)
    if (i != entry.lane->mine && (!entry.operation || entry.operation->isMissing(i)) &&
        ++missing <= mostNamed)
      text += concat("; rank ", entry.lane->members[i], " ", whereIs(entry.lane->members[i]));
  if (missing > mostNamed)
    text += concat("; and ", missing - mostNamed, " more ranks");
  return Status(Error::collectiveStuck,
                text + "; if they only need longer, raise runtime.collective-timeout");
}

/// "waits in 'all_reduce.3' … for rank 1 (waits in 'all_reduce.2' … for rank 2) with [0, 1, 2]"
std::string Driver::waiting(const Entry &entry, bool withTheirs) {
  const Clique &members = entry.lane->members;
  std::string text = concat("waits in ", describe(*entry.turn.call));
  const char *separator = " for rank ";
  size_t missing = 0;
  for (size_t i = 0; entry.operation && i < members.size(); ++i)
    if (i != entry.lane->mine && entry.operation->isMissing(i) && ++missing <= mostNamed) {
      text += concat(std::exchange(separator, ", rank "), members[i]);
      if (std::exchange(withTheirs, false)) // of the first; the text is short
        text += concat(" (", whereIs(members[i]), ")");
    }
  if (missing > mostNamed)
    text += concat(" and ", missing - mostNamed, " more");
  return concat(text, " with ", shortList(members));
}

Status Driver::wait(Entry &entry) {
  const Call &call = *entry.turn.call;
  const std::chrono::nanoseconds longest = call.patience.count() > 0 ? call.patience : patience;
  std::optional<Deadline> deadline; // a clock is read only by those who wait
  bool isOverdue = false;
  int said = 0; // in a long wait, how often
  for (uint64_t round = 0;; ++round) {
    if (entry.isDone)
      break;
    if (failure.isSet()) {
      entry.end = stopped(call);
      break;
    }
    const bool isPatiently = isPatient(round);
    // Most often there is nothing else. But who sleeps between its tries would keep those waiting
    // who need it elsewhere.
    if (round < 64 && !isPatiently)
      advance(*entry.lane);
    else
      advanceAll();
    if (entry.isDone)
      break;
    if (isPatiently && !deadline) {
      deadline = after(longest);
      say(waiting(entry, false), false);
      settle();
    }
    if (isPatiently) {
      if (auto who = lookAround(*entry.lane, entry.operation.get(), entry.turn.run)) {
        advanceAll(); // it may have come before it left
        if (!entry.isDone && !failure.isSet()) {
          entry.end = Status(Error::collectiveAborted,
                             concat("rank ", number, " waits in ", describe(call), " for ", *who));
          fail(entry.end.message());
          break;
        }
        continue;
      }
      const auto now = std::chrono::steady_clock::now();
      // Halfway: for whom. Later: and what those have said.
      if (said < 2 && now >= *deadline - longest / (2 << said))
        say(waiting(entry, said++ > 0), true);
      // A process that was stopped comes back to a deadline long past: what has come since is
      // looked at first.
      if (now >= *deadline && std::exchange(isOverdue, true)) {
        entry.end = stuck(entry);
        fail(entry.end.message());
        break;
      }
    }
    idle(round);
  }
  if (deadline) {
    rise();
    // Whoever fails leaves what it said: others are about to read it.
    if (entry.end.isOk())
      say(concat("computes after ", describe(call)), said > 0);
  }
  return std::move(entry.end);
}

Status Driver::finish(Ticket ticket) {
  std::unique_lock lock(driving);
  admit();
  Status status;
  if (auto found = entries.find(ticket); found == entries.end()) {
    status = failure.isSet()
                 ? Status(Error::collectiveAborted,
                          concat("rank ", number, " stops because ", failure.text()))
                 : Status(Code::internal, "a collective is finished that was not started");
  } else {
    trace::Span span("collective", found->second->turn.call->name);
    status = wait(*found->second);
    std::erase(found->second->lane->queue, found->second.get());
    entries.erase(found);
  }
  const bool isMore = !entries.empty();
  lock.unlock();
  if (isMore)
    wakeHelper();
  return status;
}

Status Driver::run(Lane &lane, const Turn &turn) {
  trace::Span span("collective", turn.call->name);
  std::unique_lock lock(driving);
  admit();
  Entry entry;
  entry.lane = &lane;
  entry.turn = turn;
  enqueue(entry);
  Status status = wait(entry);
  if (!entry.isDone)
    std::erase(lane.queue, &entry);
  const bool isMore = !entries.empty();
  lock.unlock();
  if (isMore)
    wakeHelper();
  return status;
}

bool Driver::drop(int64_t run) {
  std::lock_guard lock(driving);
  admit();
  bool hasDropped = false;
  for (auto it = entries.begin(); it != entries.end();) {
    if (it->second->turn.run != run) {
      ++it;
      continue;
    }
    hasDropped |= !it->second->isDone;
    std::erase(it->second->lane->queue, it->second.get());
    it = entries.erase(it);
  }
  return hasDropped;
}

Helper::Helper(std::function<bool()> help, std::function<void()> rest)
    : help(std::move(help)), rest(std::move(rest)) {}

Helper::~Helper() {
  {
    std::lock_guard lock(mutex);
    isOver = true;
  }
  changed.notify_all();
  if (thread.joinable())
    thread.join();
}

void Helper::wake() {
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

void Helper::work() {
  trace::nameThread("collective helper");
  std::unique_lock lock(mutex);
  while (true) {
    changed.wait(lock, [&] { return isAwake || isOver; });
    if (isOver)
      return;
    isAwake = false; // whoever wakes us from here on is heard
    lock.unlock();
    while (help()) {
      rest();
      std::lock_guard again(mutex);
      if (isOver)
        break;
    }
    lock.lock();
  }
}

DrivenRank::DrivenRank(Seat seat, Driver &driver, std::shared_ptr<void> keepAlive)
    : seat(std::move(seat)), driver(driver), keepAlive(std::move(keepAlive)) {}

DrivenRank::~DrivenRank() {
  if (driver.drop(seat.run))
    driver.fail(concat("rank ", driver.rank(), " has left the run with collectives under way"));
  driver.leave(seat.run);
}

/// Lists are short here, so comparing them in place is less than a call.
template <typename List> static bool isEqual(const List &a, const List &b) {
  if (a.size() != b.size())
    return false;
  for (size_t i = 0; i < a.size(); ++i)
    if (a[i] != b[i])
      return false;
  return true;
}

/// Whether a call is the same as one that was checked. Pointers may differ. Asked at each call, so
/// it compares what agree() compares and the results, and nothing twice.
static bool isSame(const Call &a, const Call &b) {
  if (a.kind != b.kind || a.order != b.order || a.dimension != b.dimension ||
      a.splitDimension != b.splitDimension || a.tensors.size() != b.tensors.size() ||
      a.reduction.body != b.reduction.body ||
      !isEqual(a.reduction.operation, b.reduction.operation))
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

Result<DrivenRank::Known *> DrivenRank::known(const Call &call) {
  const bool isRagged = call.kind == Kind::raggedAllToAll; // depends on values
  if (last && !isRagged && isSame(last->call, call) && isSame(last->groups, *call.groups))
    return last;
  for (Known &each : calls)
    if (!isRagged && isSame(each.call, call) && isSame(each.groups, *call.groups))
      return last = &each;
  TILEWRIGHT_ASSIGN(std::optional<Clique> clique, cliqueOf(call, seat.rank, seat.ranks));
  TILEWRIGHT_TRY(checkCall(call, clique ? static_cast<int64_t>(clique->size()) : 1));
  // Programs have few calls; whoever makes new shapes for ever does not fill the memory.
  constexpr size_t most = 256;
  if (calls.size() == most)
    calls.pop_front();
  Known &fresh = calls.emplace_back();
  last = &fresh;
  fresh.call = call;
  fresh.call.ragged = {};
  fresh.operation = call.reduction.operation;
  fresh.call.reduction.operation = fresh.operation;
  fresh.groups = *call.groups;
  fresh.text = describe(call);
  fresh.turn.run = seat.run;
  fresh.turn.site = siteHash(call);
  fresh.turn.text = fresh.text;
  for (const Tensor &tensor : call.tensors)
    fresh.turn.bytes += inBytes(tensor);
  if (!call.tensors.empty() && !call.reduction.isBody())
    fresh.turn.combine = combineFor(call.reduction.operation, call.tensors[0].element);
  if (clique) {
    const auto mine = std::find(clique->begin(), clique->end(), seat.rank) - clique->begin();
    if (call.kind == Kind::permute) {
      fresh.turn.source = sourceOf(call, *clique, static_cast<size_t>(mine));
      fresh.turn.target = targetOf(call, *clique, static_cast<size_t>(mine));
    }
    if (!seat.members.empty())
      for (int64_t &member : *clique)
        member = seat.members[static_cast<size_t>(member)];
    fresh.lane = &driver.laneOf(*clique);
  }
  return &fresh;
}

Result<Communicator::Ticket> DrivenRank::start(const Call &call) {
  TILEWRIGHT_ASSIGN(Known * known, this->known(call));
  known->turn.call = &call;
  if (known->lane)
    return driver.start(*known->lane, known->turn);
  receive({call, 0, 1, {}, {}}, std::nullopt);
  return alone.emplace_back(nextAlone++);
}

Status DrivenRank::finish(Ticket ticket) {
  return std::erase(alone, ticket) ? Status() : driver.finish(ticket);
}

Status DrivenRank::run(const Call &call) {
  TILEWRIGHT_ASSIGN(Known * known, this->known(call));
  known->turn.call = &call;
  if (known->lane)
    return driver.run(*known->lane, known->turn);
  receive({call, 0, 1, {}, {}}, std::nullopt);
  return Status();
}

void DrivenRank::abandon(const Status &why) {
  driver.fail(concat("rank ", driver.rank(), " failed: ", why.message()));
  driver.drop(seat.run);
}

} // namespace tilewright::collective
