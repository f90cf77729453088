// The backend of this target, for target/AllTargets.cpp.
#ifndef TILEWRIGHT_TARGET_CPU_CPUTARGET_H
#define TILEWRIGHT_TARGET_CPU_CPUTARGET_H

#include "tilewright/target/Target.h"

namespace tilewright::cpu {

target::Backend backend();

} // namespace tilewright::cpu

#endif // TILEWRIGHT_TARGET_CPU_CPUTARGET_H
