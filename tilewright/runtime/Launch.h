// Launch: one run of a loaded executable on one device. For LoadedExecutable only.
#ifndef TILEWRIGHT_RUNTIME_LAUNCH_H
#define TILEWRIGHT_RUNTIME_LAUNCH_H

#include "tilewright/collective/plan/CommPlan.h"
#include "tilewright/runtime/LoadedExecutable.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace tilewright::runtime {

/// What a launch would otherwise work out each time.
struct LoadedExecutable::Facts {
  std::shared_ptr<const std::string> name; // for labels and timelines
  std::vector<bool> isDonated;             // by parameter: the program takes it over
  bool hasDonation = false;
  struct ResultFacts {
    std::shared_ptr<const TensorType> type; // inside the executable, no copy
    size_t bytes = 0;
    std::vector<Memory *> memories; // by local device
  };
  std::vector<ResultFacts> results;
  bool hasCollectives = false;
  std::optional<collective::CommPlan> communication; // of all ranks, if the program has it
};

/// One device's part of one call of execute.
struct LoadedExecutable::Launch {
  std::shared_ptr<LoadedExecutable> executable;
  size_t local = 0;
  int64_t runId = 0; // the caller's name for it, or ours
  void *userContext = nullptr;
  /// What must have happened before it can begin.
  std::vector<Event> waits;
  /// Definitions of arguments that the device puts before it; it fails as they do.
  std::vector<Event> inherited;
  /// Of parameters, then of results; kept until it ends. Two lists and no more, since each costs
  /// an allocation in every call.
  std::vector<std::shared_ptr<Storage>> storages;
  std::vector<std::byte *> pointers; // for the program; a parameter's may be a copy of it
  /// A parameter that a result wants to take over but must not.
  struct Copy {
    size_t parameter;
    size_t bytes;
  };
  std::vector<Copy> copies; // of storages[parameter] to pointers[parameter]
  std::shared_ptr<Allocator::Block> arenas[2];
  std::shared_ptr<collective::Communicator> communicator;
  std::optional<Promise> promise;

  /// Runs it, or queues it on the device; the event says how it, or what it is computed from,
  /// ended.
  Event start();
  Result<Event> run();
  Status takeArenas();
  void finish(Status status);
};

} // namespace tilewright::runtime

#endif // TILEWRIGHT_RUNTIME_LAUNCH_H
