// Context: what one evaluation may spend, and how much of it is spent.
#ifndef TILEWRIGHT_INTERPRET_CONTEXT_H
#define TILEWRIGHT_INTERPRET_CONTEXT_H

#include "tilewright/support/Options.h"
#include "tilewright/support/Status.h"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

namespace tilewright::interpret {

/// Counts the bytes of tensors that are alive and the scalar operations done so
/// far, against InterpretOptions. Every allocation and every loop over elements
/// goes through it, before memory or time is spent:
///
///   TILEWRIGHT_TRY(context.countSteps(result.elementCount()));
///
/// A copy shares the counts, so the simulated ranks of one evaluation spend one
/// budget. Thread-safe. Buffers may outlive the Context.
class Context {
public:
  /// Implicit, so that whoever need not look at the counts passes options.
  Context(const InterpretOptions &options = {});

  const InterpretOptions &options() const { return budget->options; }

  /// Memory for `bytes`, aligned to 64 and not initialised; given back to the
  /// budget when the last owner lets go.
  ///  - interpretBytes: more would be alive than interpret.max-bytes allows.
  Result<std::shared_ptr<std::byte>> allocate(int64_t bytes);

  /// - interpretSteps: the evaluation has done more than interpret.max-steps.
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
