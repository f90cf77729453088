// StepTracer: the steps of a run on the timeline of the process.
#ifndef TILEWRIGHT_RUNTIME_CPU_STEPTRACER_H
#define TILEWRIGHT_RUNTIME_CPU_STEPTRACER_H

#include "tilewright/runtime/cpu/RunContext.h"
#include "tilewright/support/Trace.h"

#include <memory>
#include <vector>

namespace tilewright::runtime::cpu {

/// Makes a span of every step: a kernel by its name, loops around what they run.
///
///   std::optional<StepTracer> tracer;
///   if (trace::isOn())
///     context.tracer = &tracer.emplace();
class StepTracer final : public Tracer {
public:
  // A span is a scope, a step is two calls: so spans are kept here, innermost last.
  void begin(const artifact::Step &step) override;
  void end(const artifact::Step &) override { spans.pop_back(); }

private:
  std::vector<std::unique_ptr<trace::Span>> spans;
};

} // namespace tilewright::runtime::cpu

#endif // TILEWRIGHT_RUNTIME_CPU_STEPTRACER_H
