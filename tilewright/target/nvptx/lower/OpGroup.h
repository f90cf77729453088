// OpGroup: the base of the classes that lower one group of NVIDIA's ops each.
#ifndef TILEWRIGHT_TARGET_NVPTX_LOWER_OPGROUP_H
#define TILEWRIGHT_TARGET_NVPTX_LOWER_OPGROUP_H

#include "tilewright/target/gpu/KernelState.h"
#include "tilewright/target/nvptx/Chip.h"
#include "tilewright/target/nvptx/lower/PtxMachine.h"
#include "tilewright/target/nvptx/lower/thread/ReadShared.h"

namespace tilewright::nvptx {

class KernelLowering;

/// Like gpu::OpGroup; groups reach each other and those of all vendors through `all`.
class OpGroup {
protected:
  explicit OpGroup(KernelLowering &all);

  KernelLowering &all;
  KernelState &kernel;
  ThreadBuilder &b;
};

} // namespace tilewright::nvptx

#endif // TILEWRIGHT_TARGET_NVPTX_LOWER_OPGROUP_H
