#include "tilewright/runtime/Processes.h"

#include "tilewright/collective/hosts/HostsEngine.h"
#include "tilewright/collective/plan/Agree.h"
#include "tilewright/collective/record/Folder.h"
#include "tilewright/collective/shm/ShmEngine.h"
#include "tilewright/support/Concat.h"
#include "tilewright/support/Trace.h"

#include <algorithm>
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

} // namespace

Status Processes::hear(std::vector<std::string> &hosts) {
  const auto key = [&](int64_t process) { return concat(self.job, "/process/", process); };
  const Note own{collective::hosts::nameOfThisHost(), self.kind, collective::record::newJobName(),
                 self.processes, self.devices};
  TILEWRIGHT_TRY(store->put(key(self.process), own.write()));
  const Deadline deadline = collective::after(self.patience);
  for (int64_t process = 0; process < self.processes; ++process) {
    Result<std::string> text = store->get(key(process), deadline);
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
  return Status();
}

Status Processes::connect(const std::vector<std::string> &hosts) {
  collective::Membership membership;
  membership.job = self.job;
  membership.process = self.process;
  membership.processOfRank = processOfDevice;
  const bool isOneHost = std::count(hosts.begin(), hosts.end(), hosts.front()) ==
                         static_cast<std::ptrdiff_t>(hosts.size());
  if (isOneHost) {
    collective::shm::ShmEngine::Options options;
    options.patience = options.connectPatience = self.patience;
    TILEWRIGHT_ASSIGN(engine, collective::shm::ShmEngine::connect(membership, *store, options));
    return record("shm");
  }
  collective::hosts::HostsEngine::Options options;
  options.patience = options.connectPatience = self.patience;
  TILEWRIGHT_ASSIGN(engine, collective::hosts::HostsEngine::connect(membership, *store, options));
  return record("hosts");
}

Status Processes::record(const char *engineName) {
  collective::record::Recorder::Options options;
  options.job = instance;
  options.process = self.process;
  options.processes = self.processes;
  options.jobRanks = static_cast<int64_t>(processOfDevice.size());
  options.ranks.clear();
  for (size_t device = 0; device < processOfDevice.size(); ++device)
    if (processOfDevice[device] == self.process)
      options.ranks.push_back(static_cast<int64_t>(device));
  options.entries = self.flightRecorderEntries;
  TILEWRIGHT_ASSIGN(recorder, collective::record::openRecorder(self.flightRecorder, options));
  if (recorder)
    engine = std::make_unique<collective::record::RecordedEngine>(std::move(engine), recorder,
                                                                  engineName);
  return Status();
}

Result<std::unique_ptr<Processes>>
Processes::meet(const Offer &offer, std::shared_ptr<collective::KeyValueStore> store) {
  trace::Span span("processes", "meet");
  if (!store || offer.process < 0 || offer.process >= offer.processes)
    return Status(Error::ranksNotConnected,
                  concat("a client is to be process ", offer.process, " of ", offer.processes,
                         store ? "" : ", and there is no key-value store to meet the others",
                         "; call jax.distributed.initialize with numbers from 0"));
  std::unique_ptr<Processes> made(new Processes(offer, std::move(store)));
  std::vector<std::string> hosts;
  TILEWRIGHT_TRY(made->hear(hosts));
  TILEWRIGHT_TRY(made->connect(hosts));
  return made;
}

Status Processes::agree(const collective::CommPlan &plan, std::span<const int> ids) {
  std::vector<int64_t> members;
  for (int id : ids)
    members.push_back(processOfDevice[static_cast<size_t>(id)]);
  std::sort(members.begin(), members.end());
  members.erase(std::unique(members.begin(), members.end()), members.end());
  int64_t number = 0;
  {
    std::lock_guard lock(mutex);
    number = loads[members]++;
  }
  collective::Participant participant;
  // Without the program's name: who loads another one is to be compared and not to be missed.
  const bool isEverybody = static_cast<int64_t>(members.size()) == self.processes;
  participant.load = concat(self.job, "/load ", number, " of ",
                            isEverybody ? "all processes" : concat("processes ", listed(members)));
  participant.process = std::find(members.begin(), members.end(), self.process) - members.begin();
  participant.processes = static_cast<int64_t>(members.size());
  return collective::agree(plan, participant, *store, collective::after(self.patience));
}

Result<std::shared_ptr<collective::Communicator>> Processes::communicator(std::span<const int> ids,
                                                                          size_t rank) {
  std::lock_guard lock(mutex);
  std::vector<int64_t> members(ids.begin(), ids.end());
  std::shared_ptr<collective::Communicator> &known = communicators[{members, rank}];
  if (!known) {
    // One run for as long as the client lives. Numbers of single runs would have to be equal on
    // all processes, and those that run programs on other devices between would have to count them.
    collective::Seat seat{1, static_cast<int64_t>(rank), static_cast<int64_t>(ids.size()),
                          std::move(members)};
    TILEWRIGHT_ASSIGN(known, engine->join(seat));
  }
  return known;
}

} // namespace tilewright::runtime
