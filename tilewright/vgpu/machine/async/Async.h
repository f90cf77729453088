// mbarriers, asynchronous copies and tensor maps.
#ifndef TILEWRIGHT_VGPU_MACHINE_ASYNC_ASYNC_H
#define TILEWRIGHT_VGPU_MACHINE_ASYNC_ASYNC_H

#include "tilewright/vgpu/machine/External.h"
#include "tilewright/vgpu/machine/async/TensorMap.h"
#include "tilewright/vgpu/machine/decode/MemoryForms.h"

#include <optional>

namespace tilewright::vgpu::machine {

/// The state of an mbarrier, which is stored in its 64 bits of shared memory: pending arrivals,
/// expected arrivals, transaction bytes, phase.
struct Mbarrier {
  uint32_t pending = 0, expected = 0;
  int32_t bytes = 0;
  uint32_t phase = 0; // modulo 8

  static Mbarrier load(const std::byte *from);
  void store(std::byte *to) const;
  /// Begins the next phase if no arrivals and no bytes are pending. Returns whether it did.
  bool completeIfDone();
};

enum class MbarrierOperation : uint8_t {
  init,
  invalidate,
  expectTx,
  completeTx,
  arrive,
  testWait,
  tryWait,
  pendingCount,
};
struct MbarrierForm {
  ExternalForm head;
  MbarrierOperation operation = MbarrierOperation::arrive;
  AddressForm address;
  bool drops = false, expects = false, hasCount = false, noComplete = false, byParity = false;
  bool returns = false;
  bool isCounted = false; // .noinc: the count of the init includes this arrival
  Order order = Order::release;
  Scope scope = Scope::cta;
  uint32_t value = 0;  // slot: count, bytes, parity or state
  uint32_t result = 0; // slot: state, predicate or count
};
After runMbarrier(Warp &, const Op *, std::byte *, uint32_t, uint32_t);
/// Flag in Fragment::wanted: its lowest bit is a parity instead of a phase.
inline constexpr uint32_t mbarrierParity = 1u << 8;
/// Whether the phase that a fragment waits for is over.
bool isMbarrierReady(Warp &warp, const Fragment &fragment);

struct CopyForm {
  ExternalForm head;
  AddressForm to, from, mbarrier;
  bool hasMbarrier = false, isMulticast = false;
  bool isPair = false;   // cta_group::2: the mbarrier may be the peer's
  uint32_t bytes = 0;    // of cp.async
  uint32_t sizeSlot = 0; // slot of the size of a bulk copy, or of the source size of cp.async
  bool hasSourceSize = false, sizeIsPredicate = false, sizeIsFlipped = false;
  uint32_t multicast = 0; // slot of the 16-bit CTA mask
  std::optional<AtomicForm> reduction;
  // For tensor copies: the slots of the coordinates, and of the offsets of im2col.
  TensorMode mode = TensorMode::tile;
  bool choosesRows = false; // gather4 and scatter4
  unsigned rank = 0, coordinateCount = 0, offsetCount = 0;
  uint32_t coordinates[5] = {}, offsets[3] = {};
  bool isStore = false;
  // For st.async and red.async: the slots of the values.
  AccessForm values;
  unsigned mapField = 0, ordinal = 0;
  Scope scope = Scope::gpu; // of the fence in tensormap.cp_fenceproxy
};
After runCpAsync(Warp &, const Op *, std::byte *, uint32_t, uint32_t);
After runCpAsyncMbarrier(Warp &, const Op *, std::byte *, uint32_t, uint32_t);
After runBulk(Warp &, const Op *, std::byte *, uint32_t, uint32_t);
After runTensor(Warp &, const Op *, std::byte *, uint32_t, uint32_t);
After runStAsync(Warp &, const Op *, std::byte *, uint32_t, uint32_t);
After runStBulk(Warp &, const Op *, std::byte *, uint32_t, uint32_t);
After runTensormapReplace(Warp &, const Op *, std::byte *, uint32_t, uint32_t);
After runTensormapCopy(Warp &, const Op *, std::byte *, uint32_t, uint32_t);

struct ClusterForm {
  ExternalForm head;
  Order order = Order::acquireRelease;
};
After runClusterArrive(Warp &, const Op *, std::byte *, uint32_t, uint32_t);
After runClusterWait(Warp &, const Op *, std::byte *, uint32_t, uint32_t);
/// Whether the cluster barrier that a fragment waits for is complete; if so, tells the observer.
bool isClusterReady(Warp &warp, const Fragment &fragment);

/// The address in the registers of one lane.
uint64_t laneAddress(const AddressForm &form, const std::byte *registers, unsigned lane);
/// The address of the mbarrier that an operation of cta_group::2 for block `rank` signals. CUTLASS
/// clears the address bit that distinguishes the blocks of a pair, so an address in the block's own
/// memory means the pair's first block.
uint64_t pairMbarrier(uint64_t address, unsigned rank);
/// Arrives once at an mbarrier of any block, for operation `async`.
bool arriveOnce(Warp &warp, const Op *op, const AddressForm &form, uint64_t address, unsigned lane,
                AsyncId async);
/// Performs complete_tx for operation `async` on an mbarrier at a generic or shared address.
bool completeBytes(Warp &warp, const Op *op, const AddressForm &form, uint64_t address,
                   unsigned lane, uint32_t bytes, AsyncId async);

} // namespace tilewright::vgpu::machine

#endif // TILEWRIGHT_VGPU_MACHINE_ASYNC_ASYNC_H
