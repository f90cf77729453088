// Processes: those of a job, each with devices of its own, that run programs together.
#ifndef TILEWRIGHT_RUNTIME_PROCESSES_H
#define TILEWRIGHT_RUNTIME_PROCESSES_H

#include "tilewright/collective/Communicator.h"
#include "tilewright/collective/KeyValueStore.h"
#include "tilewright/collective/plan/CommPlan.h"
#include "tilewright/collective/record/RecordedEngine.h"

#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

namespace tilewright::runtime {

/// Who the processes are, and the engine between their devices. Devices are numbered over all
/// processes, in their order, and have these numbers in the engine.
///
/// Everything that processes must do together happens at fixed places: when the client is made,
/// when a program for devices of several processes is loaded, and in its collectives. Thread-safe.
class Processes {
public:
  /// What one process brings.
  struct Offer {
    int64_t process = 0, processes = 1;
    std::string job = "tilewright"; // in front of all keys; new for each client of a process
    std::string kind;               // of its devices
    int64_t devices = 1;
    std::chrono::seconds patience{120}; // for whoever does not come, here and later
    std::string flightRecorder = "off"; // as the options of these names
    int64_t flightRecorderEntries = 16384;
  };
  /// Tells the others, hears from all and connects the devices: memory between processes of one
  /// host, connections between hosts.
  ///  - ranksNotConnected (E6032): a process did not come or cannot be reached, or brings something
  ///    that does not fit.
  static Result<std::unique_ptr<Processes>> meet(const Offer &offer,
                                                 std::shared_ptr<collective::KeyValueStore> store);

  int64_t count() const { return self.processes; }
  /// What collectives are noted in; null if there is none.
  const std::shared_ptr<collective::record::Recorder> &flightRecorder() const { return recorder; }
  int64_t devicesOf(int64_t process) const { return devices[static_cast<size_t>(process)]; }

  /// All processes of `ids` have the same plan for them, or none gets an Ok. Each of them loads its
  /// programs for these processes in the same order, and so calls this.
  ///  - commPlanDiffers (E6013), keyValueMissing (E6014)
  Status agree(const collective::CommPlan &plan, std::span<const int> ids);

  /// For the device `ids[rank]` of this process, in programs over the devices `ids`. The same for
  /// all of them: a device runs one after the other.
  Result<std::shared_ptr<collective::Communicator>> communicator(std::span<const int> ids,
                                                                 size_t rank);

private:
  Processes(const Offer &offer, std::shared_ptr<collective::KeyValueStore> store)
      : self(offer), store(std::move(store)) {}
  Status hear(std::vector<std::string> &hosts);
  Status connect(const std::vector<std::string> &hosts);
  Status record(const char *engineName);

  const Offer self;
  const std::shared_ptr<collective::KeyValueStore> store;
  std::vector<int64_t> devices; // by process
  std::vector<int64_t> processOfDevice;
  std::string instance; // of the job: the same for all its processes, and for no other job
  std::shared_ptr<collective::record::Recorder> recorder;
  std::unique_ptr<collective::Engine> engine;

  std::mutex mutex;
  // guarded by mutex:
  std::map<std::vector<int64_t>, int64_t> loads; // by processes: how many
  std::map<std::pair<std::vector<int64_t>, size_t>, std::shared_ptr<collective::Communicator>>
      communicators; // by devices and rank
};

} // namespace tilewright::runtime

#endif // TILEWRIGHT_RUNTIME_PROCESSES_H
