// What happens to memory, told to whoever attached an observer. A checker or a
// counter is made on top of this; the machine itself knows of neither. Without an
// observer no operation that tells anything is decoded, so it costs nothing.
#ifndef TILEWRIGHT_VGPU_MACHINE_OBSERVER_H
#define TILEWRIGHT_VGPU_MACHINE_OBSERVER_H

#include <cstdint>

namespace tilewright::vgpu::machine {

struct Warp;
struct Op;
struct DecodedFunction;

enum class AccessKind : uint8_t { read, write, atomic };
enum class Proxy : uint8_t { generic, async, tensormap };
enum class Order : uint8_t { weak, relaxed, acquire, release, acquireRelease, sequential };
enum class Scope : uint8_t { none, cta, cluster, gpu, sys };

/// One access by the lanes of a warp, just before it happens.
struct MemoryEvent {
  const Warp &warp;
  const Op *op; // positionOf() turns it into a place in the text
  uint32_t mask;
  const uint64_t *addresses; // of 32 lanes, in the flat space; only those in `mask` mean something
  uint32_t bytes;            // for each lane
  AccessKind kind;
  Proxy proxy;
  Order order;
  Scope scope;
};

enum class SyncKind : uint8_t {
  fence,
  proxyFence,
  barrierArrive,
  barrierLeave,
  warpBarrier,
  clusterArrive,
  clusterLeave,
  mbarrierInit,
  mbarrierArrive,
  mbarrierWait,
  asyncCommit,
  asyncWait,
};

/// Something that orders accesses.
struct SyncEvent {
  const Warp &warp;
  const Op *op;
  uint32_t mask;
  SyncKind kind;
  Order order;
  Scope scope;
  uint64_t object; // number of a barrier, address of an mbarrier, count of groups
};

/// Called from the threads that run blocks, several at a time.
class Observer {
public:
  virtual ~Observer() = default;
  virtual void access(const MemoryEvent &event) = 0;
  virtual void synchronise(const SyncEvent &event) = 0;
};

} // namespace tilewright::vgpu::machine

#endif // TILEWRIGHT_VGPU_MACHINE_OBSERVER_H
