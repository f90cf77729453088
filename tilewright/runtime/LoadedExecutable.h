// LoadedExecutable: a compiled program loaded on its devices.
#ifndef TILEWRIGHT_RUNTIME_LOADEDEXECUTABLE_H
#define TILEWRIGHT_RUNTIME_LOADEDEXECUTABLE_H

#include "tilewright/artifact/Executable.h"
#include "tilewright/runtime/Backend.h"
#include "tilewright/runtime/Buffer.h"

#include <atomic>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

namespace tilewright::collective {
struct CommPlan;
}

namespace tilewright::runtime {

class DeviceCollectives;
class DeviceRanks;

/// Maps each (replica, partition) to the device that runs it.
struct DeviceAssignment {
  int64_t replicas = 1, partitions = 1;
  std::vector<int> devices; // ids; [replica * partitions + partition]
  int at(int64_t replica, int64_t partition) const {
    return devices[static_cast<size_t>(replica * partitions + partition)];
  }
  bool operator==(const DeviceAssignment &) const = default;
};

struct ExecuteOptions {
  /// Parameters whose buffers stay with the caller even if the program donates them.
  std::span<const int64_t> nonDonatable;
  /// The run id that custom calls see; if 0, the client chooses one.
  int64_t launchId = 0;
  /// Passed to custom calls.
  void *userContext = nullptr;
};

/// What execute() returns; the results may still be in computation.
struct Execution {
  std::vector<std::vector<std::unique_ptr<Buffer>>> results; // by local device, by result
  std::vector<Event> done;                                   // by local device
};

/// A program with a device assignment. Thread-safe.
///
///   TILEWRIGHT_ASSIGN(Execution run, executable->execute({{a.get(), b.get()}}));
///   run.results[0][0]->toHost(…)
class LoadedExecutable : public std::enable_shared_from_this<LoadedExecutable> {
public:
  ~LoadedExecutable();

  const artifact::Executable &executable() const { return *program; }
  std::shared_ptr<const artifact::Executable> sharedExecutable() const { return program; }
  const DeviceAssignment &deviceAssignment() const { return assignment; }

  /// The devices of the assignment that belong to this process, by rank. Arguments and results are
  /// in this order.
  std::span<Device *const> addressableDevices() const { return localDevices; }
  struct LogicalId {
    int replica, partition;
  };
  std::span<const LogicalId> logicalIds() const { return localIds; }
  /// 0 after release().
  int64_t codeBytes() const;
  /// The collectives of all ranks, on which processes agree before the first run
  /// (collective/Agree.h). Null if the program has no collectives or the executable no plan.
  const collective::CommPlan *communication() const;

  /// Starts the program on every local device. Returns before it ends, unless it is short and its
  /// inputs are ready: then it runs on the calling thread. Donated arguments are deleted when this
  /// returns. If an argument's definition fails, the results fail in the same way.
  ///  - argumentMismatch (E5052): wrong number, types, or devices of arguments.
  ///  - bufferDeleted (E5051): an argument was deleted or donated before.
  ///  - donatedTwice (E5053): a donated buffer is also another argument.
  ///  - outOfMemory (E5050): no memory for results or temporaries.
  Result<Execution> execute(std::span<const std::span<Buffer *const>> arguments,
                            const ExecuteOptions &options = {});

  /// Frees the program's code; runs in flight keep it until they end. Later calls of execute fail.
  void release();
  bool isDeleted() const { return !code(); }

private:
  friend class Client;
  struct Facts;
  struct Launch;
  using Launches = std::vector<std::shared_ptr<Launch>>; // by local device
  LoadedExecutable(Client &client, std::shared_ptr<const artifact::Executable> program,
                   DeviceAssignment assignment);
  Status prepare();
  Status agreeWithOtherProcesses(const DeviceProgram &code);
  /// Makes the communicators for collectives that devices execute. After a failure, makes them
  /// again, unless other processes would have to do the same.
  Result<std::shared_ptr<DeviceRanks>> deviceRanks(const DeviceProgram &code);
  Status checkArguments(size_t local, std::span<Buffer *const> arguments,
                        const std::vector<bool> &isDonated);
  /// Holds the arguments and allocates the results that do not reuse a donated argument. Donates
  /// nothing.
  Result<std::shared_ptr<Launch>> makeLaunch(size_t local, std::span<Buffer *const> arguments,
                                             const std::vector<bool> &isDonated);
  /// Takes the donated arguments from the caller and uses their memory for results. Fails only if
  /// another thread has deleted one, or if a donated buffer with an external reference must be
  /// copied and memory is exhausted.
  Status donate(Launch &launch, std::span<Buffer *const> arguments,
                const std::vector<bool> &isDonated);
  Result<std::shared_ptr<Storage>> makeResult(size_t local, size_t i);
  std::vector<std::unique_ptr<Buffer>> makeResults(Launch &launch, const Event &definition);
  /// Makes the launches of one run on all local devices, and donates the arguments.
  Result<Launches> makeLaunches(std::span<const std::span<Buffer *const>> arguments,
                                const std::vector<bool> &isDonated, const ExecuteOptions &options,
                                const std::shared_ptr<DeviceProgram> &code, int64_t runId);
  /// Gives each launch its communicator.
  Status joinCollectives(Launches &launches, int64_t runId);
  /// Null after release().
  std::shared_ptr<DeviceProgram> code() const;
  bool shouldRunHere(const Launch &launch) const;
  /// Runs the launch on the calling thread, as the current task of its stream, and adds its
  /// results.
  void runHere(std::shared_ptr<Launch> launch, Execution &execution);
  void enqueue(Launches launches);
  /// The rank of a local device in the assignment.
  int64_t rankOf(size_t local) const {
    return localIds[local].replica * assignment.partitions + localIds[local].partition;
  }

  Client &client;
  const std::shared_ptr<const artifact::Executable> program;
  const DeviceAssignment assignment;
  std::vector<Device *> localDevices;
  std::vector<LogicalId> localIds;
  bool isShared = false; // with other processes
  /// One per local device, if the program has collectives and other processes run it too.
  std::vector<std::shared_ptr<collective::Communicator>> communicators;
  mutable std::mutex codeMutex;
  std::shared_ptr<DeviceProgram> loadedCode;      // for all devices; guarded by codeMutex
  DeviceCollectives *deviceCollectives = nullptr; // if devices execute the collectives
  std::shared_ptr<void> keptEpoch;                // of deviceCollectives
  std::mutex ranksMutex;
  std::shared_ptr<DeviceRanks> ranks; // guarded by ranksMutex
  std::unique_ptr<Facts> facts;
  std::atomic<int64_t> measured = -1; // duration of a run in nanoseconds; negative before the first
};

} // namespace tilewright::runtime

#endif // TILEWRIGHT_RUNTIME_LOADEDEXECUTABLE_H
