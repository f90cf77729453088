// Client: the devices of a process and all objects that belong to them.
#ifndef TILEWRIGHT_RUNTIME_CLIENT_H
#define TILEWRIGHT_RUNTIME_CLIENT_H

#include "tilewright/collective/Communicator.h"
#include "tilewright/runtime/Backend.h"
#include "tilewright/runtime/Buffer.h"
#include "tilewright/runtime/Device.h"
#include "tilewright/runtime/DeviceCollectives.h"
#include "tilewright/runtime/LoadedExecutable.h"
#include "tilewright/runtime/Memory.h"
#include "tilewright/runtime/Processes.h"
#include "tilewright/runtime/heap/OperandHeap.h"
#include "tilewright/support/Options.h"

#include <memory>
#include <span>
#include <string>
#include <vector>

namespace tilewright::runtime {

/// How to create a client.
struct ClientOptions {
  RuntimeOptions runtime; // Options.def, category `runtime`
  int processIndex = 0;
  int processCount = 1;
  /// If there are several processes: the store for the rendezvous, and the prefix of their keys,
  /// which must be unique to each client.
  std::shared_ptr<tilewright::KeyValueStore> store;
  std::string job = "tilewright";
};

/// Owns devices, memories and a thread pool, and loads programs.
///
///   TILEWRIGHT_ASSIGN(std::unique_ptr<Client> client, cpu::createClient({}));
///   TILEWRIGHT_ASSIGN(auto executable, client->load(bytes, client->defaultAssignment(1, 1)));
///
/// Thread-safe. The client must outlive its executables; its destructor waits for work in flight.
/// Buffers may be destroyed later.
class Client {
public:
  /// For CPU devices call cpu::createClient (runtime/cpu/CpuBackend.h). If there are several
  /// processes, all must create their client together, and each client has the devices of all.
  ///  - optionValue (E0002): an option of the category `runtime` has an invalid value.
  ///  - ranksNotConnected (E6032): another process did not arrive.
  static Result<std::unique_ptr<Client>> create(const ClientOptions &options,
                                                std::unique_ptr<Backend> backend);
  ~Client();

  const std::string &platformName() const { return name; }
  const std::string &platformVersion() const { return version; }
  int processIndex() const { return options.processIndex; }
  const RuntimeOptions &runtimeOptions() const { return options.runtime; }

  /// The devices of all processes, by id.
  std::span<Device *const> devices() const { return allDevices; }
  std::span<Device *const> addressableDevices() const { return localDevices; }
  /// The memories of the local devices, by id.
  std::span<Memory *const> memories() const { return localMemories; }
  /// Null if there is no such device.
  Device *deviceWithId(int id) const;
  Device *deviceWithLocalId(int localId) const;

  ThreadPool &threadPool() { return *pool; }
  Backend &backend() { return *kind; }
  collective::Engine &collectives() { return *localEngine; }
  /// For programs on devices of this process alone.
  DeviceCollectives &deviceCollectives() { return *localDeviceEngine; }
  /// Null if this is the only process.
  Processes *processes() const { return others.get(); }

  /// The first devices in order, one for each (replica, partition): devices of this process if it
  /// has enough.
  Result<DeviceAssignment> defaultAssignment(int64_t replicas, int64_t partitions) const;

  ///  - deviceAssignment (E5054): the assignment does not fit the executable or the devices.
  ///  - any failure of readExecutable.
  Result<std::shared_ptr<LoadedExecutable>> load(std::span<const std::byte> bytes,
                                                 DeviceAssignment assignment);
  Result<std::shared_ptr<LoadedExecutable>>
  load(std::shared_ptr<const artifact::Executable> executable, DeviceAssignment assignment);

  /// Blocks until no device has work.
  void drain();

private:
  friend class LoadedExecutable;
  explicit Client(const ClientOptions &options) : options(options) {}
  void addDevice(const DeviceDescription &description);
  void addDeviceElsewhere(int process, int localId, const std::string &kindName);
  Result<std::unique_ptr<collective::DeviceEngine>> connectOwnDevices(uint64_t number);
  /// Allocates host memory that the engine between processes need not copy.
  void useOperandMemory(std::shared_ptr<collective::OperandMemory> memory);
  std::unique_ptr<Device> makeDevice(int process, int localId, const std::string &kindName);

  const ClientOptions options;
  std::string name, version;
  std::unique_ptr<Backend> kind;
  std::unique_ptr<ThreadPool> pool;
  std::unique_ptr<collective::Engine> localEngine;
  std::unique_ptr<Processes> others;
  tilewright::MemoryKeyValueStore ownStore; // of the devices of this process
  std::unique_ptr<DeviceCollectives> localDeviceEngine;
  std::vector<std::unique_ptr<Device>> ownedDevices;
  std::vector<std::unique_ptr<Memory>> ownedMemories;
  std::vector<Device *> allDevices, localDevices;
  std::vector<Memory *> localMemories;
  std::shared_ptr<Allocator> hostMemory; // shared by all devices
  /// The source of hostMemory, if collectives of several processes have their operands there.
  OperandHeap *operandHeap = nullptr;
  std::atomic<int64_t> nextRun = 1;
  /// Held while a launch is queued on several devices, so that all devices queue launches in the
  /// same order.
  std::mutex launching;
};

} // namespace tilewright::runtime

#endif // TILEWRIGHT_RUNTIME_CLIENT_H
