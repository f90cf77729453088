#include "tilewright/runtime/Processes.h"

#include "tilewright/collective/Agree.h"
#include "tilewright/collective/hosts/HostsEngine.h"
#include "tilewright/collective/record/Folder.h"
#include "tilewright/collective/shm/ShmEngine.h"
#include "tilewright/runtime/DeviceCollectives.h"
#include "tilewright/support/Concat.h"
#include "tilewright/support/Fingerprint.h"
#include "tilewright/support/Trace.h"

#include <algorithm>
#include <map>
#include <sstream>

namespace tilewright::runtime {

namespace {

/// The description of itself that a process publishes. Change `magic` whenever the messages between
/// processes change.
struct Note {
  static constexpr std::string_view magic = "tilewright-process-3";
  std::string host, kind, instance;
  std::string choices; // the fingerprint of Config::choices
  int64_t processes = 0, devices = 0;

  std::string write() const {
    return concat(magic, "\n", host, "\n", kind, "\n", instance, "\n", choices, "\n", processes,
                  "\n", devices, "\n");
  }
  static std::optional<Note> read(const std::string &text) {
    std::istringstream lines(text);
    std::string first;
    Note note;
    if (!std::getline(lines, first) || first != magic || !std::getline(lines, note.host) ||
        !std::getline(lines, note.kind) || !std::getline(lines, note.instance) ||
        !std::getline(lines, note.choices) || !(lines >> note.processes >> note.devices))
      return std::nullopt;
    return note;
  }
};

/// Wraps a rank's communicator in one epoch: if a collective fails, ends the epoch for all
/// processes, including those that wait for something else.
class EpochRank final : public collective::Communicator {
public:
  EpochRank(std::shared_ptr<collective::membership::Group> group, uint64_t epoch, int64_t process,
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

class Processes::Epoch {
public:
  Epoch(std::shared_ptr<collective::membership::Group> group,
        const collective::membership::View &view)
      : group(std::move(group)), view(view), notes(this->group->store(view.epoch)) {}
  void revokeDevices(const std::string &why) {
    std::lock_guard lock(mutex);
    if (deviceCollectives)
      deviceCollectives->revoke(why);
  }
  bool isOver() const { return group->whyOver(view.epoch).has_value(); }

  const std::shared_ptr<collective::membership::Group> group;
  const collective::membership::View view;
  const std::unique_ptr<tilewright::KeyValueStore> notes;
  collective::Membership membership;
  std::shared_ptr<collective::record::Recorder> recorder;
  const char *engineName = "";
  std::shared_ptr<collective::OperandMemory> operandMemory;
  bool isRecorded = false;
  std::unique_ptr<collective::Engine> engine;

  std::mutex mutex;
  std::unique_ptr<DeviceCollectives> deviceCollectives; // guarded by mutex
  /// Revokes both engines at the epoch's end; after them, because its callback uses them.
  std::unique_ptr<collective::membership::Group::Watch> watch;

  // guarded by mutex:
  std::map<std::vector<int64_t>, int64_t> loads; // by processes: the number of loads
  std::map<std::pair<std::vector<int64_t>, size_t>, std::shared_ptr<collective::Communicator>>
      communicators; // by devices and rank
};

/// A line for each problem with its choice.
static std::string textOf(const std::map<std::string, std::string> &choices) {
  std::string text;
  for (const auto &[problem, choice] : choices)
    text += concat(problem, "\t", choice, "\n");
  return text;
}

/// The fingerprints of the choices of this process and of `process` differ: finds the difference.
Status Processes::compareChoices(int64_t process, tilewright::KeyValueStore &store,
                                 Deadline deadline) const {
  TILEWRIGHT_ASSIGN(const std::string text,
                    store.get(concat(self.job, "/choices/", process), deadline));
  std::map<std::string, std::string> theirs;
  std::istringstream lines(text);
  for (std::string problem, choice;
       std::getline(lines, problem, '\t') && std::getline(lines, choice);)
    theirs[problem] = choice;
  auto find = [](const std::map<std::string, std::string> &choices, const std::string &problem) {
    auto found = choices.find(problem);
    return found == choices.end() ? std::string("no measurement") : concat("'", found->second, "'");
  };
  std::map<std::string, std::string> all = self.choices;
  all.insert(theirs.begin(), theirs.end());
  std::string differences;
  int64_t count = 0;
  constexpr int64_t listed = 5;
  for (const auto &[problem, choice] : all) {
    const std::string here = find(self.choices, problem), there = find(theirs, problem);
    if (here != there && count++ < listed)
      differences += concat("\n  ", problem, ": ", here, " in process ", self.process, ", ", there,
                            " in process ", process);
  }
  return Status(Error::ranksNotConnected,
                concat("processes ", self.process, " and ", process,
                       " have different measurements, so their results could differ in the last "
                       "bits; products with different choices: ",
                       count, differences, count > listed ? "\n  …" : "",
                       "\ngive all processes the same runtime.tuning-file, or none"));
}

Status Processes::exchangeDescriptions(tilewright::KeyValueStore &store) {
  std::vector<std::string> hosts;
  const auto key = [&](int64_t process) { return concat(self.job, "/process/", process); };
  const std::string choices = textOf(self.choices);
  const Note own{collective::hosts::nameOfThisHost(),
                 self.kind,
                 collective::record::newJobName(),
                 tilewright::toString(fingerprintOf(std::as_bytes(std::span(choices)))),
                 self.processes,
                 self.devices};
  TILEWRIGHT_TRY(store.put(concat(self.job, "/choices/", self.process), choices));
  TILEWRIGHT_TRY(store.put(key(self.process), own.write()));
  const Deadline deadline = tilewright::after(self.timeout);
  for (int64_t process = 0; process < self.processes; ++process) {
    Result<std::string> text = store.get(key(process), deadline);
    if (!text.isOk())
      return Status(Error::ranksNotConnected,
                    concat("process ", self.process, " of ", self.processes, " waited ",
                           self.timeout.count(), " s for process ", process,
                           " to create its client: ", std::move(text).takeStatus().message(),
                           "; check that it is running and that all processes use the plugin"));
    const std::optional<Note> note = Note::read(*text);
    if (!note)
      return Status(Error::ranksNotConnected,
                    concat("process ", self.process, " cannot read the description that process ",
                           process, " published; use the same version of Tilewright for both"));
    if (note->processes != own.processes || note->kind != own.kind || note->devices < 1 ||
        note->devices > 65536)
      return Status(Error::ranksNotConnected,
                    concat("process ", process, " has ", note->devices, " devices of kind '",
                           note->kind, "' and is one of ", note->processes,
                           " processes, but process ", self.process, " has ", own.devices,
                           " of kind '", own.kind, "' and is one of ", own.processes,
                           "; start all processes with the same configuration"));
    if (note->choices != own.choices)
      return compareChoices(process, store, deadline);
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

Result<std::shared_ptr<Processes::Epoch>>
Processes::connect(const collective::membership::View &view) {
  auto epoch = std::make_shared<Epoch>(group, view);
  collective::Membership job;
  job.job = self.job;
  job.process = self.process;
  job.processOfRank = processOfDevice;
  epoch->membership = view.membershipOf(job);
  const collective::Membership &membership = epoch->membership;
  if (isOneHost) {
    collective::shm::ShmEngine::Options options;
    options.timeout = options.connectTimeout = self.timeout;
    TILEWRIGHT_ASSIGN(epoch->engine,
                      collective::shm::ShmEngine::connect(membership, *epoch->notes, options));
    epoch->engineName = "shm";
  } else {
    collective::hosts::HostsEngine::Options options;
    options.between = collective::hosts::betweenNamed(self.betweenHosts).value_or(options.between);
    options.mpiLibrary = self.mpiLibrary;
    options.timeout = options.connectTimeout = self.timeout;
    TILEWRIGHT_ASSIGN(epoch->engine,
                      collective::hosts::HostsEngine::connect(membership, *epoch->notes, options));
    epoch->engineName = "hosts";
  }
  epoch->operandMemory = epoch->engine->operandMemory();
  epoch->watch = group->watch(view.epoch, [epoch = epoch.get(), engine = epoch->engine.get(),
                                           job](const collective::membership::Reason &why) {
    // A process that left cleanly has completed its part of all collectives in flight.
    if (why.hasLeft)
      return;
    engine->revoke(why.toString(job));
    epoch->revokeDevices(why.toString(job));
  });
  return epoch;
}

/// Called when the first communicator of an epoch is created: epochs without collectives, such as
/// the short ones at the end of a job, are not worth recording.
Status Processes::record(Epoch &epoch) const {
  if (std::exchange(epoch.isRecorded, true))
    return Status();
  collective::record::Recorder::Options options;
  options.job = instance;
  options.epoch = epoch.view.epoch;
  options.process = self.process;
  options.processes = self.processes;
  options.jobRanks = static_cast<int64_t>(processOfDevice.size());
  options.ranks.clear();
  for (size_t device = 0; device < processOfDevice.size(); ++device)
    if (processOfDevice[device] == self.process)
      options.ranks.push_back(static_cast<int64_t>(device));
  options.entries = self.flightRecorderEntries;
  TILEWRIGHT_ASSIGN(epoch.recorder, collective::record::openRecorder(self.flightRecorder, options));
  if (epoch.recorder)
    epoch.engine = std::make_unique<collective::record::RecordedEngine>(
        std::move(epoch.engine), epoch.recorder, epoch.engineName);
  return Status();
}

std::shared_ptr<collective::record::Recorder> Processes::flightRecorder() const {
  std::lock_guard lock(mutex);
  return latest->recorder;
}

std::shared_ptr<collective::OperandMemory> Processes::operandMemory(const Epoch &epoch) {
  return epoch.operandMemory;
}

std::shared_ptr<collective::OperandMemory> Processes::operandMemory() const {
  std::lock_guard lock(mutex);
  return latest->operandMemory;
}

/// Runs on the thread that reconnects the surviving processes.
void Processes::recover() {
  trace::nameThread("processes");
  uint64_t epoch = group->view().epoch;
  {
    std::lock_guard lock(mutex);
    epoch = latest->view.epoch;
  }
  // Processes that can exchange messages but cannot connect retry only a few times.
  int failures = 0;
  while (true) {
    Result<collective::membership::View> next =
        group->agree(epoch, tilewright::after(std::chrono::hours(1)));
    Status status;
    if (!next.isOk()) {
      status = std::move(next).takeStatus();
      if (status.error() == Error::groupUnsettled && group->status().isOk())
        continue; // the timeout passed without a new epoch
    } else {
      epoch = next->epoch;
      Result<std::shared_ptr<Epoch>> made = connect(*next);
      if (made.isOk()) {
        failures = 0;
        std::lock_guard lock(mutex);
        latest = *std::move(made);
        changed.notify_all();
        continue;
      }
      status = std::move(made).takeStatus();
      constexpr int maxFailures = 5;
      if (group->status().isOk() && ++failures < maxFailures) {
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
Processes::join(const Config &config, std::shared_ptr<tilewright::KeyValueStore> store) {
  trace::Span span("processes", "join");
  if (!store || config.process < 0 || config.process >= config.processes)
    return Status(Error::ranksNotConnected,
                  concat("cannot create a client as process ", config.process, " of ",
                         config.processes, store ? "" : " without a key-value store",
                         "; call jax.distributed.initialize with process ids from 0"));
  std::unique_ptr<Processes> made(new Processes(config));
  TILEWRIGHT_TRY(made->exchangeDescriptions(*store));
  collective::membership::Group::Config self;
  self.job = config.job;
  self.process = config.process;
  for (int64_t process = 0; process < config.processes; ++process)
    self.processes.push_back(process);
  self.silentBeats = static_cast<int>(std::max<int64_t>(config.silence / self.beat, 2));
  TILEWRIGHT_ASSIGN(made->group, collective::membership::Group::join(
                                     self, *store, tilewright::after(config.timeout)));
  TILEWRIGHT_ASSIGN(made->latest, made->connect(made->group->view()));
  TILEWRIGHT_TRY(made->record(*made->latest));
  made->recovery = std::thread([processes = made.get()] { processes->recover(); });
  return made;
}

Processes::~Processes() {
  if (group)
    group->leave();
  if (recovery.joinable())
    recovery.join();
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

Result<std::shared_ptr<Processes::Epoch>> Processes::currentEpoch(Deadline deadline) {
  std::unique_lock lock(mutex);
  if (!changed.wait_until(lock, deadline, [&] { return !latest->isOver() || !end.isOk(); }))
    return Status(Error::groupUnsettled,
                  concat("process ", self.process, " timed out after ", self.timeout.count(),
                         " s waiting for the surviving processes to reconnect after epoch ",
                         latest->view.epoch));
  if (!end.isOk())
    return copyOf(end);
  return latest;
}

Result<std::shared_ptr<Processes::Epoch>> Processes::agree(const collective::CommPlan &plan,
                                                           std::span<const int> ids) {
  const std::vector<int64_t> members = processesOf(ids);
  const Deadline deadline = tilewright::after(self.timeout);
  while (true) {
    TILEWRIGHT_ASSIGN(std::shared_ptr<Epoch> epoch, currentEpoch(deadline));
    for (int64_t member : members)
      if (!epoch->view.has(member))
        return Status(Error::epochOver,
                      concat("process ", member, " is no longer in the job; epoch ",
                             epoch->view.epoch, " has processes ", listed(epoch->view.members),
                             "; use only their devices"));
    int64_t number = 0;
    {
      std::lock_guard lock(epoch->mutex);
      number = epoch->loads[members]++;
    }
    collective::Participant participant;
    // Leave out the program's name: a process that loads a different program must be detected by
    // the comparison, not missed because its key differs.
    const bool isWholeJob = static_cast<int64_t>(members.size()) == self.processes;
    participant.load = concat(self.job, "/program ", number, " on ",
                              isWholeJob ? "all processes" : concat("processes ", listed(members)));
    participant.process = std::find(members.begin(), members.end(), self.process) - members.begin();
    participant.processes = static_cast<int64_t>(members.size());
    Status status = collective::agree(plan, participant, *epoch->notes, deadline);
    if (status.isOk())
      return epoch;
    // If the epoch is over, retry: other processes may already be loading the program in the next
    // epoch.
    if (!epoch->isOver() || status.error() == Error::commPlanDiffers ||
        std::chrono::steady_clock::now() >= deadline)
      return status;
  }
}

Result<std::shared_ptr<collective::Communicator>>
Processes::communicator(Epoch &epoch, std::span<const int> ids, size_t rank) {
  std::lock_guard lock(epoch.mutex);
  std::vector<int64_t> members(ids.begin(), ids.end());
  std::shared_ptr<collective::Communicator> &known = epoch.communicators[{members, rank}];
  if (!known) {
    TILEWRIGHT_TRY(record(epoch));
    // Use the same run number for the whole epoch. Numbers per run would have to agree on all
    // processes, so a process would have to count runs in which it does not take part.
    collective::RunMembership own{1, static_cast<int64_t>(rank), static_cast<int64_t>(ids.size()),
                                  std::move(members)};
    TILEWRIGHT_ASSIGN(std::unique_ptr<collective::Communicator> made, epoch.engine->join(own));
    known = std::make_shared<EpochRank>(epoch.group, epoch.view.epoch, self.process, ids[rank],
                                        std::move(made));
  }
  return known;
}

DeviceCollectives &Processes::deviceCollectives(Epoch &epoch, Backend &backend) {
  std::lock_guard lock(epoch.mutex);
  // The job can run without a recording, so a full disk does not end it here.
  if (!epoch.deviceCollectives)
    (void)record(epoch);
  if (!epoch.deviceCollectives)
    epoch.deviceCollectives = std::make_unique<DeviceCollectives>(
        backend,
        [&epoch, &backend](uint64_t number) -> Result<std::unique_ptr<collective::DeviceEngine>> {
          // Only the next epoch can connect again, because all processes must do it.
          if (number > 0 || epoch.isOver())
            return Status(Error::epochOver,
                          concat("the devices of epoch ", epoch.view.epoch,
                                 " are no longer connected; load the program again"));
          return backend.connectDevices(epoch.membership, *epoch.notes);
        },
        self.timeout, epoch.recorder);
  return *epoch.deviceCollectives;
}

} // namespace tilewright::runtime
