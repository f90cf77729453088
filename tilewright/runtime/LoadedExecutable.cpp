#include "tilewright/runtime/LoadedExecutable.h"
#include "tilewright/runtime/Client.h"
#include "tilewright/runtime/Communication.h"
#include "tilewright/runtime/Launch.h"
#include "tilewright/support/Concat.h"

#include <algorithm>
#include <set>

namespace tilewright::runtime {

using artifact::Donation;

LoadedExecutable::LoadedExecutable(Client &client,
                                   std::shared_ptr<const artifact::Executable> program,
                                   DeviceAssignment assignment)
    : client(client), program(std::move(program)), assignment(std::move(assignment)),
      facts(std::make_unique<Facts>()) {}

LoadedExecutable::~LoadedExecutable() = default;

std::shared_ptr<DeviceProgram> LoadedExecutable::code() const {
  std::lock_guard lock(codeMutex);
  return loadedCode;
}

void LoadedExecutable::release() {
  std::shared_ptr<DeviceProgram> last; // destroyed without the lock, because that may take long
  std::lock_guard lock(codeMutex);
  last.swap(loadedCode);
}

int64_t LoadedExecutable::codeBytes() const {
  const std::shared_ptr<DeviceProgram> current = code();
  return current ? current->codeBytes() : 0;
}

const collective::CommPlan *LoadedExecutable::communication() const {
  return facts->communication ? &*facts->communication : nullptr;
}

/// Checks the assignment, loads the code and computes the facts.
Status LoadedExecutable::prepare() {
  const DeviceAssignment &a = assignment;
  if (a.replicas != program->replicas || a.partitions != program->partitions ||
      static_cast<int64_t>(a.devices.size()) != a.replicas * a.partitions)
    return Status(
        Error::deviceAssignment,
        concat("'", program->name, "' was compiled for ", program->replicas, " replicas of ",
               program->partitions, " partitions, but its device assignment has ", a.devices.size(),
               " devices for ", a.replicas, " replicas of ", a.partitions, " partitions"));
  for (size_t rank = 0; rank < a.devices.size(); ++rank) {
    Device *device = client.deviceWithId(a.devices[rank]);
    if (!device)
      return Status(Error::deviceAssignment,
                    concat("'", program->name, "' is assigned to device ", a.devices[rank],
                           ", which does not exist; this client has ", client.devices().size(),
                           " devices (runtime.devices)"));
    if (std::count(a.devices.begin(), a.devices.end(), a.devices[rank]) != 1)
      return Status(Error::deviceAssignment, concat("'", program->name, "' is assigned to device ",
                                                    a.devices[rank], " more than once"));
    if (!device->isAddressable()) {
      isShared = true;
      continue;
    }
    localDevices.push_back(device);
    localIds.push_back({static_cast<int>(static_cast<int64_t>(rank) / a.partitions),
                        static_cast<int>(static_cast<int64_t>(rank) % a.partitions)});
  }

  if (localDevices.empty())
    return Status(Error::deviceAssignment,
                  concat("'", program->name, "' is assigned to devices ", listed(a.devices),
                         ", none of which belongs to this process, process ", client.processIndex(),
                         "; load it only in processes that own one of them"));

  facts->name = std::shared_ptr<const std::string>(program, &program->name);
  facts->isDonated.resize(program->parameters.size());
  for (size_t i = 0; i < program->parameters.size(); ++i)
    facts->isDonated[i] = program->parameters[i].donation == Donation::must;
  std::multiset<size_t> unclaimed; // sizes of the results that alias no parameter
  for (const artifact::ResultInfo &info : program->results) {
    Facts::ResultFacts &result = facts->results.emplace_back();
    result.type = std::shared_ptr<const TensorType>(program, &info.type);
    TILEWRIGHT_ASSIGN(result.bytes, byteCountOf(info.type));
    for (Device *device : localDevices) {
      Memory *memory = device->memoryOfKind(info.memoryKind);
      if (!memory)
        return Status(Error::deviceAssignment,
                      concat("a result of '", program->name, "' must be in memory '",
                             info.memoryKind, "', which ", device->toString(), " does not have"));
      result.memories.push_back(memory);
    }
    if (info.aliasOf != artifact::none)
      facts->isDonated[info.aliasOf] = true;
    else
      unclaimed.insert(result.bytes);
  }
  // If no result can reuse a donated buffer, the caller keeps the array, as in jaxlib.
  for (size_t i = 0; i < program->parameters.size(); ++i) {
    if (facts->isDonated[i] || program->parameters[i].donation != Donation::may)
      continue;
    TILEWRIGHT_ASSIGN(size_t bytes, byteCountOf(program->parameters[i].type));
    auto fitting = unclaimed.find(bytes);
    if (fitting == unclaimed.end())
      continue;
    unclaimed.erase(fitting);
    facts->isDonated[i] = true;
  }
  facts->hasDonation =
      std::find(facts->isDonated.begin(), facts->isDonated.end(), true) != facts->isDonated.end();
  for (const artifact::Block &block : program->blocks)
    for (const artifact::Step &step : block.steps)
      facts->hasCollectives |= std::holds_alternative<artifact::CollectiveStartStep>(step.action);

  TILEWRIGHT_ASSIGN(facts->communication, communicationOf(*program));
  std::vector<ProgramPlace> places;
  for (size_t local = 0; local < localDevices.size(); ++local)
    places.push_back({localDevices[local], localIds[local].replica, localIds[local].partition});
  TILEWRIGHT_ASSIGN(loadedCode, client.backend().load(program, places, client.threadPool()));
  const DeviceProgram &code = *loadedCode; // no other thread has the executable yet
  if (isShared)
    TILEWRIGHT_TRY(agreeWithOtherProcesses(code));
  if (code.deviceCliques().empty())
    return Status();
  if (!deviceCollectives)
    deviceCollectives = &client.deviceCollectives();
  Result<std::shared_ptr<DeviceRanks>> made = deviceRanks(code);
  return made.isOk() ? Status()
                     : std::move(made).takeStatus().during(concat("loading '", program->name, "'"));
}

Result<std::shared_ptr<DeviceRanks>> LoadedExecutable::deviceRanks(const DeviceProgram &code) {
  std::lock_guard lock(ranksMutex);
  if (ranks && (isShared || ranks->check().isOk()))
    return ranks;
  TILEWRIGHT_ASSIGN(
      ranks, deviceCollectives->prepare({assignment.devices.begin(), assignment.devices.end()},
                                        code.deviceCliques()));
  return ranks;
}

/// All processes of the assignment call this when they load a program, whether it has collectives
/// or not: otherwise a process that loads a different program could not be detected.
Status LoadedExecutable::agreeWithOtherProcesses(const DeviceProgram &code) {
  Processes &processes = *client.processes();
  if (facts->hasCollectives && !facts->communication)
    return Status(Error::commPlanForeign,
                  concat("'", program->name,
                         "' has collectives but no communication plan for the processes to "
                         "compare; compile the program again"));
  const collective::CommPlan none;
  const collective::CommPlan &plan = facts->communication ? *facts->communication : none;
  Result<std::shared_ptr<Processes::Epoch>> epoch = processes.agree(plan, assignment.devices);
  if (!epoch.isOk())
    return std::move(epoch).takeStatus().during(concat("loading '", program->name, "'"));
  client.useOperandMemory(Processes::operandMemory(**epoch));
  if (!code.deviceCliques().empty()) {
    deviceCollectives = &processes.deviceCollectives(**epoch, client.backend());
    keptEpoch = *epoch;
  }
  for (size_t local = 0; facts->hasCollectives && local < localDevices.size(); ++local) {
    TILEWRIGHT_ASSIGN(
        communicators.emplace_back(),
        processes.communicator(**epoch, assignment.devices, static_cast<size_t>(rankOf(local))));
  }
  return Status();
}

Status LoadedExecutable::checkArguments(size_t local, std::span<Buffer *const> arguments,
                                        const std::vector<bool> &isDonated) {
  if (arguments.size() != program->parameters.size())
    return Status(Error::argumentMismatch,
                  concat("'", program->name, "' takes ", program->parameters.size(),
                         " arguments, got ", arguments.size()));
  for (size_t i = 0; i < arguments.size(); ++i) {
    const Buffer &argument = *arguments[i];
    const TensorType &wanted = program->parameters[i].type;
    if (&argument.type() != &wanted && argument.type() != wanted)
      return Status(Error::argumentMismatch,
                    concat("argument ", i, " of '", program->name, "' is ",
                           numerics::spelling(argument.elementType()), listed(argument.dims()),
                           ", but the program takes ", numerics::spelling(wanted.element),
                           listed(wanted.dims)));
    if (&argument.device() != localDevices[local])
      return Status(Error::argumentMismatch,
                    concat("argument ", i, " of '", program->name, "' is on ",
                           argument.device().toString(), ", but the program runs on ",
                           localDevices[local]->toString(), "; copy it there first"));
  }
  if (!facts->hasDonation)
    return Status();
  // Mark each donated buffer with a number unique to this call, to detect a second use in constant
  // time.
  const int64_t mark = client.nextRun.fetch_add(1, std::memory_order_relaxed);
  for (size_t i = 0; i < arguments.size(); ++i)
    if (isDonated[i] && arguments[i]->donatedBy.exchange(mark) == mark)
      return Status(Error::donatedTwice,
                    concat("argument ", i, " of '", program->name,
                           "' is donated, and so is another argument with the same buffer: "
                           "f(donate(a), donate(a)); pass a copy for one of them"));
  for (size_t i = 0; i < arguments.size(); ++i)
    if (!isDonated[i] && arguments[i]->donatedBy == mark)
      return Status(Error::donatedTwice,
                    concat("argument ", i, " of '", program->name,
                           "' is a buffer that the same call donates as another argument: "
                           "f(a, donate(a)); pass a copy for one of them"));
  return Status();
}

std::vector<std::unique_ptr<Buffer>> LoadedExecutable::makeResults(Launch &launch,
                                                                   const Event &definition) {
  std::vector<std::unique_ptr<Buffer>> results;
  results.reserve(facts->results.size());
  for (size_t i = 0; i < facts->results.size(); ++i) {
    const Facts::ResultFacts &result = facts->results[i];
    results.emplace_back(new Buffer(result.type, result.bytes, *result.memories[launch.local],
                                    launch.storages[program->parameters.size() + i], definition,
                                    /*inOrder=*/true));
  }
  return results;
}

bool LoadedExecutable::shouldRunHere(const Launch &launch) const {
  if (localDevices.size() != 1 || !launch.waits.empty())
    return false;
  if (!client.runtimeOptions().asynchronous)
    return true;
  int64_t expected = measured.load(std::memory_order_relaxed);
  if (expected < 0)
    expected = launch.code->estimatedNanoseconds();
  return expected > 0 && expected <= client.runtimeOptions().inlineNanoseconds;
}

void LoadedExecutable::enqueue(Launches launches) {
  std::vector<std::pair<Stream *, Stream::Task>> own;
  std::unique_lock<std::mutex> oneAtATime;
  if (launches.size() > 1)
    oneAtATime = std::unique_lock(client.launching);
  for (std::shared_ptr<Launch> &launch : launches) {
    Stream &stream = localDevices[launch->local]->stream();
    auto task = [launch = std::move(launch)] {
      launch->start().onReady([launch](const Status &status) { launch->finish(copyOf(status)); });
    };
    // Run tasks of the calling thread's own stream last: enqueue() runs them immediately, and they
    // may wait for the other devices.
    if (stream.isInside())
      own.emplace_back(&stream, std::move(task));
    else
      stream.enqueue(std::move(task));
  }
  if (oneAtATime)
    oneAtATime.unlock();
  for (auto &[stream, task] : own)
    stream->enqueue(std::move(task));
}

/// The donated parameters without those that the caller keeps.
static std::vector<bool> without(std::vector<bool> isDonated, std::span<const int64_t> kept) {
  for (int64_t index : kept)
    if (index >= 0 && static_cast<size_t>(index) < isDonated.size())
      isDonated[static_cast<size_t>(index)] = false;
  return isDonated;
}

Result<LoadedExecutable::Launches>
LoadedExecutable::makeLaunches(std::span<const std::span<Buffer *const>> arguments,
                               const std::vector<bool> &isDonated, const ExecuteOptions &options,
                               const std::shared_ptr<DeviceProgram> &code, int64_t runId) {
  Launches launches;
  launches.reserve(localDevices.size());
  for (size_t local = 0; local < localDevices.size(); ++local) {
    TILEWRIGHT_ASSIGN(std::shared_ptr<Launch> launch,
                      makeLaunch(local, arguments[local], isDonated));
    launch->executable = shared_from_this();
    launch->code = code;
    launch->runId = options.launchId ? options.launchId : runId;
    launch->userContext = options.userContext;
    launches.push_back(std::move(launch));
  }
  // Donate only after all results are allocated: if the allocation fails, no argument has been
  // donated.
  for (const std::shared_ptr<Launch> &launch : launches)
    TILEWRIGHT_TRY(donate(*launch, arguments[launch->local], isDonated));
  return launches;
}

Status LoadedExecutable::joinCollectives(Launches &launches, int64_t runId) {
  const bool isOnDevices = deviceCollectives != nullptr;
  if (isOnDevices) {
    TILEWRIGHT_ASSIGN(std::shared_ptr<DeviceRanks> current, deviceRanks(*launches.front()->code));
    auto run = std::make_shared<DeviceRun>(*deviceCollectives, std::move(current), isShared);
    for (std::shared_ptr<Launch> &launch : launches)
      launch->deviceRun = run;
  }
  for (std::shared_ptr<Launch> &launch : launches) {
    if (isShared) {
      launch->communicator = communicators[launch->local];
      continue;
    }
    if (isOnDevices)
      continue;
    TILEWRIGHT_ASSIGN(
        launch->communicator,
        client.collectives().join({runId,
                                   rankOf(launch->local),
                                   assignment.replicas * assignment.partitions,
                                   {assignment.devices.begin(), assignment.devices.end()}}));
  }
  return Status();
}

void LoadedExecutable::runHere(std::shared_ptr<Launch> launch, Execution &execution) {
  Event done = launch->start();
  if (!client.runtimeOptions().asynchronous)
    (void)done.await();
  if (!done.isReady()) {
    launch->promise.emplace();
    Event finished = launch->promise->event();
    execution.results.push_back(makeResults(*launch, finished));
    execution.done.push_back(std::move(finished));
    done.onReady([launch](const Status &status) { launch->finish(copyOf(status)); });
    return;
  }
  execution.results.push_back(makeResults(*launch, done));
  // A failure abandons the communicator: otherwise the peer ranks of this run would wait, and then
  // take part in a later run with this rank's next program.
  launch->finish(done.status());
  execution.done.push_back(std::move(done));
}

Result<Execution> LoadedExecutable::execute(std::span<const std::span<Buffer *const>> arguments,
                                            const ExecuteOptions &options) {
  const std::shared_ptr<DeviceProgram> code = this->code();
  if (!code)
    return Status(Code::failedPrecondition,
                  concat("'", program->name, "' was deleted and cannot run"));
  if (arguments.size() != localDevices.size())
    return Status(Error::argumentMismatch,
                  concat("'", program->name, "' runs on ", localDevices.size(),
                         " devices, got arguments for ", arguments.size()));

  const std::vector<bool> *isDonated = &facts->isDonated;
  std::vector<bool> fewerDonated;
  if (facts->hasDonation && !options.nonDonatable.empty()) {
    fewerDonated = without(facts->isDonated, options.nonDonatable);
    isDonated = &fewerDonated;
  }
  for (size_t local = 0; local < localDevices.size(); ++local)
    TILEWRIGHT_TRY(checkArguments(local, arguments[local], *isDonated));
  for (Device *device : localDevices)
    device->stream().awaitRoom();

  const int64_t runId = client.nextRun.fetch_add(1, std::memory_order_relaxed);
  Result<Launches> made = makeLaunches(arguments, *isDonated, options, code, runId);
  if (!made.isOk()) {
    Status status = std::move(made).takeStatus();
    // Other processes have started the run, or will; tell them not to wait for this process.
    for (const std::shared_ptr<collective::Communicator> &communicator : communicators)
      communicator->abandon(status);
    return status;
  }
  Launches launches = *std::move(made);
  if (facts->hasCollectives)
    TILEWRIGHT_TRY(joinCollectives(launches, runId));

  Execution execution;
  execution.results.reserve(localDevices.size());
  execution.done.reserve(localDevices.size());
  if (shouldRunHere(*launches.front())) {
    if (Stream::InlineTask inlineTask(localDevices.front()->stream()); inlineTask) {
      runHere(std::move(launches.front()), execution);
      return execution;
    }
  }
  for (std::shared_ptr<Launch> &launch : launches) {
    launch->promise.emplace();
    Event done = launch->promise->event();
    execution.results.push_back(makeResults(*launch, done));
    execution.done.push_back(std::move(done));
  }
  enqueue(std::move(launches));
  if (!client.runtimeOptions().asynchronous && !Stream::isInsideAny())
    for (const Event &done : execution.done)
      (void)done.await();
  return execution;
}

} // namespace tilewright::runtime
