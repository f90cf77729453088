// RunContext: what a program needs from outside while it runs.
#ifndef TILEWRIGHT_RUNTIME_CPU_RUNCONTEXT_H
#define TILEWRIGHT_RUNTIME_CPU_RUNCONTEXT_H

#include "tilewright/artifact/Executable.h"
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

struct RunContext;

/// Hears of every step, on the thread that runs the program. Steps of a loop or
/// branch are inside it. A run that fails does not end the loops that it is in.
class Tracer {
public:
  virtual ~Tracer() = default;
  virtual void begin(const artifact::Step &step) = 0;
  virtual void end(const artifact::Step &step) = 0;
};

/// A collective of the plan with what was looked up when it was loaded. Valid as
/// long as the program; its address says which collective it is.
struct Collective {
  const artifact::CollectiveStartStep *step = nullptr;
  std::span<const TensorType> operands, results;
  std::span<const Body> bodies;
  std::string name;       // for messages: "all_reduce.3"
  std::string_view place; // the user's file and line, or nothing
  uint64_t identity = 0;  // Call::identity
};

/// One rank's side of the collectives of one run.
class Collectives {
public:
  virtual ~Collectives() = default;
  /// Begins; pointers are in the order of the types and stay valid until finish or abandon.
  virtual Status start(const Collective &collective, std::span<const std::byte *const> operands,
                       std::span<std::byte *const> results) = 0;
  /// Returns when the results are written.
  virtual Status finish(const Collective &collective) = 0;
  /// Both at once.
  virtual Status run(const Collective &collective, std::span<const std::byte *const> operands,
                     std::span<std::byte *const> results) {
    TILEWRIGHT_TRY(start(collective, operands, results));
    return finish(collective);
  }
  /// The run failed with collectives under way. Nobody touches their memory
  /// after this returns.
  virtual void abandon() = 0;
};

/// A custom call as the plan has it. Valid as long as the program.
struct CustomCallSite {
  const artifact::CustomCallStep *step = nullptr;
  std::span<const TensorType> operands, results;
};

struct CustomCallRun {
  std::span<const std::byte *const> operands;
  std::span<std::byte *const> results;
  RunContext &context;
};

/// A handler bound to one call. Called from several threads at once if the
/// program is.
class CustomCall {
public:
  virtual ~CustomCall() = default;
  virtual Status run(const CustomCallRun &run) const = 0;
};

/// Finds handlers when a program is loaded.
class CustomCallResolver {
public:
  virtual ~CustomCallResolver() = default;
  /// Null if no handler has this name. A failure is the handler's own, about
  /// its configuration.
  virtual Result<std::unique_ptr<CustomCall>> prepare(const CustomCallSite &site) = 0;
};

/// One run. The caller owns everything in it.
struct RunContext {
  ThreadPool &pool;
  /// Memory for temporaries by space: Executable::arenaBytes, 64-byte aligned,
  /// exclusive to this run.
  std::byte *arenas[2] = {nullptr, nullptr};
  int64_t replica = 0, partition = 0;
  Collectives *collectives = nullptr; // needed by programs that have some
  Tracer *tracer = nullptr;
  /// Looked at once for each round of a loop.
  const std::atomic<bool> *cancel = nullptr;
  /// For handlers of custom calls; the program does not look at them.
  int64_t runId = 0;
  void *device = nullptr, *userContext = nullptr;
};

} // namespace tilewright::runtime::cpu

#endif // TILEWRIGHT_RUNTIME_CPU_RUNCONTEXT_H
