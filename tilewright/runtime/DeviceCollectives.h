// DeviceCollectives: the collectives that devices execute themselves, for all programs of a client.
#ifndef TILEWRIGHT_RUNTIME_DEVICECOLLECTIVES_H
#define TILEWRIGHT_RUNTIME_DEVICECOLLECTIVES_H

#include "tilewright/collective/record/Recorder.h"
#include "tilewright/runtime/Backend.h"

#include <atomic>
#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace tilewright::runtime {

/// An engine, and whether it is known to have failed.
struct ConnectedEngine {
  std::unique_ptr<collective::DeviceEngine> engine;
  std::atomic<bool> hasFailed = false;

  void revoke(const std::string &why) {
    hasFailed = true;
    engine->revoke(why);
  }
};

/// The communicators of one program, by local device. Thread-safe, but see DeviceCommunicator.
class DeviceRanks : public std::enable_shared_from_this<DeviceRanks> {
public:
  /// `devices` are the ids of the program's devices, by rank; `recorder` may be null.
  DeviceRanks(std::shared_ptr<ConnectedEngine> engine,
              std::vector<std::unique_ptr<collective::DeviceCommunicator>> communicators,
              std::vector<int64_t> devices, std::shared_ptr<collective::record::Recorder> recorder)
      : engine(std::move(engine)), communicators(std::move(communicators)),
        devices(std::move(devices)), recorder(std::move(recorder)) {}

  collective::DeviceCommunicator &at(size_t local) { return *communicators[local]; }
  /// The first failure; never blocks.
  Status check();
  /// Records that a rank queues a collective. The result records its end, which must be called once
  /// by any thread; null if nothing is recorded.
  std::function<void(bool isWell)> record(size_t local, const collective::Call &call);
  /// Ends the collectives of all programs that use the engine, because a rank will never join one:
  /// streams that execute them continue without results, and check() fails from now on.
  void fail(const Status &why);

private:
  const std::shared_ptr<ConnectedEngine> engine;
  const std::vector<std::unique_ptr<collective::DeviceCommunicator>> communicators;
  const std::vector<int64_t> devices;
  const std::shared_ptr<collective::record::Recorder> recorder;
  std::mutex mutex;
  // guarded by mutex:
  Status failure;
  std::map<std::pair<size_t, uint64_t>, collective::record::Recorder::CallSite>
      callSites; // by local rank and the identity of the call
};

/// The engine of a client, or of one epoch of a job: connected for the first program that needs it,
/// and watched while programs run. Thread-safe.
class DeviceCollectives {
public:
  using Connect = std::function<Result<std::unique_ptr<collective::DeviceEngine>>(uint64_t number)>;
  /// `connect` makes the engine. Its argument is the number of earlier engines, because after a
  /// failure a client of one process makes a new one. `timeout` is for ranks that do not arrive.
  /// `backend` must outlive this object. `recorder` records the collectives; null if recording is
  /// off.
  DeviceCollectives(Backend &backend, Connect connect, std::chrono::seconds timeout,
                    std::shared_ptr<collective::record::Recorder> recorder)
      : backend(backend), connect(std::move(connect)), timeout(timeout),
        recorder(std::move(recorder)) {}
  ~DeviceCollectives();

  /// The communicators of a program on these devices, by id. All processes of the devices call this
  /// with equal arguments and in the same order.
  ///  - the errors of DeviceEngine::prepare, and those of the connection
  Result<std::shared_ptr<DeviceRanks>> prepare(const std::vector<int64_t> &devices,
                                               std::span<const collective::DeviceClique> cliques);

  /// Until `done`, fails the ranks if a device reports a failure of its collectives, or if one of
  /// its collectives takes longer than the timeout.
  void watch(std::shared_ptr<DeviceRanks> ranks, Event done);

  /// Fails the engine, because the caller knows that a rank will never join.
  void revoke(const std::string &why);

private:
  struct Run {
    std::shared_ptr<DeviceRanks> ranks;
    Event done;
  };
  void watchRuns();
  Status findStuck();

  Backend &backend;
  const Connect connect;
  const std::chrono::seconds timeout;
  const std::shared_ptr<collective::record::Recorder> recorder;

  std::mutex connecting; // held while ranks are prepared, which may take long
  // guarded by connecting:
  uint64_t connected = 0;

  std::mutex mutex;
  std::condition_variable changed;
  // guarded by mutex:
  std::shared_ptr<ConnectedEngine> engine;
  std::vector<Run> runs;
  bool stopping = false;
  std::thread thread;
};

/// One run of a program whose collectives devices execute. If a local rank fails before any local
/// rank has queued work, the others do not begin, and the engine stays usable. Thread-safe.
class DeviceRun : public std::enable_shared_from_this<DeviceRun> {
public:
  /// `isShared`: ranks of other processes take part in the run and may have begun already.
  DeviceRun(DeviceCollectives &collectives, std::shared_ptr<DeviceRanks> ranks, bool isShared)
      : collectives(collectives), communicators(std::move(ranks)), hasBegun(isShared) {}

  DeviceRanks &ranks() { return *communicators; }
  /// A rank calls this before it queues work. Fails if another one has failed.
  ///  - collectiveAborted (E6003)
  Status begin(int64_t rank);
  /// Marks the end of a rank, including failures of its collectives. `own` completes when its
  /// device is done.
  Event endOf(int64_t rank, const Event &own);

private:
  void fail(int64_t rank, const Status &why);

  DeviceCollectives &collectives;
  const std::shared_ptr<DeviceRanks> communicators;
  std::mutex mutex;
  // guarded by mutex:
  bool hasBegun = false;
  std::string failure; // empty if no rank has failed
};

} // namespace tilewright::runtime

#endif // TILEWRIGHT_RUNTIME_DEVICECOLLECTIVES_H
