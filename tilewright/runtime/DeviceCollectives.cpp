#include "tilewright/runtime/DeviceCollectives.h"

#include "tilewright/support/Concat.h"
#include "tilewright/support/Trace.h"

#include <algorithm>

namespace tilewright::runtime {

Status DeviceRanks::check() {
  {
    std::lock_guard lock(mutex);
    if (!failure.isOk())
      return copyOf(failure);
  }
  for (const std::unique_ptr<collective::DeviceCommunicator> &communicator : communicators)
    if (Status status = communicator->check(); !status.isOk()) {
      engine->hasFailed = true;
      return status;
    }
  return Status();
}

std::function<void(bool)> DeviceRanks::record(size_t local, const collective::Call &call) {
  const int64_t rank = communicators[local]->rank();
  collective::record::Track *track =
      recorder ? recorder->trackOf(devices[static_cast<size_t>(rank)]) : nullptr;
  if (!track)
    return nullptr;
  std::lock_guard lock(mutex); // a track has one writer at a time
  auto known = callSites.find({local, call.identity});
  if (known == callSites.end()) {
    Result<std::optional<collective::Clique>> clique =
        collective::cliqueOf(call, rank, static_cast<int64_t>(devices.size()));
    if (!clique.isOk() || !*clique)
      return nullptr;
    for (int64_t &member : **clique)
      member = devices[static_cast<size_t>(member)];
    known = callSites
                .emplace(std::pair(local, call.identity),
                         recorder->callSiteOf(*track, call, **clique, engine->engine->name()))
                .first;
  }
  const uint64_t number = track->begin(known->second.site, *known->second.progress, /*run=*/1,
                                       collective::record::State::started);
  return [self = shared_from_this(), track, number](bool isWell) {
    const Status why = isWell ? self->check() : Status();
    std::lock_guard lock(self->mutex);
    track->end(number, isWell && why.isOk());
    if (!why.isOk())
      track->explain(why.message());
  };
}

void DeviceRanks::fail(const Status &why) {
  {
    std::lock_guard lock(mutex);
    if (failure.isOk())
      failure = copyOf(why);
  }
  engine->revoke(why.message());
}

DeviceCollectives::~DeviceCollectives() {
  {
    std::lock_guard lock(mutex);
    stopping = true;
    changed.notify_all();
  }
  if (thread.joinable())
    thread.join();
}

Result<std::shared_ptr<DeviceRanks>>
DeviceCollectives::prepare(const std::vector<int64_t> &devices,
                           std::span<const collective::DeviceClique> cliques) {
  std::lock_guard one(connecting);
  std::shared_ptr<ConnectedEngine> current;
  {
    std::lock_guard lock(mutex);
    current = engine;
  }
  if (!current || current->hasFailed) {
    trace::Span span("collectives", "connect devices");
    current = std::make_shared<ConnectedEngine>();
    TILEWRIGHT_ASSIGN(current->engine, connect(connected));
    ++connected;
    std::lock_guard lock(mutex);
    engine = current;
  }
  trace::Span span("collectives", "prepare communicators");
  auto communicators = current->engine->prepare(devices, cliques, tilewright::after(timeout));
  if (!communicators.isOk()) {
    // Ranks may disagree on which communicators exist.
    Status status = std::move(communicators).takeStatus();
    current->revoke(status.message());
    return status;
  }
  return std::make_shared<DeviceRanks>(std::move(current), *std::move(communicators), devices,
                                       recorder);
}

void DeviceCollectives::revoke(const std::string &why) {
  std::shared_ptr<ConnectedEngine> current;
  {
    std::lock_guard lock(mutex);
    current = engine;
  }
  if (current)
    current->revoke(why);
}

void DeviceCollectives::watch(std::shared_ptr<DeviceRanks> ranks, Event done) {
  std::lock_guard lock(mutex);
  runs.push_back({std::move(ranks), std::move(done)});
  if (!thread.joinable())
    thread = std::thread([this] { watchRuns(); });
  changed.notify_all();
}

/// E6001 if a device has been in a collective for longer than the timeout.
Status DeviceCollectives::findStuck() {
  const std::vector<CollectiveUnderWay> all = backend.collectivesUnderWay();
  if (std::none_of(all.begin(), all.end(), [&](const auto &one) { return one.since > timeout; }))
    return Status();
  std::string where;
  for (const CollectiveUnderWay &one : all)
    where += concat(where.empty() ? "" : "; ", one.text);
  return Status(Error::collectiveStuck,
                concat("a collective on devices did not end within ", timeout.count(),
                       " s (runtime.collective-timeout): ", where));
}

/// A thread that waits for a stream learns neither of a dead peer nor of a late one from the
/// device, so a separate thread checks for both.
void DeviceCollectives::watchRuns() {
  trace::nameThread("collectives");
  constexpr std::chrono::milliseconds pause(5);
  std::unique_lock lock(mutex);
  while (true) {
    changed.wait(lock, [this] { return stopping || !runs.empty(); });
    if (stopping)
      return;
    std::vector<Run> current = runs;
    lock.unlock();
    const Status stuck = findStuck();
    for (const Run &run : current)
      if (!run.done.isReady()) {
        if (!stuck.isOk())
          run.ranks->fail(stuck);
        else if (Status status = run.ranks->check(); !status.isOk())
          run.ranks->fail(status);
      }
    current.clear();
    lock.lock();
    std::erase_if(runs, [](const Run &run) { return run.done.isReady(); });
    changed.wait_for(lock, pause, [this] { return stopping; });
  }
}

Status DeviceRun::begin(int64_t rank) {
  std::lock_guard lock(mutex);
  if (!failure.empty())
    return Status(Error::collectiveAborted,
                  concat("rank ", rank, " did not run, because ", failure));
  hasBegun = true;
  return Status();
}

void DeviceRun::fail(int64_t rank, const Status &why) {
  {
    std::lock_guard lock(mutex);
    if (failure.empty())
      failure = concat("rank ", rank, " failed: ", why.message());
    if (!hasBegun)
      return;
  }
  communicators->fail(Status(Error::collectiveAborted, failure));
}

Event DeviceRun::endOf(int64_t rank, const Event &own) {
  if (own.isFailed()) {
    fail(rank, own.status());
    return own;
  }
  auto ended = std::make_shared<Promise>();
  Event end = ended->event();
  collectives.watch(communicators, end);
  // On the stream, the end of a revoked collective looks like any other.
  own.onReady([self = shared_from_this(), rank, ended](const Status &status) {
    if (!status.isOk())
      self->fail(rank, status);
    ended->complete(status.isOk() ? self->communicators->check() : copyOf(status));
  });
  return end;
}

} // namespace tilewright::runtime
