// The driver of one process: its devices, their contexts, and the tables of all handles.
#ifndef TILEWRIGHT_VGPU_DRIVER_DRIVER_H
#define TILEWRIGHT_VGPU_DRIVER_DRIVER_H

#include "tilewright/cuda-api/CudaTypes.h"
#include "tilewright/support/ThreadPool.h"
#include "tilewright/vgpu/driver/Handles.h"
#include "tilewright/vgpu/driver/Settings.h"
#include "tilewright/vgpu/machine/Chip.h"

#include <atomic>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

namespace tilewright::vgpu::driver {

using namespace cuda_api;

class Stream;
class Graph;
struct Event;
struct Function;
struct GraphExec;
struct GraphNode;
struct Library;
struct Linker;
struct LoadedBinary;
struct MemoryPool;

/// Properties of a card beyond those of its chip.
struct Board {
  std::string_view name;
  uint64_t memoryBytes;
  int clockKilohertz, memoryClockKilohertz, memoryBusBits;
  uint32_t l2Bytes;
  int doubleRatio; // f32 operations for each f64 operation
  bool ecc;
};

/// A CUDA context. Thread-safe.
class Context : public Handled, public std::enable_shared_from_this<Context> {
public:
  Context(struct Device &device, unsigned flags, unsigned apiVersion)
      : device(device), apiVersion(apiVersion), flags(flags) {}

  Device &device;
  const unsigned apiVersion;
  uint64_t id = 0;
  std::atomic<unsigned> flags;
  std::atomic<bool> destroyed = false;
  std::atomic<int> cacheConfig = 0, sharedConfig = 0;

  /// The first error of a kernel; all later calls fail with it.
  CUresult failure() const { return static_cast<CUresult>(firstFailure.load()); }
  void setFailure(CUresult failure);
  /// Returns failure(), for a call that waits for work. Clears the failure if the settings let
  /// contexts recover.
  CUresult tellFailure();

  /// The legacy default stream.
  std::shared_ptr<Stream> legacy();
  /// The default stream of the calling thread.
  std::shared_ptr<Stream> perThread();
  /// Drops the legacy stream of a context that is being destroyed.
  void dropLegacy();
  void addStream(const std::shared_ptr<Stream> &stream);
  std::vector<std::shared_ptr<Stream>> streams();
  /// Waits for all work.
  CUresult synchronise();

  /// Held while a thread submits work to any stream of the context, so that the order between the
  /// legacy stream and the others is the order of the calls.
  std::mutex order;

  std::mutex mutex;
  size_t limits[7] = {1024, 1 << 20, 8 << 20, 2, 2048, 64, 0}; // guarded by mutex
  std::set<void *> peers;                                      // guarded by mutex

private:
  std::atomic<int> firstFailure = 0;
  std::shared_ptr<Stream> legacyStream;          // guarded by mutex
  std::vector<std::weak_ptr<Stream>> allStreams; // guarded by mutex
};

struct Device {
  int ordinal = 0;
  const machine::Chip *chip = nullptr; // null if it is AMD's
  const chips::AmdChip *amd = nullptr; // null if it is NVIDIA's
  const Board *board = nullptr;        // null if it is AMD's
  uint64_t memoryBytes = 0;
  std::atomic<uint64_t> usedBytes = 0;

  std::mutex mutex;
  std::shared_ptr<Context> primary;              // guarded by mutex; null while not active
  unsigned primaryUses = 0, primaryFlags = 0;    // guarded by mutex
  std::shared_ptr<MemoryPool> defaultPool, pool; // guarded by mutex
};

/// The library through which programs use the driver: libcuda.so.1 or libamdhip64.so.7.
struct FrontEnd {
  Vendor vendor = Vendor::nvidia;
  /// The name of an error in the library's API.
  const char *(*errorName)(int error) = nullptr;
};

class Driver {
public:
  /// The driver of this process. cuInit() creates it; it is never destroyed, since its threads may
  /// outlive main().
  static Driver &get();
  static bool isInitialised();
  /// Implements cuInit() for a library.
  static CUresult initialise(const FrontEnd &library);
  /// The result of API functions that require cuInit() while isInitialised() is false: before
  /// cuInit(), and in a process that was forked after it.
  static CUresult refuseUninitialised();

  FrontEnd library;
  Settings settings;
  std::vector<std::unique_ptr<Device>> devices;
  std::unique_ptr<ThreadPool> pool; // runs kernels

  HandleTable<Context> contexts;
  HandleTable<Stream> streams;
  HandleTable<Event> events;
  HandleTable<LoadedBinary> modules;
  HandleTable<Function> functions;
  HandleTable<Library> libraries;
  HandleTable<MemoryPool> pools;
  HandleTable<Linker> linkers;
  HandleTable<Graph> graphs;
  HandleTable<GraphNode> nodes;
  HandleTable<GraphExec> execs;

private:
  Driver() = default;
};

/// Returns `code`, and prints the reason if the settings are verbose.
CUresult fail(CUresult code, std::string_view reason);

/// The current context of this thread; null if there is none.
std::shared_ptr<Context> currentContext();
/// Makes a context current in this thread for the lifetime of the object.
class CurrentContext {
public:
  explicit CurrentContext(std::shared_ptr<Context> context);
  ~CurrentContext();
};

/// Finds the current context; fails with CUDA_ERROR_INVALID_CONTEXT if there is none.
CUresult needContext(std::shared_ptr<Context> &context);
/// Finds a device; fails if there is none with that number.
CUresult needDevice(CUdevice number, Device *&device);

/// Returns from the enclosing function unless the result is CUDA_SUCCESS.
#define VGPU_TRY(expression)                                                                       \
  if (const CUresult vgpuResult = (expression); vgpuResult != CUDA_SUCCESS)                        \
    return vgpuResult;
/// Returns CUDA_ERROR_INVALID_VALUE from the enclosing function unless `condition` holds.
#define VGPU_NEED(condition)                                                                       \
  if (!(condition))                                                                                \
    return fail(CUDA_ERROR_INVALID_VALUE, "needed: " #condition);

} // namespace tilewright::vgpu::driver

#endif // TILEWRIGHT_VGPU_DRIVER_DRIVER_H
