#include "tilewright/runtime/cuda/CudaDevice.h"
#include "tilewright/runtime/hip/HipDriver.h"
#include "tilewright/support/Concat.h"

namespace tilewright::runtime::cuda {

Result<std::shared_ptr<CudaDevice>> CudaDevice::open(std::shared_ptr<const DriverApi> api,
                                                     int ordinal, size_t localId,
                                                     size_t maxInFlight) {
  std::shared_ptr<CudaDevice> device(new CudaDevice(std::move(api)));
  device->number = ordinal;
  const DriverWords &words = device->driver->words();
  device->label = concat(words.platform, ":", localId);
  if (Status status = device->start(maxInFlight); !status.isOk())
    return std::move(status).during(concat("opening device ", ordinal, " of the ", words.driver));
  return device;
}

Result<int> CudaDevice::attribute(CUdevice_attribute which) {
  int value = 0;
  TILEWRIGHT_TRY(TILEWRIGHT_CUDA(*driver, cuDeviceGetAttribute, &value, which, device));
  return value;
}

Status CudaDevice::start(size_t maxInFlight) {
  TILEWRIGHT_TRY(TILEWRIGHT_CUDA(*driver, cuDeviceGet, &device, number));
  char name[256] = {};
  TILEWRIGHT_TRY(TILEWRIGHT_CUDA(*driver, cuDeviceGetName, name, int(sizeof name) - 1, device));
  modelName = name;
  TILEWRIGHT_ASSIGN(int major, attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR));
  TILEWRIGHT_ASSIGN(int minor, attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR));
  architecture = 10 * major + minor;
  chipName = concat("sm_", architecture);
  if (driver->isAmd()) {
    TILEWRIGHT_ASSIGN(chipName, hip::chipOf(*driver, device));
  }
  TILEWRIGHT_ASSIGN(maxima.threadsPerBlock, attribute(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK));
  TILEWRIGHT_ASSIGN(maxima.sharedBytes,
                    attribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN));
  TILEWRIGHT_ASSIGN(maxima.multiprocessors, attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT));
  TILEWRIGHT_ASSIGN(maxima.hasClusters, attribute(CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH));
  TILEWRIGHT_ASSIGN(maxima.hasTensorMaps,
                    attribute(CU_DEVICE_ATTRIBUTE_TENSOR_MAP_ACCESS_SUPPORTED));
  TILEWRIGHT_TRY(TILEWRIGHT_CUDA(*driver, cuDevicePrimaryCtxRetain, &primary, device));
  const ContextScope scope(*this);
  constexpr const char *names[4] = {"programs", "uploads", "downloads", "peers"};
  for (size_t i = 0; i < 4; ++i)
    TILEWRIGHT_TRY(queues[i].create(concat(names[i], " ", number), maxInFlight));
  return Status();
}

CudaDevice::~CudaDevice() {
  stop();
  slots.clear();
  if (primary)
    driver->cuDevicePrimaryCtxRelease(device);
}

Status CudaDevice::createCollectives() {
  std::lock_guard lock(mutex);
  if (lane)
    return Status();
  auto made = std::make_unique<CollectiveLane>(*this);
  TILEWRIGHT_TRY(made->create());
  lane = std::move(made);
  return Status();
}

std::optional<CollectiveUnderWay> CudaDevice::collectiveUnderWay() {
  {
    std::lock_guard lock(mutex);
    if (!lane)
      return std::nullopt;
  }
  return lane->underWay();
}

void CudaDevice::drain() {
  for (CudaQueue &queue : queues)
    queue.drain();
  if (lane)
    lane->drain();
}

void CudaDevice::stop() {
  if (lane)
    lane->stop();
  for (CudaQueue &queue : queues)
    queue.stop();
}

Status CudaDevice::check(CUresult result, const char *call) {
  Status status = driver->check(result, call);
  if (DriverApi::isFatal(result)) {
    std::lock_guard lock(mutex);
    if (howLost.empty())
      howLost = status.message();
    isLost = true;
  }
  return status;
}

Status CudaDevice::fail(Status fatal, const std::string *program) {
  {
    std::lock_guard lock(mutex);
    isLost = true;
    // Programs complete in order, so the first program reported here is the one that failed.
    if (program && !isBlamed) {
      isBlamed = true;
      fatal = std::move(fatal).during(*program);
      howLost = fatal.message();
      return fatal;
    }
    if (howLost.empty())
      howLost = fatal.message();
  }
  return isUsable();
}

Status CudaDevice::isUsable() const {
  if (!isLost)
    return Status();
  std::lock_guard lock(mutex);
  return Status(Error::cudaLost,
                concat(label, " is no longer usable; restart this process. Cause: ", howLost));
}

int64_t CudaDevice::freeBytes() {
  const ContextScope scope(*this);
  size_t free = 0, total = 0;
  if (driver->cuMemGetInfo(&free, &total) != CUDA_SUCCESS)
    return 0;
  return static_cast<int64_t>(free);
}

