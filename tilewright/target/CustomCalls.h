// Custom calls as steps of the plan, for every target.
#ifndef TILEWRIGHT_TARGET_CUSTOMCALLS_H
#define TILEWRIGHT_TARGET_CUSTOMCALLS_H

#include "tilewright/dialect/stablehlo/ops/CallOps.h"

#include <string>

namespace tilewright::target {

/// Replaces the call with an `exec.custom_call`, whose handler the runtime finds by name when it
/// loads the program; an annotation of placement or sharding is replaced with its operand. Returns
/// an empty string, or the reason why that is impossible, worded to follow the op's name in a
/// message.
std::string lowerCustomCall(stablehlo::CustomCallOp call);

} // namespace tilewright::target

#endif // TILEWRIGHT_TARGET_CUSTOMCALLS_H
