// communicationOf(): the communication plan of an executable, checked against its steps.
#ifndef TILEWRIGHT_RUNTIME_COMMUNICATION_H
#define TILEWRIGHT_RUNTIME_COMMUNICATION_H

#include "tilewright/artifact/Executable.h"
#include "tilewright/plan/CommPlan.h"

#include <optional>

namespace tilewright::runtime {

/// The plan that the ranks of a program agree on and that transports prepare for. Empty if the
/// executable has no plan, such as an executable built by hand.
///  - commPlanEncoding (E6010), commPlanInvalid (E6011): its bytes are not a valid plan.
///  - commPlanForeign (E6012): the plan is for other ranks, or its collectives differ from those of
///    the steps.
Result<std::optional<collective::CommPlan>> communicationOf(const artifact::Executable &executable);

} // namespace tilewright::runtime

#endif // TILEWRIGHT_RUNTIME_COMMUNICATION_H
