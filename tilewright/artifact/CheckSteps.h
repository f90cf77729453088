// The part of checkExecutable that looks at steps.
#ifndef TILEWRIGHT_ARTIFACT_CHECKSTEPS_H
#define TILEWRIGHT_ARTIFACT_CHECKSTEPS_H

#include "tilewright/artifact/Executable.h"
#include "tilewright/support/Status.h"

#include <span>
#include <string_view>

namespace tilewright::artifact {

Status checkAttributes(std::span<const Attribute> attributes, std::string_view owner, size_t depth);
/// `typeBytes` are the sizes of Executable::types; allocations have been checked.
Status checkSteps(const Executable &executable, std::span<const int64_t> typeBytes);
/// Blocks that steps name exist.
Status checkBlockTree(const Executable &executable);

} // namespace tilewright::artifact

#endif // TILEWRIGHT_ARTIFACT_CHECKSTEPS_H
