// Communication: the plan of an executable, held against its steps.
#ifndef TILEWRIGHT_RUNTIME_COMMUNICATION_H
#define TILEWRIGHT_RUNTIME_COMMUNICATION_H

#include "tilewright/artifact/Executable.h"
#include "tilewright/collective/plan/CommPlan.h"

#include <optional>

namespace tilewright::runtime {

/// What the ranks of a program agree on and engines prepare for; nothing if the executable brings
/// no plan, which those do that were put together by hand.
///  - commPlanEncoding (E6010), commPlanInvalid (E6011): its bytes are no plan.
///  - commPlanForeign (E6012): it is for other ranks, or has other collectives than the steps.
Result<std::optional<collective::CommPlan>> communicationOf(const artifact::Executable &executable);

} // namespace tilewright::runtime

#endif // TILEWRIGHT_RUNTIME_COMMUNICATION_H
