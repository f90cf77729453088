#include "tilewright/runtime/Client.h"
#include "tilewright/artifact/Reader.h"
#include "tilewright/collective/hosts/HostsEngine.h"
#include "tilewright/collective/local/LocalCollectives.h"
#include "tilewright/collective/record/Folder.h"
#include "tilewright/collective/record/RecordedEngine.h"
#include "tilewright/runtime/candidates/Candidates.h"
#include "tilewright/support/Concat.h"
#include "tilewright/support/Trace.h"

#include <numeric>
#include <thread>

namespace tilewright::runtime {

static Status checkRange(const char *option, int64_t value, int64_t least, int64_t most) {
  if (value >= least && value <= most)
    return Status();
  return Status(Error::optionValue,
                concat("runtime.", option, " must be ", least, " to ", most, ", got ", value));
}

static Status check(const RuntimeOptions &options) {
  TILEWRIGHT_TRY(checkRange("devices", options.devices, 1, 1024));
  TILEWRIGHT_TRY(checkRange("threads", options.threads, 0, 4096));
  TILEWRIGHT_TRY(checkRange("memory-limit", options.memoryLimit, 0, int64_t(1) << 60));
  TILEWRIGHT_TRY(checkRange("cache-bytes", options.cacheBytes, 0, int64_t(1) << 60));
  TILEWRIGHT_TRY(checkRange("inline-nanoseconds", options.inlineNanoseconds, 0, int64_t(1) << 60));
  TILEWRIGHT_TRY(checkRange("max-in-flight", options.maxInFlight, 1, 1 << 20));
  TILEWRIGHT_TRY(checkRange("silence-timeout", options.silenceTimeout, 100, 1'000'000'000));
  if (!collective::hosts::betweenNamed(options.betweenHosts))
    return Status(Error::optionValue,
                  concat("runtime.between-hosts must be best, tcp, ucx or mpi, got '",
                         options.betweenHosts, "'"));
  return checkRange("collective-timeout", options.collectiveTimeout, 1, 1'000'000'000);
}

Result<std::unique_ptr<Client>> Client::create(const ClientOptions &options,
                                               std::unique_ptr<Backend> backend) {
  TILEWRIGHT_TRY(check(options.runtime));
  std::unique_ptr<Client> client(new Client(options));
  client->kind = std::move(backend);
  client->name = client->kind->name();
  client->version = client->kind->version();

  int64_t threads = options.runtime.threads;
  if (threads == 0)
    threads = std::max(std::thread::hardware_concurrency(), 1U);
  client->pool = std::make_unique<ThreadPool>(static_cast<unsigned>(threads));
  client->localEngine = std::make_unique<collective::LocalCollectives>(
      std::chrono::seconds(options.runtime.collectiveTimeout));
  std::shared_ptr<collective::record::Recorder> recorder;
  const std::vector<DeviceDescription> own = client->kind->devices();
  if (options.processCount > 1) {
    Processes::Config config;
    config.process = options.processIndex;
    config.processes = options.processCount;
    config.job = options.job;
    config.kind = own.front().kind;
    config.devices = static_cast<int64_t>(own.size());
    config.timeout = std::chrono::seconds(options.runtime.collectiveTimeout);
    config.betweenHosts = options.runtime.betweenHosts;
    config.mpiLibrary = options.runtime.mpiLibrary;
    config.flightRecorder = options.runtime.flightRecorder;
    config.flightRecorderEntries = options.runtime.flightRecorderEntries;
    config.silence = std::chrono::milliseconds(options.runtime.silenceTimeout);
    config.choices = Candidates::ofProcess().freeze();
    TILEWRIGHT_ASSIGN(client->others, Processes::join(config, options.store));
    recorder = client->others->flightRecorder();
  } else {
    collective::record::Recorder::Options record;
    record.job = collective::record::newJobName();
    record.jobRanks = static_cast<int64_t>(own.size());
    record.ranks.resize(own.size());
    std::iota(record.ranks.begin(), record.ranks.end(), 0);
    record.entries = options.runtime.flightRecorderEntries;
    TILEWRIGHT_ASSIGN(recorder, collective::record::openRecorder(options.runtime.flightRecorder,
                                                                 std::move(record)));
  }
  if (recorder)
    client->localEngine = std::make_unique<collective::record::RecordedEngine>(
        std::move(client->localEngine), recorder, "local");
  client->localDeviceEngine = std::make_unique<DeviceCollectives>(
      *client->kind,
      [client = client.get()](uint64_t number) { return client->connectOwnDevices(number); },
      std::chrono::seconds(options.runtime.collectiveTimeout), recorder);
  for (int process = 0; process < options.processCount; ++process) {
    if (process == options.processIndex || options.processCount == 1)
      for (const DeviceDescription &description : own)
        client->addDevice(description);
    else
      for (int i = 0; i < client->others->devicesOf(process); ++i)
        client->addDeviceElsewhere(process, i, own.front().kind);
  }
  return client;
}

Result<std::unique_ptr<collective::DeviceEngine>> Client::connectOwnDevices(uint64_t number) {
  collective::Membership membership;
  membership.epoch = number;
  membership.processOfRank.assign(allDevices.size(), -1);
  for (const Device *device : localDevices)
    membership.processOfRank[static_cast<size_t>(device->id())] = membership.process;
  return kind->connectDevices(membership, ownStore);
}

/// Devices are created, and numbered, in the order of processes and then of the index within the
/// process.
std::unique_ptr<Device> Client::makeDevice(int process, int localId, const std::string &kindName) {
  std::unique_ptr<Device> device(new Device);
  device->number = static_cast<int>(allDevices.size());
  device->localNumber = localId;
  device->process = process;
  device->kindName = kindName;
  device->text = concat(kindName, ":", device->number);
  device->debugText =
      concat(kindName, " device ", device->number, " (process ", process, ", local ", localId, ")");
  device->owner = this;
  return device;
}

void Client::addDeviceElsewhere(int process, int localId, const std::string &kindName) {
  std::unique_ptr<Device> device = makeDevice(process, localId, kindName);
  allDevices.push_back(device.get());
  ownedDevices.push_back(std::move(device));
}

void Client::addDevice(const DeviceDescription &description) {
  std::unique_ptr<Device> device =
      makeDevice(options.processIndex, static_cast<int>(localDevices.size()), description.kind);
  device->facts = description.attributes;
  device->queue =
      std::make_unique<Stream>(device->text, static_cast<size_t>(options.runtime.maxInFlight));
  device->transfers = std::make_unique<Stream>(concat("copies of ", device->text), size_t(1) << 20);
  auto makeAllocator = [&](std::string_view memoryKind) {
    const auto place = static_cast<size_t>(device->localNumber);
    int64_t limit = options.runtime.memoryLimit;
    if (limit == 0)
      limit = kind->defaultMemoryLimit(memoryKind, place);
    std::unique_ptr<RawMemory> raw = kind->rawMemory(memoryKind, place);
    if (others && kind->isHostMemory(deviceKind)) {
      auto heap = std::make_unique<OperandHeap>(
          std::move(raw), OperandHeap::Settings{static_cast<size_t>(options.runtime.cacheBytes),
                                                options.runtime.prefault});
      heap->use(others->operandMemory());
      operandHeap = heap.get();
      raw = std::move(heap);
    }
    return std::make_shared<Allocator>(std::move(raw),
                                       Allocator::Limits{limit, options.runtime.cacheBytes});
  };
  int kindNumber = 0;
  const std::string_view memoryKinds[] = {deviceKind, pinnedHostKind, unpinnedHostKind};
  for (std::string_view memoryKind : memoryKinds) {
    std::unique_ptr<Memory> memory(new Memory);
    memory->number = device->number * static_cast<int>(std::size(memoryKinds)) + kindNumber;
    memory->kindNumber = kindNumber;
    memory->name = memoryKind;
    memory->text = concat(device->text, " ", memoryKind);
    memory->debugText = concat("memory ", memory->number, ", ", memoryKind, " of ", device->text);
    memory->isHost = kind->isHostMemory(memoryKind);
    memory->owner = this;
    memory->home = device.get();
    memory->reachableBy = {device.get()};
    memory->adopts = kind->canAdoptHostBytes(memoryKind);
    // Devices of the same process share the host's memory, so they share its limit.
    if (!memory->isHost)
      memory->source = makeAllocator(memoryKind);
    else if (hostMemory)
      memory->source = hostMemory;
    else
      memory->source = hostMemory = makeAllocator(memoryKind);
    memory->account = memory->source->openAccount();
    device->reachable.push_back(memory.get());
    localMemories.push_back(memory.get());
    ownedMemories.push_back(std::move(memory));
    ++kindNumber;
  }
  allDevices.push_back(device.get());
  localDevices.push_back(device.get());
  ownedDevices.push_back(std::move(device));
}

void Client::useOperandMemory(std::shared_ptr<collective::OperandMemory> memory) {
  // Cached blocks are of the memory that was used before.
  if (operandHeap && operandHeap->use(std::move(memory)))
    hostMemory->trim();
}

Client::~Client() {
  drain();
  // Stop programs first: their completions may still start copies.
  for (const std::unique_ptr<Device> &device : ownedDevices)
    device->queue.reset();
  kind->drain();
  for (const std::unique_ptr<Device> &device : ownedDevices)
    device->transfers.reset();
  kind->drain();
}

void Client::drain() {
  for (Device *device : localDevices)
    device->stream().drain();
  kind->drain(); // completions of programs may start copies
  for (Device *device : localDevices)
    device->transferStream().drain();
  kind->drain();
}

Device *Client::deviceWithId(int id) const {
  for (Device *device : allDevices)
    if (device->id() == id)
      return device;
  return nullptr;
}

Device *Client::deviceWithLocalId(int localId) const {
  for (Device *device : localDevices)
    if (device->localId() == localId)
      return device;
  return nullptr;
}

Memory *Device::memoryOfKind(std::string_view kind) const {
  for (Memory *memory : reachable)
    if (memory->kind() == kind)
      return memory;
  return nullptr;
}

Result<DeviceAssignment> Client::defaultAssignment(int64_t replicas, int64_t partitions) const {
  const bool isHere = replicas * partitions <= static_cast<int64_t>(localDevices.size());
  const std::vector<Device *> &from = isHere ? localDevices : allDevices;
  const auto available = static_cast<int64_t>(from.size());
  if (replicas < 1 || partitions < 1 || replicas > available || partitions > available ||
      replicas * partitions > available)
    return Status(Error::deviceAssignment,
                  concat("cannot assign devices to ", replicas, " replicas of ", partitions,
                         " partitions: there are only ", available,
                         " devices; raise runtime.devices"));
  DeviceAssignment assignment{replicas, partitions, {}};
  for (int64_t i = 0; i < replicas * partitions; ++i)
    assignment.devices.push_back(from[static_cast<size_t>(i)]->id());
  return assignment;
}

Result<std::shared_ptr<LoadedExecutable>> Client::load(std::span<const std::byte> bytes,
                                                       DeviceAssignment assignment) {
  std::shared_ptr<const artifact::Executable> executable;
  {
    trace::Span span("load", "read executable");
    TILEWRIGHT_ASSIGN(artifact::Executable read, artifact::readExecutable(bytes));
    executable = std::make_shared<const artifact::Executable>(std::move(read));
  }
  return load(std::move(executable), std::move(assignment));
}

Result<std::shared_ptr<LoadedExecutable>>
Client::load(std::shared_ptr<const artifact::Executable> executable, DeviceAssignment assignment) {
  trace::Span span("load", executable->name);
  std::shared_ptr<LoadedExecutable> loaded(
      new LoadedExecutable(*this, std::move(executable), std::move(assignment)));
  TILEWRIGHT_TRY(loaded->prepare());
  return loaded;
}

} // namespace tilewright::runtime
