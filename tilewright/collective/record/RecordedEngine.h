// RecordedEngine: an engine whose collectives are noted in a flight recorder.
#ifndef TILEWRIGHT_COLLECTIVE_RECORD_RECORDEDENGINE_H
#define TILEWRIGHT_COLLECTIVE_RECORD_RECORDEDENGINE_H

#include "tilewright/collective/record/Recorder.h"

namespace tilewright::collective::record {

/// Any engine does; it does not know that it is watched. Ranks are the engine's (Seat::members).
/// Those that the recorder has no track for are not noted. `name` tells the engines of a process
/// apart: cliques of the same ranks in two of them have nothing to do with each other.
class RecordedEngine final : public Engine {
public:
  RecordedEngine(std::unique_ptr<Engine> engine, std::shared_ptr<Recorder> recorder,
                 std::string name);
  Result<std::unique_ptr<Communicator>> join(const Seat &seat) override;
  void revoke(const std::string &why) override { engine->revoke(why); }

  class Calls; // those that a rank has made before; RecordedEngine.cpp
  /// What communicators need, also after the engine.
  struct Shared {
    Shared();
    ~Shared();
    std::shared_ptr<Recorder> recorder;
    std::string name;
    std::mutex mutex;
    /// By rank: kept from one run to the next, and for one communicator at a time. Guarded by
    /// mutex.
    std::map<int64_t, std::vector<std::unique_ptr<Calls>>> idle;
  };

private:
  const std::unique_ptr<Engine> engine;
  const std::shared_ptr<Shared> shared;
};

} // namespace tilewright::collective::record

#endif // TILEWRIGHT_COLLECTIVE_RECORD_RECORDEDENGINE_H
