// Processes: those of a job, each with devices of its own, that run programs together.
#ifndef TILEWRIGHT_RUNTIME_PROCESSES_H
#define TILEWRIGHT_RUNTIME_PROCESSES_H

#include "tilewright/collective/Communicator.h"
#include "tilewright/collective/membership/Group.h"
#include "tilewright/collective/plan/CommPlan.h"
#include "tilewright/collective/record/RecordedEngine.h"

#include <condition_variable>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <thread>
#include <vector>

namespace tilewright::runtime {

/// Who the processes are, and the engine between their devices. Devices are numbered over all
/// processes, in their order, and have these numbers in the engine.
///
/// Everything that processes must do together happens at fixed places: when the client is made,
/// when a program for devices of several processes is loaded, and in its collectives.
///
/// A process that ends, or a rank that fails, ends an *era*: what was loaded in it says so from
/// then on, naming who failed where. Those who are left meet again by themselves, in a new era, and
/// programs for their devices can be loaded again. Thread-safe.
class Processes {
public:
  /// What one process brings.
  struct Offer {
    int64_t process = 0, processes = 1;
    std::string job = "tilewright"; // in front of all keys; new for each client of a process
    std::string kind;               // of its devices
    int64_t devices = 1;
    std::chrono::seconds patience{120};     // for whoever does not come, here and later
    std::chrono::milliseconds silence{400}; // after which a process is given up
    std::string betweenHosts = "best", mpiLibrary = "libmpi_abi.so.1"; // as the options of
    std::string flightRecorder = "off";                                // these names
    int64_t flightRecorderEntries = 16384;
  };
  /// Tells the others, hears from all and connects the devices: memory between processes of one
  /// host, connections between hosts. The store is not needed after this.
  ///  - ranksNotConnected (E6032): a process did not come or cannot be reached, or brings something
  ///    that does not fit.
  ///  - carrierUnavailable (E6060): what is to carry collectives between hosts is not here.
  static Result<std::unique_ptr<Processes>> meet(const Offer &offer,
                                                 std::shared_ptr<collective::KeyValueStore> store);
  ~Processes();

  int64_t count() const { return self.processes; }
  /// What collectives are noted in, in this era; null if there is none.
  std::shared_ptr<collective::record::Recorder> flightRecorder() const;
  int64_t devicesOf(int64_t process) const { return devices[static_cast<size_t>(process)]; }

  /// From when processes have met until one of them fails.
  class Era;
  /// All processes of `ids` have the same plan for them, or none gets an Ok. Each of them loads its
  /// programs for these processes in the same order, and so calls this. Waits for a new era if the
  /// last one is over.
  ///  - commPlanDiffers (E6013), keyValueMissing (E6014)
  ///  - epochOver (E6042): a process of `ids` is no longer in the job.
  ///  - rankFenced (E6033), groupMinority (E6040), groupUnsettled (E6041): this one is not.
  Result<std::shared_ptr<Era>> agree(const collective::CommPlan &plan, std::span<const int> ids);

  /// For the device `ids[rank]` of this process, in programs over the devices `ids` that were
  /// agreed on in `era`. The same for all of them: a device runs one after the other.
  Result<std::shared_ptr<collective::Communicator>> communicator(Era &era, std::span<const int> ids,
                                                                 size_t rank);

private:
  explicit Processes(const Offer &offer) : self(offer) {}
  Status hear(collective::KeyValueStore &store);
  Result<std::shared_ptr<Era>> connect(const collective::membership::View &view);
  Status record(Era &era) const;
  Result<std::shared_ptr<Era>> currentEra(collective::Deadline deadline);
  std::vector<int64_t> processesOf(std::span<const int> ids) const;
  void heal();

  const Offer self;
  bool isOneHost = true;
  std::vector<int64_t> devices; // by process
  std::vector<int64_t> processOfDevice;
  std::string instance; // of the job: the same for all its processes, and for no other job
  std::shared_ptr<collective::membership::Group> group;

  mutable std::mutex mutex;
  std::condition_variable changed;
  // guarded by mutex:
  std::shared_ptr<Era> latest;
  Status end; // why there will be no other
  std::thread healer;
};

} // namespace tilewright::runtime

#endif // TILEWRIGHT_RUNTIME_PROCESSES_H
