#include "tilewright/runtime/cpu/StepTracer.h"

#include "tilewright/artifact/MemoryTimeline.h"

#include <utility>

namespace tilewright::runtime::cpu {

static const char *categoryOf(const artifact::Step &step) {
  struct {
    const char *operator()(const artifact::LaunchStep &) const { return "kernel"; }
    const char *operator()(const artifact::LibraryStep &) const { return "library"; }
    const char *operator()(const artifact::CustomCallStep &) const { return "custom call"; }
    const char *operator()(const artifact::CopyStep &) const { return "copy"; }
    const char *operator()(const artifact::WhileStep &) const { return "control"; }
    const char *operator()(const artifact::BranchStep &) const { return "control"; }
    const char *operator()(const artifact::CollectiveStartStep &) const { return "collective"; }
    const char *operator()(const artifact::CollectiveDoneStep &) const { return "collective"; }
  } name;
  return std::visit(name, step.action);
}

LiveTemporaries::LiveTemporaries(const artifact::Executable &executable) {
  if (auto memory = artifact::MemoryTimeline::of(executable))
    for (size_t i = 0; i < memory->steps.size(); ++i)
      bytes.emplace(memory->steps[i], memory->bytesAt(memory->times[i]));
}

int64_t LiveTemporaries::during(const artifact::Step &step) const {
  auto found = bytes.find(&step);
  return found == bytes.end() ? -1 : found->second;
}

void StepTracer::begin(const artifact::Step &step) {
  if (int64_t now = live.during(step); now >= 0 && now != std::exchange(shown, now))
    trace::counter("live temporaries", now);
  spans.push_back(std::make_unique<trace::Span>(categoryOf(step), step.name, step.source));
}

} // namespace tilewright::runtime::cpu
