// RunContext: the environment of one run of a program.
#ifndef TILEWRIGHT_RUNTIME_CPU_RUNCONTEXT_H
#define TILEWRIGHT_RUNTIME_CPU_RUNCONTEXT_H

#include "tilewright/artifact/Executable.h"
#include "tilewright/collective/Communicator.h"
#include "tilewright/runtime/CustomCall.h"
#include "tilewright/runtime/cpu/library/Library.h"
#include "tilewright/support/Status.h"
#include "tilewright/support/ThreadPool.h"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace tilewright::runtime::cpu {

/// Called before and after every step, on the thread that runs the program. The steps of a loop or
/// branch are nested in it. A run that fails does not call end() for the enclosing loops.
class Tracer {
public:
  virtual ~Tracer() = default;
  virtual void begin(const artifact::Step &step) = 0;
  virtual void end(const artifact::Step &step) = 0;
};

/// A collective of the plan with everything that load() looked up. Lives as long as the program;
/// its address identifies the collective.
struct Collective {
  const artifact::CollectiveStartStep *step = nullptr;
  std::string name; // for messages: "all_reduce.3"
  /// The call without the pointers of its tensors, which each run sets in its own copy.
  collective::Call call;
  std::span<const artifact::TensorType> listTypes; // of the lists of a ragged_all_to_all
};

/// One rank's side of the collectives of one run.
class Collectives {
public:
  virtual ~Collectives() = default;
  /// Starts the collective. The pointers are in the order of the types and must stay valid until
  /// finish or abandon.
  virtual Status start(const Collective &collective, std::span<const std::byte *const> operands,
                       std::span<std::byte *const> results) = 0;
  /// Returns when the results are written.
  virtual Status finish(const Collective &collective) = 0;
  /// Starts the collective and waits for it.
  virtual Status run(const Collective &collective, std::span<const std::byte *const> operands,
                     std::span<std::byte *const> results) {
    TILEWRIGHT_TRY(start(collective, operands, results));
    return finish(collective);
  }
  /// Aborts the collectives in flight, because the run failed. No thread accesses their memory
  /// after this returns.
  virtual void abandon() = 0;
};

/// The environment of one run. The caller owns everything in it.
struct RunContext {
  ThreadPool &pool;
  /// The arena for temporaries in each memory space: Executable::arenaBytes bytes, 64-byte aligned,
  /// exclusive to this run.
  std::byte *arenas[2] = {nullptr, nullptr};
  int64_t replica = 0, partition = 0;
  Collectives *collectives = nullptr; // required if the program has collectives
  Tracer *tracer = nullptr;
  /// Checked once per loop iteration.
  const std::atomic<bool> *cancel = nullptr;
  /// Values that custom-call handlers read; the program itself does not use them.
  int64_t runId = 0;
  const Device *device = nullptr;
  void *userContext = nullptr;
};

} // namespace tilewright::runtime::cpu

#endif // TILEWRIGHT_RUNTIME_CPU_RUNCONTEXT_H
