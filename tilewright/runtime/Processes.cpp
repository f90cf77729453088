#include "tilewright/runtime/Processes.h"

#include "tilewright/collective/hosts/HostsEngine.h"
#include "tilewright/collective/plan/Agree.h"
#include "tilewright/collective/record/Folder.h"
#include "tilewright/collective/shm/ShmEngine.h"
#include "tilewright/support/Concat.h"
#include "tilewright/support/Trace.h"

#include <algorithm>
#include <map>
#include <sstream>

namespace tilewright::runtime {

using collective::Deadline;

namespace {

/// What a process writes about itself. Who changes what processes say to each other changes the
/// first line.
struct Note {
  static constexpr std::string_view magic = "tilewright-process-2";
  std::string host, kind, instance;
  int64_t processes = 0, devices = 0;

  std::string write() const {
    return concat(magic, "\n", host, "\n", kind, "\n", instance, "\n", processes, "\n", devices,
                  "\n");
  }
  static std::optional<Note> read(const std::string &text) {
    std::istringstream lines(text);
    std::string first;
    Note note;
    if (!std::getline(lines, first) || first != magic || !std::getline(lines, note.host) ||
        !std::getline(lines, note.kind) || !std::getline(lines, note.instance) ||
        !(lines >> note.processes >> note.devices))
      return std::nullopt;
    return note;
  }
};

/// A rank of an era. What goes wrong in a collective ends the era for all processes, also those
/// that wait elsewhere.
class RankOfEra final : public collective::Communicator {
public:
  RankOfEra(std::shared_ptr<collective::membership::Group> group, uint64_t epoch, int64_t process,
            int64_t device, std::unique_ptr<collective::Communicator> inner)
      : group(std::move(group)), epoch(epoch), process(process), device(device),
        inner(std::move(inner)) {}
  int64_t rank() const override { return inner->rank(); }
  int64_t size() const override { return inner->size(); }
  Result<Ticket> start(const collective::Call &call) override { return inner->start(call); }
  Status finish(Ticket ticket) override { return looked(inner->finish(ticket)); }
  Status run(const collective::Call &call) override { return looked(inner->run(call)); }
  void abandon(const Status &why) override {
    inner->abandon(why);
    tell(concat("rank ", device, " failed: ", why.message()));
  }

private:
  Status looked(Status status) {
    if (status.error() == Error::collectiveStuck || status.error() == Error::collectiveAborted ||
        status.error() == Error::collectiveMismatch)
      tell(status.message());
    return status;
  }
  void tell(const std::string &why) {
    group->revoke(epoch, collective::membership::Reason::of(process, why));
  }
  const std::shared_ptr<collective::membership::Group> group;
  const uint64_t epoch;
  const int64_t process, device;
  const std::unique_ptr<collective::Communicator> inner;
};

} // namespace

class Processes::Era {
public:
  Era(std::shared_ptr<collective::membership::Group> group,
      const collective::membership::View &view)
      : group(std::move(group)), view(view), notes(this->group->store(view.epoch)) {}
  bool isOver() const { return group->whyOver(view.epoch).has_value(); }

  const std::shared_ptr<collective::membership::Group> group;
  const collective::membership::View view;
  const std::unique_ptr<collective::KeyValueStore> notes;
  std::shared_ptr<collective::record::Recorder> recorder;
  const char *engineName = "";
  bool isRecorded = false;
  std::unique_ptr<collective::Engine> engine;
  std::unique_ptr<collective::membership::Group::Watch> watch; // ends the engine with the era