/// Fails if the device is lost, or if a kernel has just failed: every later call reports that
/// failure.
static Status whyNoMemory(CudaDevice &device) {
  TILEWRIGHT_TRY(device.isUsable());
  const ContextScope scope(device);
  size_t free = 0, total = 0;
  Status status = TILEWRIGHT_CUDA(device.api(), cuMemGetInfo, &free, &total);
  return status.error() == Error::cudaKernelFailed ? std::move(status) : Status();
}

namespace {

/// Memory of a device, from a CUDA pool. The runtime's Allocator caches free blocks: it gets a
/// block back only when no work uses it, so any stream may use the block next without a driver
/// call. The pool itself therefore caches nothing; it only avoids cuMemFree, which synchronises the
/// whole device.
class DeviceMemory final : public RawMemory {
public:
  explicit DeviceMemory(std::shared_ptr<CudaDevice> device) : device(std::move(device)) {}
  ~DeviceMemory() override {
    const ContextScope scope(*device);
    if (stream) {
      device->api().cuStreamSynchronize(stream);
      device->api().cuStreamDestroy(stream);
    }
    if (pool)
      device->api().cuMemPoolDestroy(pool);
  }

  Status create(std::span<const std::shared_ptr<CudaDevice>> peers) {
    const ContextScope scope(*device);
    CudaDevice &self = *device;
    TILEWRIGHT_TRY(TILEWRIGHT_CUDA(self, cuStreamCreate, &stream, CU_STREAM_NON_BLOCKING));
    CUmemPoolProps properties = {};
    properties.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
    properties.handleTypes = CU_MEM_HANDLE_TYPE_NONE;
    properties.location = {CU_MEM_LOCATION_TYPE_DEVICE, device->handle()};
    TILEWRIGHT_TRY(TILEWRIGHT_CUDA(self, cuMemPoolCreate, &pool, &properties));
    for (const std::shared_ptr<CudaDevice> &peer : peers) {
      int canAccess = 0;
      if (peer->handle() == device->handle() ||
          device->api().cuDeviceCanAccessPeer(&canAccess, peer->handle(), device->handle()) !=
              CUDA_SUCCESS ||
          !canAccess)
        continue;
      const CUmemAccessDesc access = {{CU_MEM_LOCATION_TYPE_DEVICE, peer->handle()},
                                      CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
      TILEWRIGHT_TRY(TILEWRIGHT_CUDA(self, cuMemPoolSetAccess, pool, &access, size_t(1)));
    }
    return Status();
  }

  std::byte *take(size_t bytes) override {
    const ContextScope scope(*device);
    CUdeviceptr address = 0;
    CudaDevice &self = *device;
    if (!TILEWRIGHT_CUDA(self, cuMemAllocFromPoolAsync, &address, bytes, pool, stream).isOk())
      return nullptr;
    // Synchronise, so that any stream may use the memory.
    if (!TILEWRIGHT_CUDA(self, cuStreamSynchronize, stream).isOk())
      return nullptr;
    return reinterpret_cast<std::byte *>(address);
  }
  void give(std::byte *data, size_t) override {
    const ContextScope scope(*device);
    device->api().cuMemFreeAsync(reinterpret_cast<CUdeviceptr>(data), stream);
  }

  Status whyNone() const override { return whyNoMemory(*device); }

private:
  const std::shared_ptr<CudaDevice> device;
  CUstream stream = nullptr;
  CUmemoryPool pool = nullptr;
};

class PinnedMemory final : public RawMemory {
public:
  explicit PinnedMemory(std::shared_ptr<CudaDevice> device) : device(std::move(device)) {}
  std::byte *take(size_t bytes) override {
    const ContextScope scope(*device);
    void *data = nullptr;
    if (device->api().cuMemHostAlloc(&data, bytes, CU_MEMHOSTALLOC_PORTABLE) != CUDA_SUCCESS)
      return nullptr;
    return static_cast<std::byte *>(data);
  }
  void give(std::byte *data, size_t) override {
    const ContextScope scope(*device);
    device->api().cuMemFreeHost(data);
  }

  Status whyNone() const override { return whyNoMemory(*device); }

private:
  const std::shared_ptr<CudaDevice> device;
};

} // namespace

Result<std::unique_ptr<RawMemory>>
CudaDevice::memory(std::span<const std::shared_ptr<CudaDevice>> peers) {
  auto memory = std::make_unique<DeviceMemory>(shared_from_this());
  TILEWRIGHT_TRY(memory->create(peers));
  return std::unique_ptr<RawMemory>(std::move(memory));
}

std::unique_ptr<RawMemory> CudaDevice::pinnedMemory() {
  return std::make_unique<PinnedMemory>(shared_from_this());
}

} // namespace tilewright::runtime::cuda
