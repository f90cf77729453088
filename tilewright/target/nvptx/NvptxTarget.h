// The backend of this target, for target/AllTargets.cpp.
#ifndef TILEWRIGHT_TARGET_NVPTX_NVPTXTARGET_H
#define TILEWRIGHT_TARGET_NVPTX_NVPTXTARGET_H

#include "tilewright/target/Target.h"

namespace tilewright::nvptx {

target::Backend backend();

} // namespace tilewright::nvptx

#endif // TILEWRIGHT_TARGET_NVPTX_NVPTXTARGET_H
