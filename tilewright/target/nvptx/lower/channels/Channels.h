// Channels: slots in shared memory between roles, or of one role.
#ifndef TILEWRIGHT_TARGET_NVPTX_LOWER_CHANNELS_CHANNELS_H
#define TILEWRIGHT_TARGET_NVPTX_LOWER_CHANNELS_CHANNELS_H

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "tilewright/target/gpu/thread/SharedMemory.h"
#include "tilewright/target/nvptx/lower/OpGroup.h"
#include "llvm/ADT/MapVector.h"

#include <deque>
#include <map>
#include <optional>
#include <tuple>

namespace tilewright::nvptx {

/// The number of warps in a warpgroup, the unit of wgmma and setmaxnreg.
inline constexpr int64_t groupWarps = 4;

/// Whether each buffer of a channel has a single element: one role sends a number to another.
bool isOfElements(sm::ChannelType type);

/// Decides what the `sm` dialect leaves implicit: phases, transaction bytes, arrival counts.
class ChannelsLowering : public OpGroup {
public:
  explicit ChannelsLowering(KernelLowering &all) : OpGroup(all) {}

  void declare(sm::ChannelOp op);
  /// Initializes the mbarriers of all channels.
  void initialize();
  void acquire(sm::AcquireOp op);
  void publish(sm::PublishOp op);
  void take(sm::TakeOp op);
  void free(sm::FreeOp op);

  bool empty() const { return channels.empty(); }
  /// Emits a barrier for all threads of the cluster.
  void waitForAll();
  /// Waits for the end of the phase with this parity. `isRemote`: other CTAs arrive at the barrier,
  /// too.
  void waitBarrier(Value barrier, Value phase, bool isRemote);
  /// Begins a role, which has its own cursors.
  void beginRole();
  /// Gives the turn to the role's first warpgroup; and takes it back at the end.
  void beginTurns(sm::RoleOp role);
  void endTurns(sm::RoleOp role);
  /// Copies between a slot of one element and registers.
  void storeElement(sm::CopyOp copy);
  void loadElement(sm::CopyOp copy);
  /// Whether the role holds a slot that it has taken.
  bool holdsSlots() const;
  /// Whether the role stages its result in a channel.
  bool stagesResult(sm::RoleOp role) const;
  /// Adds `count` to the product count of each held slot that `mma` does not read.
  void countProducts(sm::MmaOp mma, int64_t count);
  /// Returns the state that the loop's body must restore, and drops assumptions that do not hold
  /// for later iterations.
  llvm::SmallVector<int64_t> beginOwnLoop(mlir::scf::ForOp loop);
  void endOwnLoop(mlir::scf::ForOp loop, llvm::ArrayRef<int64_t> filledBefore);

private:
  /// A channel: its slots, and a full and an empty mbarrier per slot. In a kernel without roles, a
  /// channel has no mbarriers: the same threads fill and drain it and use cp.async groups and CTA
  /// barriers.
  struct ChannelState {
    bool isOwn = false;
    int64_t filled = 0;   // own channel: slots that are published and not taken
    int64_t held = 0;     // taken and not freed
    bool isFreed = false; // since the last barrier
    int64_t depth = 0, slotBytes = 0;
    /// Of a channel with parts, each part has a single slot, so the number of the part stands for
    /// that of the slot.
    int64_t parts = 1;
    int64_t copyBytes = 0;              // of a slot, without padding
    llvm::SmallVector<int64_t> offsets; // of the buffers in a slot; columns in tensor memory
    llvm::SmallVector<sm::RoleOp> drainers;
    /// Whether the same role fills and drains the channel, which stages a tile of the result. The
    /// role's threads use a barrier, and one thread issues the stores as bulk groups.
    bool isResult = false;
    /// Whether threads read the slots themselves, so that each warp arrives at the empty barrier.
    bool isReadByThreads = false;
    /// Whether products in tensor memory read the slots, so that the matrix unit arrives.
    bool isReadByTensorProducts = false;
    /// Whether a slot consists of single elements, which one thread writes and one thread reads.
    bool isOfElements = false;
    /// If the channel is the turn of a role's warpgroups: the named barrier of the first warpgroup.
    std::optional<int64_t> turn;
    /// The number of warps that write a slot, each of which arrives at the full barrier; 0 if
    /// copies or products fill it.
    int64_t writers = 0;
    /// The number of the cluster's CTAs that copy to a slot of this CTA: more than one with
    /// multicast.
    int64_t copiers = 1;
    /// The columns of a slot in tensor memory, and the first column of all slots; 0 in shared
    /// memory.
    int64_t tensorColumns = 0, firstColumn = 0;
    SharedMemory::Buffer slots, barriers;

    int64_t slotCount() const { return depth * parts; }
  };
  /// The next slot and the parity of its phase, as per-thread variables.
  struct Cursor {
    Value slot, phase;
  };
  enum class CursorKind : unsigned { fill, drain, free };
  Cursor &cursorOf(Value channel, CursorKind kind, int64_t part = -1);
  /// The next slot of a cursor, or that of a part: of `part` or, if it is -1, of the warpgroup.
  Value slotOf(const ChannelState &state, const Cursor &cursor, int64_t part);
  void advance(const ChannelState &state, Cursor &cursor);
  Value barrierOf(ChannelState &state, Value slot, bool isEmpty);
  bool declareTensor(sm::ChannelOp op, ChannelState &state);
  void giveBuffers(mlir::ResultRange results, ChannelState &state, Value slot);
  void waitForReaders(sm::FreeOp op);
  Value emptyBarrier(sm::FreeOp op, ChannelState &state);
  /// Lets one thread of each `threads` arrive in all `ctas` CTAs of the cluster or, if that is 1,
  /// in its own.
  void arrive(Value barrier, int64_t threads, int64_t ctas);
  /// Lets the role's first thread wait. The others must not: they could wait for a phase so late
  /// that the one after the next has its parity.
  void waitAsFirst(Value barrier, Value phase);
  // Turns (Turns.cpp).
  void declareTurn(sm::ChannelOp op, ChannelState &state);
  void passTurn(const ChannelState &state, std::string_view instruction, Value group);
  Value groupOfThread();
  // Channels of kernels without roles (OwnChannels.cpp).
  void acquireOwn(sm::AcquireOp op, ChannelState &state);
  void publishOwn(ChannelState &state);
  /// All threads of the role have written a slot: one thread of each warp arrives at its full
  /// barrier.
  void publishWritten(const ChannelState &state, Value barrier);
  /// The number of CTAs in which the readers of a slot arrive at its empty barrier.
  int64_t arrivalCtas(const ChannelState &state) const;
  void takeOwn(sm::TakeOp op, ChannelState &state);
  void freeOwn(sm::FreeOp op, ChannelState &state);

  llvm::MapVector<Value, ChannelState> channels;
  /// The cursors of the current role, by channel and kind.
  std::map<std::tuple<const void *, CursorKind, int64_t>, Cursor> cursors;
  /// A slot that the current role holds.
  struct HeldSlot {
    sm::TakeOp take;
    /// The last product that reads it, and the number of groups of products issued after that.
    sm::MmaOp reader = {};
    int64_t later = 0;
  };
  llvm::MapVector<Value, std::deque<HeldSlot>> taken;
  /// The full barriers of slots that the current role has acquired and not published, if it must
  /// signal them itself.
  llvm::MapVector<Value, std::deque<std::pair<mlir::Block *, Value>>> acquired;
};

} // namespace tilewright::nvptx

#endif // TILEWRIGHT_TARGET_NVPTX_LOWER_CHANNELS_CHANNELS_H
