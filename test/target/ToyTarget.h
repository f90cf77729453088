// A complete target in a page, the worked example of docs/how-to/add-a-target.md.
#ifndef TEST_TARGET_TOYTARGET_H
#define TEST_TARGET_TOYTARGET_H

#include "tilewright/target/Target.h"

namespace tilewright::toy {

/// One chip, "toy": a single core that executes kernels as text. Its object code is MLIR.
target::Backend backend();

inline constexpr std::string_view triple = "toy-unknown-none";

} // namespace tilewright::toy

#endif // TEST_TARGET_TOYTARGET_H
