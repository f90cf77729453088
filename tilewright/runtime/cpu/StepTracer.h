// StepTracer: the steps of a run on the timeline of the process.
#ifndef TILEWRIGHT_RUNTIME_CPU_STEPTRACER_H
#define TILEWRIGHT_RUNTIME_CPU_STEPTRACER_H

#include "tilewright/runtime/cpu/RunContext.h"
#include "tilewright/support/Trace.h"

#include <memory>
#include <unordered_map>
#include <vector>

namespace tilewright::runtime::cpu {

/// Bytes of the arena that hold something while each step runs, as far as the compiler said.
class LiveTemporaries {
public:
  /// The executable must outlive this.
  explicit LiveTemporaries(const artifact::Executable &executable);
  /// -1 if it is not known.
  int64_t during(const artifact::Step &step) const;

private:
  std::unordered_map<const artifact::Step *, int64_t> bytes;
};

/// Makes a span of every step: a kernel by its name, loops around what they run; and beside them
/// the curve "live temporaries".
///
///   std::optional<StepTracer> tracer;
///   if (trace::isOn())
///     context.tracer = &tracer.emplace(live);
class StepTracer final : public Tracer {
public:
  explicit StepTracer(const LiveTemporaries &live) : live(live) {}
  // A span is a scope, a step is two calls: so spans are kept here, innermost last.
  void begin(const artifact::Step &step) override;
  void end(const artifact::Step &) override { spans.pop_back(); }

private:
  const LiveTemporaries &live;
  int64_t shown = -1;
  std::vector<std::unique_ptr<trace::Span>> spans;
};

} // namespace tilewright::runtime::cpu

#endif // TILEWRIGHT_RUNTIME_CPU_STEPTRACER_H
