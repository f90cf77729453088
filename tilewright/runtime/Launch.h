// Launch: one run of a loaded executable on one device. For LoadedExecutable only.
#ifndef TILEWRIGHT_RUNTIME_LAUNCH_H
#define TILEWRIGHT_RUNTIME_LAUNCH_H

#include "tilewright/plan/CommPlan.h"
#include "tilewright/runtime/DeviceCollectives.h"
#include "tilewright/runtime/LoadedExecutable.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace tilewright::runtime {

/// Precomputed facts about the executable, so that a launch does not derive them each time.
struct LoadedExecutable::Facts {
  std::shared_ptr<const std::string> name; // for labels and timelines
  std::vector<bool> isDonated;             // by parameter: the program takes the buffer over
  bool hasDonation = false;
  struct ResultFacts {
    std::shared_ptr<const TensorType> type; // points into the executable, not a copy
    size_t bytes = 0;
    std::vector<Memory *> memories; // by local device
  };
  std::vector<ResultFacts> results;
  bool hasCollectives = false;
  std::optional<collective::CommPlan> communication; // for all ranks, if the executable has a plan
};

/// The part of one call of execute that runs on one device.
struct LoadedExecutable::Launch {
  std::shared_ptr<LoadedExecutable> executable;
  std::shared_ptr<DeviceProgram> code;
  size_t local = 0;
  int64_t runId = 0; // chosen by the caller or by the client
  void *userContext = nullptr;
  /// Events that must complete before the launch can begin.
  std::vector<Event> waits;
  /// Definitions of arguments that the device orders before this launch. The launch need not wait
  /// for them, but fails if they fail.
  std::vector<Event> inherited;
  /// The storages of parameters, then of results, kept until the launch ends. One list for both,
  /// because each list costs an allocation in every call.
  std::vector<std::shared_ptr<Storage>> storages;
  std::vector<std::byte *> pointers; // passed to the program; a parameter's may point to a copy
  /// A parameter that a result aliases but that was not donated, so the program must overwrite a
  /// copy.
  struct Copy {
    size_t parameter;
    size_t bytes;
  };
  std::vector<Copy> copies; // from storages[parameter] to pointers[parameter]
  std::shared_ptr<Allocator::Block> arenas[2];
  std::shared_ptr<collective::Communicator> communicator;
  std::shared_ptr<DeviceRun> deviceRun; // if devices execute the collectives
  std::optional<Promise> promise;

  /// Runs the program, or queues it on the device. The event fails if the run or one of its inputs
  /// fails.
  Event start();
  Result<Event> run();
  Result<Event> submit();
  Status takeArenas();
  void finish(Status status);
};

} // namespace tilewright::runtime

#endif // TILEWRIGHT_RUNTIME_LAUNCH_H
