// Program: an executable that was loaded and can be run.
#ifndef TILEWRIGHT_RUNTIME_CPU_PROGRAM_H
#define TILEWRIGHT_RUNTIME_CPU_PROGRAM_H

#include "tilewright/artifact/Executable.h"
#include "tilewright/runtime/cpu/Plan.h"
#include "tilewright/runtime/cpu/RunContext.h"
#include "tilewright/runtime/cpu/object/ObjectCode.h"
#include "tilewright/runtime/cpu/object/ScalarCalls.h"

#include <memory>
#include <mutex>
#include <span>
#include <vector>

namespace tilewright::runtime::cpu {

struct LoadOptions {
  CustomCallResolver *customCalls = nullptr; // needed by programs that have some
  PrepareLibrary *prepareLibrary = prepareLibraryKernel;
};

/// Runs the plan of an executable over buffers of the caller. Everything that
/// can be looked up is looked up by load(): a run resolves pointers and calls.
///
///   TILEWRIGHT_ASSIGN(auto program, Program::load(std::move(executable)));
///   RunContext context{.pool = pool, .arenas = {arena, nullptr}};
///   TILEWRIGHT_TRY(program->run(parameters, results, context));
///
/// Thread-safe: several threads may run one program at once, each with buffers,
/// arenas and a context of its own. A handler of a custom call may run others.
class Program {
public:
  /// Checks the executable (also when it was read and thus checked before), the
  /// machine, the object code and every kernel.
  ///  - E5007 to E5014: see artifact/Check.h.
  ///  - machineFeature: made for another machine; names what this one lacks.
  ///  - E5020 to E5024: see ObjectCode::load.
  ///  - what makePlan says.
  static Result<std::shared_ptr<Program>>
  load(std::shared_ptr<const artifact::Executable> executable, const LoadOptions &options = {});
  static Result<std::shared_ptr<Program>> load(artifact::Executable executable,
                                               const LoadOptions &options = {}) {
    return load(std::make_shared<const artifact::Executable>(std::move(executable)), options);
  }

  /// Runs on the calling thread and the pool; returns when the results are
  /// written. Buffers are 64-byte aligned and have the bytes of their types;
  /// those without bytes may be null. Other than by donation they do not overlap.
  ///
  /// Donation: where a result has `aliasOf` p and parameter p was donated, pass
  /// the same pointer for both. The plan reads the parameter through one
  /// allocation and writes the result through the other, so it is right either
  /// way, and a copy between the two costs nothing when they are the same. A plan
  /// that leaves such a result in the parameter's allocation needs them to be the same.
  /// Parameters that are not donated are not written.
  ///
  ///  - runBuffers: buffers are missing or not aligned.
  ///  - runCollectives: the program has collectives and the context has none.
  ///  - runCancelled: `context.cancel` was set.
  ///  - what library kernels, custom calls and collectives say, with the step's
  ///    name and the user's line. Results are then undefined.
  Status run(std::span<std::byte *const> parameters, std::span<std::byte *const> results,
             RunContext &context) const;

  const artifact::Executable &executable() const { return *source; }
  /// Bytes that the object code takes.
  size_t codeBytes() const { return code ? code->mappedBytes() : 0; }

private:
  Program() = default;

  /// What one run needs; kept for the next one.
  struct Frame {
    std::vector<std::byte *> bases, table;
    std::vector<int64_t> counters;
  };
  class Execution;

  std::unique_ptr<Frame> takeFrame() const;
  void giveBack(std::unique_ptr<Frame> frame) const;
  Status bind(Frame &frame, std::span<std::byte *const> parameters,
              std::span<std::byte *const> results, const RunContext &context) const;

  std::shared_ptr<const artifact::Executable> source;
  ScalarRecords records;
  std::unique_ptr<ObjectCode> code;
  Plan plan;

  mutable std::mutex mutex;
  mutable std::vector<std::unique_ptr<Frame>> idle; // guarded by mutex
};

} // namespace tilewright::runtime::cpu

#endif // TILEWRIGHT_RUNTIME_CPU_PROGRAM_H
