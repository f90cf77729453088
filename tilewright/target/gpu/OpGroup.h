// OpGroup: the base of the classes that lower one group of ops each.
#ifndef TILEWRIGHT_TARGET_GPU_OPGROUP_H
#define TILEWRIGHT_TARGET_GPU_OPGROUP_H

#include "tilewright/target/gpu/KernelState.h"

namespace tilewright::gpu {

class KernelLowering;

/// Lowers a group of ops, with the state that only these ops need. Ops are lowered in the order of
/// the program, not as patterns: waits, barriers and the slots of channels depend on what was
/// emitted before. Groups reach each other through `all`.
class OpGroup {
protected:
  explicit OpGroup(KernelLowering &all);

  KernelLowering &all;
  KernelState &kernel;
  ThreadBuilder &b;
};

} // namespace tilewright::gpu

#endif // TILEWRIGHT_TARGET_GPU_OPGROUP_H
