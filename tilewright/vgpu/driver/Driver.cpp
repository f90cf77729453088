#include "tilewright/vgpu/driver/Driver.h"

#include "tilewright/support/Concat.h"
#include "tilewright/vgpu/driver/Pool.h"
#include "tilewright/vgpu/driver/observe/ObservationKinds.h"
#include "tilewright/vgpu/driver/observe/Observe.h"

#include <algorithm>
#include <cstdio>
#include <pthread.h>
#include <unistd.h>
#include <utility>

namespace tilewright::vgpu::driver {

void *newHandle() {
  static std::atomic<uintptr_t> next = 0x1000;
  return reinterpret_cast<void *>(next.fetch_add(1) << 4);
}

static constexpr uint64_t gigabyte = uint64_t(1) << 30;
/// From the data sheets, by architecture.
static constexpr std::pair<unsigned, Board> boards[] = {
    {80, {"Tilewright virtual A100", 80 * gigabyte, 1410000, 1593000, 5120, 40 << 20, 2, true}},
    {86, {"Tilewright virtual RTX 3090", 24 * gigabyte, 1695000, 9751000, 384, 6 << 20, 64, false}},
    {87, {"Tilewright virtual Orin", 64 * gigabyte, 1300000, 3200000, 256, 4 << 20, 64, false}},
    {89,
     {"Tilewright virtual RTX 4090", 24 * gigabyte, 2520000, 10501000, 384, 72 << 20, 64, false}},
    {90, {"Tilewright virtual H100", 80 * gigabyte, 1980000, 2619000, 5120, 50 << 20, 2, true}},
    {100, {"Tilewright virtual B200", 180 * gigabyte, 1965000, 3996000, 8192, 126 << 20, 2, true}},
    {103, {"Tilewright virtual B300", 288 * gigabyte, 1920000, 3996000, 8192, 126 << 20, 2, true}},
    {110, {"Tilewright virtual T5000", 128 * gigabyte, 1575000, 4266000, 256, 32 << 20, 64, false}},
    {120,
     {"Tilewright virtual RTX 5090", 32 * gigabyte, 2407000, 14001000, 512, 96 << 20, 64, false}},
    {121, {"Tilewright virtual GB10", 128 * gigabyte, 2418000, 4266000, 256, 24 << 20, 64, false}},
};

/// The card with the chip; the H100 for an architecture without a row.
static const Board *boardOf(const machine::Chip &chip) {
  const Board *h100 = nullptr;
  for (const auto &[architecture, board] : boards) {
    if (architecture == chip.architecture)
      return &board;
    if (architecture == 90)
      h100 = &board;
  }
  return h100;
}

static std::atomic<Driver *> only = nullptr;

/// Set in a child process that was forked from a process with a driver. The child lacks the
/// driver's threads, and locks may be held by threads that exist only in the parent.
static std::atomic<bool> isForked = false;

Driver &Driver::get() { return *only.load(std::memory_order_acquire); }
bool Driver::isInitialised() {
  return only.load(std::memory_order_acquire) != nullptr &&
         !isForked.load(std::memory_order_relaxed);
}

static CUresult refuseFork() {
  // Not fprintf(), because another thread may have held its lock at the time of the fork.
  static constexpr std::string_view text =
      "tilewright vgpu: this process was forked from a process that uses the virtual GPU, so it "
      "cannot use the virtual GPU; start it with spawn or exec, or fork before cuInit\n";
  static std::atomic<bool> isTold = false;
  if (!isTold.exchange(true))
    static_cast<void>(!write(STDERR_FILENO, text.data(), text.size()));
  return CUDA_ERROR_NOT_INITIALIZED;
}

static std::unique_ptr<Device> makeDevice(int ordinal, const Settings &settings) {
  auto device = std::make_unique<Device>();
  device->ordinal = ordinal;
  const auto place = static_cast<size_t>(ordinal);
  uint64_t cardBytes = 0;
  if (settings.vendor() == Vendor::amd) {
    device->amd = settings.amdChips[place % settings.amdChips.size()];
    cardBytes = device->amd->memoryGigabytes << 30;
  } else {
    device->chip = settings.chips[place % settings.chips.size()];
    device->board = boardOf(*device->chip);
    cardBytes = device->board->memoryBytes;
  }
  const uint64_t hostBytes =
      uint64_t(sysconf(_SC_PHYS_PAGES)) * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  device->memoryBytes =
      settings.memoryBytes ? settings.memoryBytes : std::min(cardBytes, hostBytes);
  device->defaultPool = device->pool = std::make_shared<MemoryPool>(*device);
  return device;
}

CUresult Driver::initialise(const FrontEnd &library) {
  const Vendor vendor = library.vendor;
  if (isForked)
    return refuseFork();
  static std::mutex mutex;
  std::lock_guard lock(mutex);
  if (isInitialised())
    return CUDA_SUCCESS;
  Result<Settings> settings = Settings::fromEnvironment(vendor);
  Status status =
      settings.isOk() ? checkObservationNames(settings->checks) : std::move(settings).takeStatus();
  if (!status.isOk()) {
    std::fprintf(stderr, "tilewright vgpu: %s\n", status.toString().c_str());
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (settings->vendor() != vendor) {
    static bool isTold = false; // guarded by mutex
    if (!std::exchange(isTold, true))
      std::fputs(
          vendor == Vendor::amd
              ? "tilewright vgpu: libamdhip64.so has no device, because TILEWRIGHT_VGPU_CHIP "
                "is an NVIDIA chip; use --chip=gfx942 or --chip=gfx950\n"
              : "tilewright vgpu: libcuda.so.1 has no device, because TILEWRIGHT_VGPU_CHIP is "
                "an AMD chip; use an NVIDIA chip, such as --chip=sm_90a\n",
          stderr);
    return CUDA_ERROR_NO_DEVICE;
  }
  std::unique_ptr<Driver> driver(new Driver());
  driver->library = library;
  driver->settings = *std::move(settings);
  driver->pool = std::make_unique<ThreadPool>(driver->settings.threads);
  for (int i = 0; i < driver->settings.devices; ++i) {
    driver->devices.push_back(makeDevice(i, driver->settings));
    driver->pools.add(driver->devices.back()->defaultPool);
  }
  pthread_atfork(nullptr, nullptr, [] { isForked = true; });
  only.store(driver.release(), std::memory_order_release);
  return CUDA_SUCCESS;
}

CUresult Driver::refuseUninitialised() {
  return isForked ? refuseFork() : CUDA_ERROR_NOT_INITIALIZED;
}

CUresult fail(CUresult code, std::string_view reason) {
  if (Driver::isInitialised() && Driver::get().settings.verbose) {
    const std::string line =
        concat("tilewright vgpu: ", Driver::get().library.errorName(code), ": ", reason, "\n");
    std::fputs(line.c_str(), stderr);
  }
  return code;
}

CUresult needDevice(CUdevice number, Device *&device) {
  const auto &devices = Driver::get().devices;
  if (number < 0 || static_cast<size_t>(number) >= devices.size())
    return fail(CUDA_ERROR_INVALID_DEVICE,
                concat("device ", number, " does not exist, expected 0 to ", devices.size() - 1));
  device = devices[static_cast<size_t>(number)].get();
  return CUDA_SUCCESS;
}

} // namespace tilewright::vgpu::driver
