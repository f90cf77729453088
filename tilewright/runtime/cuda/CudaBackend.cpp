#include "tilewright/runtime/cuda/CudaBackend.h"
#include "tilewright/collective/nccl/NcclEngine.h"
#include "tilewright/runtime/copy/StridedCopy.h"
#include "tilewright/runtime/cpu/HostMemory.h"
#include "tilewright/runtime/cuda/CudaDevice.h"
#include "tilewright/runtime/cuda/CudaProgram.h"
#include "tilewright/runtime/cuda/FindDriver.h"
#include "tilewright/runtime/cuda/Transfer.h"
#include "tilewright/support/Concat.h"
#include "tilewright/support/TargetName.h"

namespace tilewright::runtime::cuda {
namespace {

/// The functions of our devices that a collective engine needs, indexed by rank.
class Access final : public collective::DeviceAccess {
public:
  Access(std::span<const std::shared_ptr<CudaDevice>> gpus, std::span<const int64_t> ranks) {
    for (size_t i = 0; i < gpus.size() && i < ranks.size(); ++i)
      gpuOf[ranks[i]] = gpus[i];
  }
  Status makeCurrent(int64_t rank) override {
    const DriverApi &api = gpuOf.at(rank)->api();
    return TILEWRIGHT_CUDA(api, cuCtxSetCurrent, gpuOf.at(rank)->context());
  }
  Status copy(collective::DeviceStream stream, std::byte *to, const std::byte *from,
              size_t bytes) override {
    const DriverApi &api = gpuOf.begin()->second->api();
    return TILEWRIGHT_CUDA(api, cuMemcpyAsync, addressOf(to), addressOf(from), bytes,
                           static_cast<CUstream>(stream));
  }
  Status fillWithZeros(collective::DeviceStream stream, std::byte *to, size_t bytes) override {
    const DriverApi &api = gpuOf.begin()->second->api();
    return TILEWRIGHT_CUDA(api, cuMemsetD8Async, addressOf(to), static_cast<unsigned char>(0),
                           bytes, static_cast<CUstream>(stream));
  }

private:
  std::map<int64_t, std::shared_ptr<CudaDevice>> gpuOf;
};

class CudaBackend final : public Backend {
public:
  CudaBackend(std::vector<std::shared_ptr<CudaDevice>> devices, CudaParts parts,
              std::shared_ptr<libraries::GpuLibraries> gpuLibraries)
      : gpus(std::move(devices)), parts(std::move(parts)), gpuLibraries(std::move(gpuLibraries)) {}
  ~CudaBackend() override {
    for (const std::shared_ptr<CudaDevice> &gpu : gpus)
      gpu->stop();
  }

  /// Creates the memory pools before the client exists, because rawMemory() cannot report failure.
  Status prepareMemory() {
    for (const std::shared_ptr<CudaDevice> &gpu : gpus) {
      TILEWRIGHT_ASSIGN(std::unique_ptr<RawMemory> memory, gpu->memory(gpus));
      prepared.push_back(std::move(memory));
    }
    return Status();
  }

  std::string name() const override { return gpus.front()->api().words().platform; }
  std::string version() const override {
    return concat("tilewright ", name(), " ", gpus.front()->api().versionText());
  }
  std::vector<DeviceDescription> devices() const override {
    std::vector<DeviceDescription> list;
    for (const std::shared_ptr<CudaDevice> &gpu : gpus) {
      const int capability = gpu->capability();
      // On ROCm, JAX's compute capability is the name of the chip.
      const std::string chip =
          gpu->api().isAmd() ? gpu->chip() : concat(capability / 10, ".", capability % 10);
      list.push_back({gpu->api().words().platform,
                      {{"device_model", gpu->model()},
                       {"compute_capability", chip},
                       {"core_count", int64_t(gpu->limits().multiprocessors)},
                       {"driver_ordinal", int64_t(gpu->ordinal())}}});
    }
    return list;
  }

