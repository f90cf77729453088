// Program: a loaded executable that can be run.
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
  CustomCallResolver *customCalls = nullptr; // required if the program has custom calls
  PrepareLibrary *prepareLibrary = prepareLibraryKernel;
};

/// Runs the plan of an executable on the caller's buffers. load() does all lookups: a run only
/// computes pointers and calls functions.
///
///   TILEWRIGHT_ASSIGN(auto program, Program::load(std::move(executable)));
///   RunContext context{.pool = pool, .arenas = {arena, nullptr}};
///   TILEWRIGHT_TRY(program->run(parameters, results, context));
///
/// Thread-safe: several threads may run one program at once, each with its own buffers, arenas and
/// context. A custom-call handler may run other programs.
class Program {
public:
  /// Checks the executable (even if the reader already did), the machine, the object code and every
  /// kernel.
  ///  - E5007 to E5014: see artifact/Check.h.
  ///  - machineFeature: the code needs features that this machine lacks; the message names them.
  ///  - E5020 to E5024: see ObjectCode::load.
  ///  - any failure of makePlan.
  static Result<std::shared_ptr<Program>>
  load(std::shared_ptr<const artifact::Executable> executable, const LoadOptions &options = {});
  static Result<std::shared_ptr<Program>> load(artifact::Executable executable,
                                               const LoadOptions &options = {}) {
    return load(std::make_shared<const artifact::Executable>(std::move(executable)), options);
  }

  /// Runs on the calling thread and the pool; returns when the results are written. Buffers are
  /// 64-byte aligned and have the bytes of their types; pointers to empty buffers may be null.
  /// Buffers must not overlap, except by donation.
  ///
  /// Donation: where a result has `aliasOf` p and parameter p was donated, pass the same pointer
  /// for both. The plan reads the parameter through one allocation and writes the result through
  /// the other, so it is correct with or without donation, and a copy between the two costs nothing
  /// if the pointers are equal. A plan that leaves such a result in the parameter's allocation
  /// requires equal pointers. The program does not write to parameters that are not donated.
  ///
  ///  - runBuffers: buffers are missing or not aligned.
  ///  - runCollectives: the program has collectives and the context has none.
  ///  - runCancelled: `context.cancel` was set.
  ///  - any failure of library kernels, custom calls and collectives, with the step's name and the
  ///    user's line. Results are then undefined.
  Status run(std::span<std::byte *const> parameters, std::span<std::byte *const> results,
             RunContext &context) const;

  const artifact::Executable &executable() const { return *source; }
  /// Memory that the object code occupies.
  size_t codeBytes() const { return code ? code->mappedBytes() : 0; }

private:
  Program() = default;

  /// The state of one run, reused by later runs.
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
