// Context: the memory and step budget of one evaluation, and how much of it has been used.
#ifndef TILEWRIGHT_INTERPRET_CONTEXT_H
#define TILEWRIGHT_INTERPRET_CONTEXT_H

#include "tilewright/support/Options.h"
#include "tilewright/support/Status.h"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

namespace tilewright::interpret {

/// Counts the bytes of live tensors and the scalar operations so far, and enforces the limits of
/// InterpretOptions. Every allocation and every loop over elements calls it first:
///
///   TILEWRIGHT_TRY(context.countSteps(result.elementCount()));
///
/// Copies share the counts, so the simulated ranks of one evaluation share one budget. Thread-safe.
/// Buffers may outlive the Context.
class Context {
public:
  /// Implicit, so that callers that do not need the counts can pass options.
  Context(const InterpretOptions &options = {});

  const InterpretOptions &options() const { return budget->options; }

  /// Allocates `bytes` bytes of uninitialized memory, aligned to 64. They are returned to the
  /// budget when the last owner releases them.
  ///  - interpretBytes: the live bytes would exceed interpret.max-bytes.
  Result<std::shared_ptr<std::byte>> allocate(int64_t bytes);

  /// - interpretSteps: the evaluation has exceeded interpret.max-steps.
  Status countSteps(int64_t steps);

  int64_t liveBytes() const { return budget->liveBytes.load(std::memory_order_relaxed); }
  int64_t peakBytes() const { return budget->peakBytes.load(std::memory_order_relaxed); }
  int64_t steps() const { return budget->steps.load(std::memory_order_relaxed); }

private:
  struct Budget {
    InterpretOptions options;
    std::atomic<int64_t> liveBytes = 0;
    std::atomic<int64_t> peakBytes = 0;
    std::atomic<int64_t> steps = 0;
  };
  std::shared_ptr<Budget> budget;
};

} // namespace tilewright::interpret

#endif // TILEWRIGHT_INTERPRET_CONTEXT_H
