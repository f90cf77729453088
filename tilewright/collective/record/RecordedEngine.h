// RecordedEngine: wraps an engine and records its collectives in a flight recorder.
#ifndef TILEWRIGHT_COLLECTIVE_RECORD_RECORDEDENGINE_H
#define TILEWRIGHT_COLLECTIVE_RECORD_RECORDEDENGINE_H

#include "tilewright/collective/record/Recorder.h"

namespace tilewright::collective::record {

/// Wraps any engine and forwards all calls. Recorded ranks are the engine's
/// (RunMembership::members); ranks without a track in the recorder are not recorded. `name`
/// distinguishes the engines of a process, because cliques of the same ranks in two engines are
/// unrelated.
class RecordedEngine final : public Engine {
public:
  RecordedEngine(std::unique_ptr<Engine> engine, std::shared_ptr<Recorder> recorder,
                 std::string name);
  Result<std::unique_ptr<Communicator>> join(const RunMembership &own) override;
  void revoke(const std::string &why) override { engine->revoke(why); }
  std::shared_ptr<OperandMemory> operandMemory() override { return engine->operandMemory(); }

  class Calls; // cache of a rank's calls; RecordedEngine.cpp
  /// State that communicators need even after the engine is destroyed.
  struct Shared {
    Shared();
    ~Shared();
    std::shared_ptr<Recorder> recorder;
    std::string name;
    std::mutex mutex;
    /// The caches of each rank, which outlive a run. At most one communicator uses a cache at a
    /// time. Guarded by mutex.
    std::map<int64_t, std::vector<std::unique_ptr<Calls>>> idle;
  };

private:
  const std::unique_ptr<Engine> engine;
  const std::shared_ptr<Shared> shared;
};

} // namespace tilewright::collective::record

#endif // TILEWRIGHT_COLLECTIVE_RECORD_RECORDEDENGINE_H
