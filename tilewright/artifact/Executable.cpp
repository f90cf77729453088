#include "tilewright/artifact/Executable.h"

namespace tilewright::artifact {

StepAction::StepAction() = default;
StepAction::StepAction(const StepAction &) = default;
StepAction::StepAction(StepAction &&) noexcept = default;
StepAction &StepAction::operator=(const StepAction &) = default;
StepAction &StepAction::operator=(StepAction &&) noexcept = default;
StepAction::~StepAction() = default;
bool StepAction::operator==(const StepAction &other) const {
  return static_cast<const AnyStepAction &>(*this) == static_cast<const AnyStepAction &>(other);
}

} // namespace tilewright::artifact
