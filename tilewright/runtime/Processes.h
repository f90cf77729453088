// Processes: the processes of a job, each with its own devices, that run programs together.
#ifndef TILEWRIGHT_RUNTIME_PROCESSES_H
#define TILEWRIGHT_RUNTIME_PROCESSES_H

#include "tilewright/collective/Communicator.h"
#include "tilewright/collective/membership/Group.h"
#include "tilewright/collective/record/RecordedEngine.h"
#include "tilewright/plan/CommPlan.h"

#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <thread>
#include <vector>

namespace tilewright::runtime {

class Backend;
class DeviceCollectives;

/// The processes of the job and the transport between their devices. Devices are numbered over all
/// processes, in the order of the processes; the transport uses these numbers as ranks.
///
/// Processes synchronise only when the client is created, when a program for devices of several
/// processes is loaded, and in its collectives.
///
/// A process that ends, or a rank that fails, ends the membership *epoch*: programs loaded in
/// it fail from then on, with a message that names the process that failed and where. The surviving
/// processes reconnect automatically in a new epoch, and programs for their devices can be loaded
/// again. Thread-safe.
class Processes {
public:
  /// The configuration of one process for the rendezvous.
  struct Config {
    int64_t process = 0, processes = 1;
    std::string job = "tilewright"; // prefix of all keys; unique to each client of a process
    std::string kind;               // of its devices
    int64_t devices = 1;
    std::chrono::seconds timeout{120};      // timeout for missing processes, now and later
    std::chrono::milliseconds silence{400}; // heartbeat timeout of a process
    std::string betweenHosts = "best", mpiLibrary = "libmpi_abi.so.1"; // as the options of
    std::string flightRecorder = "off";                                // these names
    int64_t flightRecorderEntries = 16384;
    /// The measured choice by problem (autotuning); the same in all processes.
    std::map<std::string, std::string> choices = {};
  };
  /// Publishes this process's devices, waits for all other processes and connects the devices:
  /// shared memory between processes on one host, connections between hosts. The store is not
  /// needed after this.
  ///  - ranksNotConnected (E6032): a process did not arrive, is unreachable, or has an incompatible
  ///    configuration.
  ///  - carrierUnavailable (E6060): the transport for collectives between hosts is not available.
  static Result<std::unique_ptr<Processes>> join(const Config &config,
                                                 std::shared_ptr<tilewright::KeyValueStore> store);
  ~Processes();

  int64_t count() const { return self.processes; }
  /// The recorder of this epoch's collectives; null if recording is off.
  std::shared_ptr<collective::record::Recorder> flightRecorder() const;
  int64_t devicesOf(int64_t process) const { return devices[static_cast<size_t>(process)]; }

  /// The time from the rendezvous of the processes until one of them fails.
  class Epoch;
  /// Succeeds only if all processes of `ids` have the same plan. All of them must load their
  /// programs for these processes, and therefore call this, in the same order. Waits for a new
  /// epoch if the last one is over.
  ///  - commPlanDiffers (E6013), keyValueMissing (E6014)
  ///  - epochOver (E6042): a process of `ids` is no longer in the job.
  ///  - rankFenced (E6033), groupMinority (E6040), groupUnsettled (E6041): this process is no
  ///    longer in the job.
  Result<std::shared_ptr<Epoch>> agree(const collective::CommPlan &plan, std::span<const int> ids);

  /// The communicator of the device `ids[rank]` of this process, for programs over the devices
  /// `ids` that were agreed on in `epoch`. All such programs share it: a device runs them one after
  /// the other.
  Result<std::shared_ptr<collective::Communicator>>
  communicator(Epoch &epoch, std::span<const int> ids, size_t rank);
  /// Memory whose tensors this epoch's collectives between processes of a host need not copy; may
  /// be null.
  static std::shared_ptr<collective::OperandMemory> operandMemory(const Epoch &epoch);
  std::shared_ptr<collective::OperandMemory> operandMemory() const;
  /// The collectives that devices execute in this epoch; valid as long as the epoch.
  DeviceCollectives &deviceCollectives(Epoch &epoch, Backend &backend);

private:
  explicit Processes(const Config &config) : self(config) {}
  Status exchangeDescriptions(tilewright::KeyValueStore &store);
  Status compareChoices(int64_t process, tilewright::KeyValueStore &store, Deadline deadline) const;
  Result<std::shared_ptr<Epoch>> connect(const collective::membership::View &view);
  Status record(Epoch &epoch) const;
  Result<std::shared_ptr<Epoch>> currentEpoch(tilewright::Deadline deadline);
  std::vector<int64_t> processesOf(std::span<const int> ids) const;
  void recover();

  const Config self;
  bool isOneHost = true;
  std::vector<int64_t> devices; // by process
  std::vector<int64_t> processOfDevice;
  std::string instance; // unique id of the job, the same in all its processes
  std::shared_ptr<collective::membership::Group> group;

  mutable std::mutex mutex;
  std::condition_variable changed;
  // guarded by mutex:
  std::shared_ptr<Epoch> latest;
  Status end; // why no further epoch can begin
  std::thread recovery;
};

} // namespace tilewright::runtime

#endif // TILEWRIGHT_RUNTIME_PROCESSES_H
