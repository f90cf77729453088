// Tracks which stream work happens before which, for checks between launches.
#ifndef TILEWRIGHT_VGPU_DRIVER_OBSERVE_ORDER_H
#define TILEWRIGHT_VGPU_DRIVER_OBSERVE_ORDER_H

#include "tilewright/vgpu/machine/HostOrder.h"

namespace tilewright::vgpu::driver {

using SharedClock = std::shared_ptr<const machine::StreamClock>;

/// The work that the host knows to be done: it waited for it, or queried its completion. All
/// threads of the host count as one, since the driver does not see how they synchronise. Null if
/// nothing is known, or if no check needs it.
SharedClock hostClock();
/// Records that the host knows that the work in `clock` is done. Null: none.
void hostLearns(const SharedClock &clock);

/// A piece of work that the calling thread performs for a stream.
class CurrentWork {
public:
  /// The `number`-th piece of work of a stream, after `before`.
  CurrentWork(uint64_t stream, uint64_t number, machine::StreamClock before);
  ~CurrentWork();
  CurrentWork(const CurrentWork &) = delete;
  CurrentWork &operator=(const CurrentWork &) = delete;

  /// The clock of whatever waits for this work.
  SharedClock after() const;
  /// The work that happened before this one; grows when this work waits for something.
  machine::StreamClock before;
  const uint64_t stream, number;

private:
  CurrentWork *outer;
};

/// The work of the calling thread; null outside of streams, or if no check needs the order.
CurrentWork *currentWork();
/// The position, in that order, of a launch that the calling thread makes now; `owner` keeps its
/// program.
std::shared_ptr<const machine::HostOrder> currentOrder(std::shared_ptr<const void> owner);
/// Notes that a piece of work is done, for streams that wait for a value in memory. The driver does
/// not see who wrote the value, so such a wait comes after all work that was done by then.
void noteDone(const SharedClock &clock);
void learnAllDone();
/// The current work publishes under a key what happens before it, or learns what other work has
/// published under the key; see HostTools.h. Both do nothing if no check needs the order.
void publish(uint64_t key, unsigned learners);
void learn(uint64_t key);

} // namespace tilewright::vgpu::driver

#endif // TILEWRIGHT_VGPU_DRIVER_OBSERVE_ORDER_H
