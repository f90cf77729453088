#include "tilewright/runtime/cpu/StepTracer.h"

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

void StepTracer::begin(const artifact::Step &step) {
  spans.push_back(std::make_unique<trace::Span>(categoryOf(step), step.name));
}

} // namespace tilewright::runtime::cpu
