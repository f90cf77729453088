// The part of checkExecutable that checks steps.
#ifndef TILEWRIGHT_ARTIFACT_CHECKSTEPS_H
#define TILEWRIGHT_ARTIFACT_CHECKSTEPS_H

#include "tilewright/artifact/Executable.h"
#include "tilewright/support/Status.h"

#include <span>
#include <string_view>

namespace tilewright::artifact {

Status checkAttributes(std::span<const Attribute> attributes, std::string_view owner, size_t depth);
/// `typeBytes` are the sizes of Executable::types. The caller has checked allocations.
Status checkSteps(const Executable &executable, std::span<const int64_t> typeBytes);
/// Checks that the blocks form a tree. All block indices in steps must be in range.
Status checkBlockTree(const Executable &executable);

} // namespace tilewright::artifact

#endif // TILEWRIGHT_ARTIFACT_CHECKSTEPS_H