  std::unique_ptr<RawMemory> rawMemory(std::string_view kind, size_t device) override {
    return kind == deviceKind ? std::move(prepared[device]) : gpus[device]->pinnedMemory();
  }
  int64_t defaultMemoryLimit(std::string_view kind, size_t device) const override {
    if (kind == deviceKind)
      return gpus[device]->freeBytes() / 10 * 9;
    return cpu::availableMemory() / 2; // pinned memory is not available to other processes
  }
  bool isHostMemory(std::string_view kind) const override { return kind != deviceKind; }
  /// A device can access only pinned host memory.
  bool canAdoptHostBytes(std::string_view) const override { return false; }

  Result<std::optional<size_t>> deviceOf(const std::byte *data) override {
    const DriverApi &api = gpus.front()->api();
    const ContextScope scope(*gpus.front());
    unsigned type = 0; // stays 0 if the driver does not know the memory, such as that of malloc
    int ordinal = 0;
    CUpointer_attribute wanted[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
                                    CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL};
    void *values[] = {&type, &ordinal};
    TILEWRIGHT_TRY(
        TILEWRIGHT_CUDA(api, cuPointerGetAttributes, 2u, wanted, values, addressOf(data)));
    if (type != CU_MEMORYTYPE_DEVICE)
      return std::optional<size_t>();
    for (size_t i = 0; i < gpus.size(); ++i)
      if (gpus[i]->ordinal() == ordinal)
        return std::optional<size_t>(i);
    return Status(Error::cudaDevices,
                  concat("the memory at ", static_cast<const void *>(data), " is on device ",
                         ordinal, " of the ", api.words().driver, ", but this client uses only ",
                         gpus.size(), " others; copy it to the host or to one of them first"));
  }

  Event copy(MemoryAddress to, MemoryAddress from, size_t bytes, ThreadPool &pool) override {
    CudaDevice *target = gpuOf(to), *source = gpuOf(from);
    if (!target && !source) {
      copyDense(to.data, from.data, bytes, &pool);
      return Event();
    }
    if (target && source)
      return copyBetween(*target, to.data, *source, from.data, bytes);
    if (target)
      return from.memory ? uploadPinned(*target, to.data, from.data, bytes)
                         : upload(*target, to.data, from.data, bytes, pool);
    return to.memory ? downloadPinned(*source, to.data, from.data, bytes)
                     : download(*source, to.data, from.data, bytes, pool);
  }
  Status copyInOrder(const Device &device, std::byte *to, const std::byte *from, size_t bytes,
                     ThreadPool &) override {
    CudaDevice &gpu = *gpus[static_cast<size_t>(device.localId())];
    TILEWRIGHT_TRY(gpu.isUsable());
    const ContextScope scope(gpu);
    return TILEWRIGHT_CUDA(gpu, cuMemcpyAsync, addressOf(to), addressOf(from), bytes,
                           gpu.programs().stream());
  }
  void awaitCopiesInOrder(const Device &device) override {
    CudaDevice &gpu = *gpus[static_cast<size_t>(device.localId())];
    const ContextScope scope(gpu);
    // A failure needs no report: the caller reports the one for which it waits.
    gpu.api().cuStreamSynchronize(gpu.programs().stream());
  }

  Status awaitStream(const Device &device, void *stream) override {
    CudaDevice &gpu = *gpus[static_cast<size_t>(device.localId())];
    TILEWRIGHT_TRY(gpu.isUsable());
    const ContextScope scope(gpu);
    return TILEWRIGHT_CUDA(gpu, cuStreamSynchronize, static_cast<CUstream>(stream));
  }

  bool isStreamOrdered() const override { return true; }
  void drain() override {
    for (const std::shared_ptr<CudaDevice> &gpu : gpus)
      gpu->drain();
  }

