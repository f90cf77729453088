// The backend of this target, for target/AllTargets.cpp.
#ifndef TILEWRIGHT_TARGET_AMDGCN_AMDGCNTARGET_H
#define TILEWRIGHT_TARGET_AMDGCN_AMDGCNTARGET_H

#include "tilewright/target/Target.h"

namespace tilewright::amdgcn {

target::Backend backend();

} // namespace tilewright::amdgcn

#endif // TILEWRIGHT_TARGET_AMDGCN_AMDGCNTARGET_H