  std::mutex mutex;
  // guarded by mutex:
  std::map<std::vector<int64_t>, int64_t> loads; // by processes: how many
  std::map<std::pair<std::vector<int64_t>, size_t>, std::shared_ptr<collective::Communicator>>
      communicators; // by devices and rank
};

Status Processes::hear(collective::KeyValueStore &store) {
  std::vector<std::string> hosts;
  const auto key = [&](int64_t process) { return concat(self.job, "/process/", process); };
  const Note own{collective::hosts::nameOfThisHost(), self.kind, collective::record::newJobName(),
                 self.processes, self.devices};
  TILEWRIGHT_TRY(store.put(key(self.process), own.write()));
  const Deadline deadline = collective::after(self.patience);
  for (int64_t process = 0; process < self.processes; ++process) {
    Result<std::string> text = store.get(key(process), deadline);
    if (!text.isOk())
      return Status(Error::ranksNotConnected,
                    concat("process ", self.process, " of ", self.processes, " waited ",
                           self.patience.count(), " s for process ", process,
                           " to make its client: ", std::move(text).takeStatus().message(),
                           "; look whether it runs, and whether all processes use the plugin"));
    const std::optional<Note> note = Note::read(*text);
    if (!note)
      return Status(Error::ranksNotConnected,
                    concat("process ", process, " says things of itself that process ",
                           self.process,
                           " does not understand; use the same version of Tilewright for both"));
    if (note->processes != own.processes || note->kind != own.kind || note->devices < 1 ||
        note->devices > 65536)
      return Status(Error::ranksNotConnected,
                    concat("process ", process, " has ", note->devices, " devices of kind '",
                           note->kind, "' and is one of ", note->processes, " processes, process ",
                           self.process, " has ", own.devices, " of kind '", own.kind,
                           "' and is one of ", own.processes, "; start all in the same way"));
    if (process == 0)
      instance = note->instance;
    hosts.push_back(note->host);
    devices.push_back(note->devices);
    processOfDevice.insert(processOfDevice.end(), static_cast<size_t>(note->devices), process);
  }
  isOneHost = std::count(hosts.begin(), hosts.end(), hosts.front()) ==
              static_cast<std::ptrdiff_t>(hosts.size());
  return Status();
}

Result<std::shared_ptr<Processes::Era>>
Processes::connect(const collective::membership::View &view) {
  auto era = std::make_shared<Era>(group, view);
  collective::Membership job;
  job.job = self.job;
  job.process = self.process;
  job.processOfRank = processOfDevice;
  const collective::Membership membership = view.membershipOf(job);
  if (isOneHost) {
    collective::shm::ShmEngine::Options options;
    options.patience = options.connectPatience = self.patience;
    TILEWRIGHT_ASSIGN(era->engine,
                      collective::shm::ShmEngine::connect(membership, *era->notes, options));
    era->engineName = "shm";
  } else {
    collective::hosts::HostsEngine::Options options;
    options.between = collective::hosts::betweenNamed(self.betweenHosts).value_or(options.between);
    options.mpiLibrary = self.mpiLibrary;
    options.patience = options.connectPatience = self.patience;
    TILEWRIGHT_ASSIGN(era->engine,
                      collective::hosts::HostsEngine::connect(membership, *era->notes, options));
    era->engineName = "hosts";
  }
  era->watch = group->watch(
      view.epoch, [engine = era->engine.get(), job](const collective::membership::Reason &why) {
        // Who left in good order has done its part of everything that is under way.
        if (!why.hasLeft)
          engine->revoke(why.toString(job));
      });
  return era;
}

/// Later eras have a file once they compute: the last processes of a job that ends are alone in
/// one for a moment, and that is nothing to look at.
Status Processes::record(Era &era) const {
  if (std::exchange(era.isRecorded, true))
    return Status();
  collective::record::Recorder::Options options;
  options.job = instance;
  options.epoch = era.view.epoch;
  options.process = self.process;
  options.processes = self.processes;
  options.jobRanks = static_cast<int64_t>(processOfDevice.size());
  options.ranks.clear();
  for (size_t device = 0; device < processOfDevice.size(); ++device)
    if (processOfDevice[device] == self.process)
      options.ranks.push_back(static_cast<int64_t>(device));
  options.entries = self.flightRecorderEntries;
  TILEWRIGHT_ASSIGN(era.recorder, collective::record::openRecorder(self.flightRecorder, options));
  if (era.recorder)
    era.engine = std::make_unique<collective::record::RecordedEngine>(std::move(era.engine),
                                                                      era.recorder, era.engineName);
  return Status();
}

std::shared_ptr<collective::record::Recorder> Processes::flightRecorder() const {
  std::lock_guard lock(mutex);
  return latest->recorder;
}

/// The thread that brings those who are left together again.
void Processes::heal() {
  trace::nameThread("processes");
  uint64_t epoch = group->view().epoch;
  {
    std::lock_guard lock(mutex);
    epoch = latest->view.epoch;
  }
  // Processes that hear each other and cannot connect try that a few times, not for ever.
  int failures = 0;
  while (true) {
    Result<collective::membership::View> next =
        group->agree(epoch, collective::after(std::chrono::hours(1)));
    Status status;
    if (!next.isOk()) {
      status = std::move(next).takeStatus();
      if (status.error() == Error::groupUnsettled && group->status().isOk())
        continue; // nothing has happened
    } else {
      epoch = next->epoch;
      Result<std::shared_ptr<Era>> era = connect(*next);
      if (era.isOk()) {
        failures = 0;
        std::lock_guard lock(mutex);
        latest = *std::move(era);
        changed.notify_all();
        continue;
      }
      status = std::move(era).takeStatus();
      constexpr int mostFailures = 5;
      if (group->status().isOk() && ++failures < mostFailures) {
        group->revoke(epoch, collective::membership::Reason::of(self.process, status.message()));
        continue;
      }
    }
    std::lock_guard lock(mutex);
    end = std::move(status);
    changed.notify_all();
    return;
  }
}

Result<std::unique_ptr<Processes>>
Processes::meet(const Offer &offer, std::shared_ptr<collective::KeyValueStore> store) {
  trace::Span span("processes", "meet");
  if (!store || offer.process < 0 || offer.process >= offer.processes)
    return Status(Error::ranksNotConnected,
                  concat("a client is to be process ", offer.process, " of ", offer.processes,
                         store ? "" : ", and there is no key-value store to meet the others",
                         "; call jax.distributed.initialize with numbers from 0"));
  std::unique_ptr<Processes> made(new Processes(offer));
  TILEWRIGHT_TRY(made->hear(*store));
  collective::membership::Group::Offer self;
  self.job = offer.job;
  self.process = offer.process;
  for (int64_t process = 0; process < offer.processes; ++process)
    self.processes.push_back(process);
  self.silentBeats = static_cast<int>(std::max<int64_t>(offer.silence / self.beat, 2));
  TILEWRIGHT_ASSIGN(made->group, collective::membership::Group::meet(
                                     self, *store, collective::after(offer.patience)));
  TILEWRIGHT_ASSIGN(made->latest, made->connect(made->group->view()));
  TILEWRIGHT_TRY(made->record(*made->latest));
  made->healer = std::thread([processes = made.get()] { processes->heal(); });
  return made;
}

Processes::~Processes() {
  if (group)
    group->leave();
  if (healer.joinable())
    healer.join();
  latest.reset();
}

std::vector<int64_t> Processes::processesOf(std::span<const int> ids) const {
  std::vector<int64_t> members;
  for (int id : ids)
    members.push_back(processOfDevice[static_cast<size_t>(id)]);
  std::sort(members.begin(), members.end());
  members.erase(std::unique(members.begin(), members.end()), members.end());
  return members;
}

Result<std::shared_ptr<Processes::Era>> Processes::currentEra(Deadline deadline) {
  std::unique_lock lock(mutex);
  if (!changed.wait_until(lock, deadline, [&] { return !latest->isOver() || !end.isOk(); }))
    return Status(Error::groupUnsettled,
                  concat("process ", self.process, " waited ", self.patience.count(),
                         " s for those who are left after epoch ", latest->view.epoch,
                         " to connect again"));
  if (!end.isOk())
    return copyOf(end);
  return latest;
}

Result<std::shared_ptr<Processes::Era>> Processes::agree(const collective::CommPlan &plan,
                                                         std::span<const int> ids) {
  const std::vector<int64_t> members = processesOf(ids);
  const Deadline deadline = collective::after(self.patience);
  while (true) {
    TILEWRIGHT_ASSIGN(std::shared_ptr<Era> era, currentEra(deadline));
    for (int64_t member : members)
      if (!era->view.has(member))
        return Status(Error::epochOver,
                      concat("process ", member, " is no longer in the job, which has epoch ",
                             era->view.epoch, " with processes ", listed(era->view.members),
                             "; use devices of these"));
    int64_t number = 0;
    {
      std::lock_guard lock(era->mutex);
      number = era->loads[members]++;
    }
    collective::Participant participant;
    // Without the program's name: who loads another one is to be compared and not to be missed.
    const bool isEverybody = static_cast<int64_t>(members.size()) == self.processes;
    participant.load =
        concat(self.job, "/load ", number, " of ",
               isEverybody ? "all processes" : concat("processes ", listed(members)));
    participant.process = std::find(members.begin(), members.end(), self.process) - members.begin();
    participant.processes = static_cast<int64_t>(members.size());
    Status status = collective::agree(plan, participant, *era->notes, deadline);
    if (status.isOk())
      return era;
    // Others may load it in the next era already.
    if (!era->isOver() || status.error() == Error::commPlanDiffers ||
        std::chrono::steady_clock::now() >= deadline)
      return status;
  }
}

Result<std::shared_ptr<collective::Communicator>>
Processes::communicator(Era &era, std::span<const int> ids, size_t rank) {
  std::lock_guard lock(era.mutex);
  std::vector<int64_t> members(ids.begin(), ids.end());
  std::shared_ptr<collective::Communicator> &known = era.communicators[{members, rank}];
  if (!known) {
    TILEWRIGHT_TRY(record(era));
    // One run for as long as the era lasts. Numbers of single runs would have to be equal on
    // all processes, and those that run programs on other devices between would have to count them.
    collective::Seat seat{1, static_cast<int64_t>(rank), static_cast<int64_t>(ids.size()),
                          std::move(members)};
    TILEWRIGHT_ASSIGN(std::unique_ptr<collective::Communicator> made, era.engine->join(seat));
    known = std::make_shared<RankOfEra>(era.group, era.view.epoch, self.process, ids[rank],
                                        std::move(made));
  }
  return known;
}

} // namespace tilewright::runtime