  Result<std::unique_ptr<DeviceProgram>>
  load(std::shared_ptr<const artifact::Executable> executable, std::span<const ProgramPlace> places,
       ThreadPool &pool) override {
    std::vector<ProgramDevice> used;
    for (const ProgramPlace &place : places)
      used.push_back({place.device, gpus[static_cast<size_t>(place.device->localId())],
                      place.replica, place.partition});
    return loadProgram(std::move(executable), used, parts.customCalls.get(), pool, gpuLibraries);
  }

  Result<std::unique_ptr<collective::DeviceEngine>>
  connectDevices(const collective::Membership &membership,
                 tilewright::KeyValueStore &store) override {
    std::lock_guard lock(mutex);
    Access &access = *accesses.emplace_back(
        std::make_unique<Access>(gpus, membership.ranksOf(membership.process)));
    return parts.connect(membership, store, access);
  }
  std::vector<CollectiveUnderWay> collectivesUnderWay() override {
    std::vector<CollectiveUnderWay> all;
    for (const std::shared_ptr<CudaDevice> &gpu : gpus)
      if (std::optional<CollectiveUnderWay> one = gpu->collectiveUnderWay())
        all.push_back(*std::move(one));
    return all;
  }

private:
  /// Null if the bytes are in host memory.
  CudaDevice *gpuOf(const MemoryAddress &address) const {
    if (!address.memory || address.memory->isHostMemory())
      return nullptr;
    return gpus[static_cast<size_t>(address.memory->device().localId())].get();
  }

