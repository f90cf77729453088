// Cluster launch control: running clusters take the points of clusters that have not started.
#ifndef TILEWRIGHT_TARGET_NVPTX_LOWER_CHANNELS_STEALING_H
#define TILEWRIGHT_TARGET_NVPTX_LOWER_CHANNELS_STEALING_H

#include "tilewright/target/gpu/thread/SharedMemory.h"
#include "tilewright/target/nvptx/lower/OpGroup.h"

namespace tilewright::nvptx {

/// The points of a kernel that is `persistent "stealing"`. Its launch has a cluster for every
/// point. One thread of the role that copies requests the next point when it begins one, so the
/// answer has arrived when the role's copies are issued. Every role reads the answer at the end of
/// its round. Answers have several slots, because the role that copies runs ahead of the others.
class StealingLowering : public OpGroup {
public:
  explicit StealingLowering(KernelLowering &all) : OpGroup(all) {}

  /// Whether the kernel's points are stolen. If a program may use only a part of the chip's
  /// multiprocessors, a launch must leave the others free, so its points are static.
  bool isUsed();
  /// Allocates the slots. Fails if the chip has no cluster launch control.
  void declare();
  /// Initializes the mbarriers; one thread runs this.
  void initialize();
  /// At the start of round number `round`: requests the next point, if the current role does so.
  void request(Value round);
  /// The answer to a request: whether there is another point, and its number.
  struct Next {
    Value exists, point;
  };
  /// At the end of round number `round`: waits for the answer to its request.
  Next next(Value round);

private:
  struct Slot {
    Value answer, full, empty; // addresses
    Value parity;              // of the answer's phase
  };
  Slot slotOf(Value round);

  sm::RoleOp requester;
  SharedMemory::Buffer answers, barriers;
};

} // namespace tilewright::nvptx

#endif // TILEWRIGHT_TARGET_NVPTX_LOWER_CHANNELS_STEALING_H
