// StepTracer: shows the steps of a run on the process's timeline.
#ifndef TILEWRIGHT_RUNTIME_CPU_STEPTRACER_H
#define TILEWRIGHT_RUNTIME_CPU_STEPTRACER_H

#include "tilewright/runtime/cpu/RunContext.h"
#include "tilewright/support/Trace.h"

#include <memory>
#include <unordered_map>
#include <vector>

namespace tilewright::runtime::cpu {

/// Bytes of the arena that are live during each step, if the compiler recorded them.
class LiveTemporaries {
public:
  /// The executable must outlive this.
  explicit LiveTemporaries(const artifact::Executable &executable);
  /// -1 if unknown.
  int64_t during(const artifact::Step &step) const;

private:
  std::unordered_map<const artifact::Step *, int64_t> bytes;
};

/// Emits a span for every step, with the steps of a loop nested in its span, and the counter "live
/// temporaries".
///
///   std::optional<StepTracer> tracer;
///   if (trace::isOn())
///     context.tracer = &tracer.emplace(live);
class StepTracer final : public Tracer {
public:
  explicit StepTracer(const LiveTemporaries &live) : live(live) {}
  // trace::Span ends with its scope, but begin() and end() are separate calls, so `spans` holds the
  // open spans, innermost last.
  void begin(const artifact::Step &step) override;
  void end(const artifact::Step &) override { spans.pop_back(); }

private:
  const LiveTemporaries &live;
  int64_t shown = -1;
  std::vector<std::unique_ptr<trace::Span>> spans;
};

} // namespace tilewright::runtime::cpu

#endif // TILEWRIGHT_RUNTIME_CPU_STEPTRACER_H