  const std::vector<std::shared_ptr<CudaDevice>> gpus; // by local id
  const CudaParts parts;
  const std::shared_ptr<libraries::GpuLibraries> gpuLibraries;
  std::vector<std::unique_ptr<RawMemory>> prepared;
  std::mutex mutex;
  std::vector<std::unique_ptr<Access>> accesses; // of all engines; guarded by mutex
};

} // namespace

std::string targetFor(std::string_view target, const Client &client) {
  if (!TargetName::of(target).chip.empty())
    return std::string(target);
  for (const DeviceAttribute &attribute : client.devices().front()->attributes())
    if (const auto *text = std::get_if<std::string>(&attribute.value);
        text && attribute.name == "compute_capability") {
      if (isAmdChip(*text))
        return *text;
      std::string digits = *text;
      std::erase(digits, '.');
      return concat("sm_", digits, digits.size() > 2 || digits >= "90" ? "a" : "");
    }
  return std::string(target);
}

/// Loads the engine before the processes connect: a process that failed later would keep the others
/// waiting.
static Status checkEngine(const CudaParts &parts, int processes) {
  tilewright::MemoryKeyValueStore store;
  Access nothing({}, {});
  Status status = parts.connect({}, store, nothing).takeStatus();
  if (status.isOk())
    return Status();
  return Status(Error::clientProcesses,
                concat("GPUs of ", processes,
                       " processes cannot compute together without NCCL: ", status.message(),
                       "; install NCCL (pip install nvidia-nccl-cu12; for AMD: RCCL), name its "
                       "library in runtime.nccl-library, or use the GPUs of a single process"));
}

using ConnectEngine = decltype(CudaParts::connect);

/// How to connect the engine that `runtime.nccl-library` asks for.
static ConnectEngine chooseEngine(const CudaParts &parts, const ClientOptions &options,
                                  const std::shared_ptr<const DriverApi> &api,
                                  const std::vector<int> &ordinals) {
  using collective::DeviceEngine;
  const std::string &asked = options.runtime.ncclLibrary;
  if (asked == "none" && api->isAmd())
    return [](auto &...) -> Result<std::unique_ptr<DeviceEngine>> {
      return Status(Error::optionValue,
                    "runtime.nccl-library is 'none', but Tilewright has no collective kernels for "
                    "AMD GPUs; name the RCCL library, or leave the option empty");
    };
  if (asked == "none" && parts.compileCollective)
    return [api, ordinals, compile = parts.compileCollective](
               const collective::Membership &membership, tilewright::KeyValueStore &store,
               collective::DeviceAccess &access) -> Result<std::unique_ptr<DeviceEngine>> {
      TILEWRIGHT_ASSIGN(auto made, SymmetricEngine::connect(membership, store, api, ordinals,
                                                            access, compile, {}));
      return std::unique_ptr<DeviceEngine>(std::move(made));
    };
  // Several processes may be on several hosts, which our own kernels cannot reach.
  const bool canChoose = parts.compileCollective && options.processCount <= 1 && !api->isAmd();
  const bool isPriced = asked == "priced";
  return [api, ordinals, library = findNccl(isPriced ? "" : asked, *api),
          timeout = options.runtime.collectiveTimeout,
          compile = isPriced && canChoose ? parts.compileCollective : nullptr,
          prefersOwn = parts.prefersOwn](
             const collective::Membership &membership, tilewright::KeyValueStore &store,
             collective::DeviceAccess &access) -> Result<std::unique_ptr<DeviceEngine>> {
    collective::nccl::NcclEngine::Options engine;
    engine.library = library;
    engine.timeout = std::chrono::seconds(timeout);
    TILEWRIGHT_ASSIGN(auto made,
                      collective::nccl::NcclEngine::connect(membership, store, access, engine));
    if (!compile || !prefersOwn)
      return std::unique_ptr<DeviceEngine>(std::move(made));
    return std::unique_ptr<DeviceEngine>(std::make_unique<PricedEngine>(
        std::move(made), SymmetricEngine::make(api, ordinals, access, compile, {}), prefersOwn));
  };
}

Result<std::unique_ptr<Client>> createClient(const ClientOptions &options,
                                             const DriverOptions &driver, CudaParts parts) {
  TILEWRIGHT_ASSIGN(std::shared_ptr<const DriverApi> api, findDriver(driver));
  int count = 0;
  TILEWRIGHT_TRY(TILEWRIGHT_CUDA(*api, cuDeviceGetCount, &count));
  std::vector<int> ordinals = driver.devices;
  for (int i = 0; driver.devices.empty() && i < count; ++i)
    ordinals.push_back(i);
  if (ordinals.empty())
    return Status(Error::cudaDevices,
                  concat("the ", api->words().driver, " ", api->library(), " has no device; check ",
                         api->words().visible, " or TILEWRIGHT_VGPU_DEVICES"));
  std::vector<std::shared_ptr<CudaDevice>> gpus;
  for (int ordinal : ordinals) {
    if (ordinal < 0 || ordinal >= count)
      return Status(Error::cudaDevices,
                    concat("device ", ordinal, " of the ", api->words().driver, " ", api->library(),
                           " does not exist; the driver has ", count, " devices, 0 to ",
                           count - 1));
    const int64_t inFlight = std::max<int64_t>(options.runtime.maxInFlight, 1);
    TILEWRIGHT_ASSIGN(std::shared_ptr<CudaDevice> gpu,
                      CudaDevice::open(api, ordinal, gpus.size(), static_cast<size_t>(inFlight)));
    gpus.push_back(std::move(gpu));
  }
  TILEWRIGHT_TRY(checkVirtualChip(driver, gpus));
  if (!parts.connect)
    parts.connect = chooseEngine(parts, options, api, ordinals);
  if (options.processCount > 1)
    TILEWRIGHT_TRY(checkEngine(parts, options.processCount));
  std::shared_ptr<libraries::GpuLibraries> gpuLibraries;
  if (!api->isAmd()) { // cuBLASLt and cuDNN are for NVIDIA's GPUs
    TILEWRIGHT_ASSIGN(gpuLibraries, libraries::GpuLibraries::fromEnvironment(*api));
  }
  auto backend =
      std::make_unique<CudaBackend>(std::move(gpus), std::move(parts), std::move(gpuLibraries));
  TILEWRIGHT_TRY(backend->prepareMemory());
  return Client::create(options, std::move(backend));
}

} // namespace tilewright::runtime::cuda
