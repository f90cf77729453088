// Lowers one sm.kernel to an llvm.func of llvm, nvvm and lane ops.
#ifndef TILEWRIGHT_TARGET_NVPTX_LOWER_KERNELEMITTER_H
#define TILEWRIGHT_TARGET_NVPTX_LOWER_KERNELEMITTER_H

#include "tilewright/dialect/sm/IndexFacts.h"
#include "tilewright/dialect/sm/SmDialect.h"
#include "tilewright/target/nvptx/GenerateCode.h"
#include "tilewright/target/nvptx/lower/Assembly.h"
#include "tilewright/target/nvptx/lower/Partial.h"
#include "tilewright/target/nvptx/lower/SharedMemory.h"
#include "tilewright/target/nvptx/lower/SlotLoad.h"
#include "tilewright/target/nvptx/lower/StridedView.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/MapVector.h"

#include <deque>

namespace tilewright::nvptx {

/// An arbitrary order, to use values as map keys.
struct CompareCursors {
  bool operator()(const std::pair<Value, unsigned> &left,
                  const std::pair<Value, unsigned> &right) const {
    return std::pair(left.first.getAsOpaquePointer(), left.second) <
           std::pair(right.first.getAsOpaquePointer(), right.second);
  }
};

/// Emits the body op by op. Scalars are uniform over all threads, tiles are in registers. Each
/// group of ops has its own file (EmitMemory.cpp, EmitReduce.cpp, …), which also defines the struct
/// with the state of an op of the group while it is emitted, if it needs one.
class KernelEmitter {
public:
  /// A persistent kernel launches at most one CTA per multiprocessor.
  KernelEmitter(ThreadBuilder &builder, sm::KernelOp kernel, const Chip &chip,
                int64_t multiprocessors)
      : b(builder), kernel(kernel), chip(chip), multiprocessors(multiprocessors), shared(builder) {}

  /// Failures are reported in the builder. `info.symbol` is the name of the function.
  void emit(KernelInfo &info);

private:
  // --- Ops (KernelEmitter.cpp) ---
  void emitCoordinates(KernelInfo &info);
  /// Computes the coordinates of point number `point` in the kernel's raster order.
  void emitCoordinatesOf(Value point);
  void emitOps(mlir::Block &block);
  void emitOp(mlir::Operation *op);
  void emitScalar(mlir::Operation *op);
  void emitMap(tile::MapOp map);
  void emitView(tile::ViewOp view);
  void emitIota(tile::IotaOp iota);
  void refuse(mlir::Operation *op, std::string_view why);

  // --- Loops and branches (EmitControl.cpp) ---
  struct LoopValues;
  void emitFor(mlir::scf::ForOp loop);
  void emitIf(mlir::scf::IfOp branch);

  // --- Memory (EmitMemory.cpp) ---
  void emitLoad(tile::LoadOp load);
  void emitStore(tile::StoreOp store);
  void emitGather(tile::GatherOp gather);
  /// The view of a tile at `offsets` of a tensor.
  StridedView viewOf(Value whole, mlir::ValueRange offsets,
                     std::optional<llvm::ArrayRef<int64_t>> strides,
                     std::optional<llvm::ArrayRef<bool>> inBounds);
  Value addressOf(const ThreadLayout &threads, const StridedView &view, int64_t constant);
  Tile loadTile(const ThreadLayout &threads, const StridedView &view, llvm::ArrayRef<int64_t> shape,
                Lanes outside);
  void storeTile(const Tile &tile, const ThreadLayout &threads, const StridedView &view,
                 llvm::ArrayRef<int64_t> shape);

  // --- Exchange between threads (Exchange.cpp) ---
  /// Emits a barrier for the threads that run the code being emitted.
  void barrier();
  /// Emits a CTA barrier if threads may still read shared memory that is overwritten next.
  void beginSharedWrites();
  /// Emits a CTA barrier, after which all threads can read what any thread wrote.
  void beginSharedReads();
  struct WarpExchange;

  // --- Reductions (EmitReduce.cpp, EmitScan.cpp) ---
  struct Reduction;
  struct Scan;
  void emitReduce(tile::ReduceOp reduce);
  void emitScan(tile::ScanOp scan);
  /// The elements that one register holds, of all inputs.
  Partial partialOf(mlir::ValueRange inputs, const ThreadLayout &threads,
                    llvm::ArrayRef<int64_t> shape, unsigned reg);
  /// Exchanges partials through shared memory: returns those of all warps that differ in
  /// `warpDigits`.
  llvm::SmallVector<llvm::SmallVector<Partial>>
  exchangeWarps(llvm::ArrayRef<Partial> mine, llvm::ArrayRef<sm::IndexTerm> warpDigits,
                llvm::ArrayRef<sm::IndexTerm> laneDigits, mlir::Operation *user);

  // --- Products in registers (EmitDot.cpp) ---
  void emitDot(tile::DotOp dot);
  void emitMmaSync(sm::MmaOp mma);
  /// Returns false if no instruction multiplies these tiles. Without `acc` the sum starts at zero.
  bool multiplyTiles(Value lhs, Value rhs, Value acc, Value result, bool isTf32);
  /// Packs the registers of one fragment into the instruction's words of 32 or 64 bits.
  llvm::SmallVector<Value> packFragment(const Tile &tile, llvm::ArrayRef<unsigned> registers,
                                        Value value, bool isTf32);

  // --- Conversions (EmitConvert.cpp) ---
  void emitConvert(sm::ConvertOp convert);
  bool convertByShuffles(sm::ConvertOp convert, const ThreadLayout &from, const ThreadLayout &to,
                         int64_t sharedCost);
  void rearrange(sm::ConvertOp convert, const ThreadLayout &from, const ThreadLayout &to);
  void convertByMemory(sm::ConvertOp convert, const ThreadLayout &from, const ThreadLayout &to,
                       llvm::ArrayRef<int64_t> strides, int64_t elements);

  // --- Roles and channels (EmitRoles.cpp) ---
  /// A channel in shared memory: its slots, and a full and an empty mbarrier per slot. In a kernel
  /// without roles, a channel has no mbarriers: the same threads fill and drain it and use cp.async
  /// groups and CTA barriers.
  struct ChannelState {
    bool isOwn = false;
    int64_t filled = 0;   // own channel: slots that are published and not taken
    int64_t held = 0;     // taken and not freed
    bool isFreed = false; // since the last barrier
    int64_t depth = 0, slotBytes = 0;
    llvm::SmallVector<int64_t> offsets; // of the buffers in a slot
    llvm::SmallVector<sm::RoleOp> drainers;
    /// Whether the same role fills and drains the channel, which stages a tile of the result. The
    /// role's threads use a barrier, and one thread issues the stores as bulk groups.
    bool isResult = false;
    /// Whether threads read the slots themselves, so that each warp arrives at the empty barrier.
    bool isReadByThreads = false;
    SharedMemory::Buffer slots, barriers;
  };
  /// The next slot and the parity of its phase, as per-thread variables.
  struct Cursor {
    Value slot, phase;
  };
  enum class CursorKind : unsigned { fill, drain, free };
  /// A buffer of a slot: its address, and the mbarrier that tracks copies into it.
  struct SlotBuffer {
    Value address, barrier; // i32
  };
  void planRoles(KernelInfo &info);
  void declareChannel(sm::ChannelOp op);
  void initializeChannels();
  /// Emits a barrier for all threads of the cluster.
  void waitForAll();
  void emitRole(sm::RoleOp role);
  /// Emits the role's body; in a persistent kernel, a loop over the points around it.
  void emitRounds(sm::RoleOp role);
  void emitAcquire(sm::AcquireOp op);
  void emitPublish(sm::PublishOp op);
  void emitTake(sm::TakeOp op);
  void emitFree(sm::FreeOp op);
  Cursor &cursorOf(Value channel, CursorKind kind);
  void advance(Cursor &cursor, int64_t depth);
  Value barrierOf(ChannelState &state, Value slot, bool isEmpty);
  void waitBarrier(Value barrier, Value phase, bool isRemote);
  void giveBuffers(mlir::ResultRange results, ChannelState &state, Value slot);

  // --- Channels without roles, copies of threads (EmitAsyncCopies.cpp) ---
  void acquireOwn(sm::AcquireOp op, ChannelState &state);
  void publishOwn(ChannelState &state);
  void takeOwn(sm::TakeOp op, ChannelState &state);
  void freeOwn(sm::FreeOp op, ChannelState &state);
  /// Returns the state that the loop's body must restore, and drops assumptions that do not hold
  /// for later iterations.
  llvm::SmallVector<int64_t> beginOwnLoop(mlir::scf::ForOp loop);
  void endOwnLoop(mlir::scf::ForOp loop, llvm::ArrayRef<int64_t> filledBefore);
  struct AsyncCopy;
  void emitAsyncCopy(sm::CopyOp copy);
  /// The xor of `constant` and of `bytes[bit]` for all set bits of the thread id.
  SplitOffset offsetOfThread(llvm::ArrayRef<int64_t> bytes, int64_t constant);

  // --- Fragments of matrix instructions (EmitFragments.cpp) ---
  struct FragmentLoad;
  void emitFragment(sm::CopyOp copy);
  /// Unpacks words into elements, for ops that do not support packed words.
  void unpackWords(Value value);

  // --- The copy engine (EmitCopies.cpp) ---
  /// A copy as TMA boxes: `boxes` boxes of `line` elements by `boxRows` rows.
  struct CopyPlan {
    size_t map = 0;
    int64_t boxes = 1, boxBytes = 0, boxRows = 0, line = 0, lineBytes = 128;
    size_t outer = 1; // coordinate of the rows, counted from the contiguous dimension
    /// Distance in memory, in elements, between the parts of adjacent CTAs of the cluster; 0 if all
    /// CTAs copy the same part.
    int64_t innerPerCta = 0, outerPerCta = 0;
    bool isMulticast = false;
  };
  /// A CTA's part of a buffer of swizzled lines of 128 (or 64) bytes.
  struct Lines {
    int64_t rows = 0, columns = 0, line = 0; // in elements
    int64_t stride = 0;                      // in bytes, between adjacent lines along the columns
    int64_t innerPerCta = 0, outerPerCta = 0;
  };
  /// `inner` is the dimension along the lines.
  std::optional<Lines> linesOf(sm::BufferType buffer, size_t inner);
  void planCopies();
  std::optional<CopyPlan> planCopy(sm::CopyOp copy);
  void emitCopy(sm::CopyOp copy);
  Value tensorMapOf(const CopyPlan &plan);

  // --- Results through shared memory (EmitStores.cpp) ---
  void emitMatrixStores(sm::CopyOp copy);
  void emitStoreCopy(sm::CopyOp copy, const CopyPlan &plan);
  /// Emits one instruction that only the first thread of the role executes.
  void byFirstThread(const llvm::Twine &instruction, const llvm::Twine &constraints,
                     llvm::ArrayRef<Value> operands);
  /// Waits until at most `left` bulk stores still read shared memory.
  void waitForStores(int64_t left);
  void publishResult();

  // --- Matrix instructions (EmitProducts.cpp) ---
  void emitMma(sm::MmaOp mma);
  /// Waits until at most `left` wgmma groups are in flight.
  void waitProducts(int64_t left);
  /// Adds `count` to the product count of each held slot that `mma` does not read.
  void countProducts(sm::MmaOp mma, int64_t count);
  /// Waits for a tile that a wgmma in flight computes.
  void settle(Value value);

  // --- From slots to registers (EmitSlotLoads.cpp) ---
  struct SlotLoad;
  void emitSlotLoad(sm::CopyOp copy);

  // --- An operand in registers (EmitRegisterOperand.cpp) ---
  struct Prologue;
  struct RegisterProduct;
  /// Finds the prologues of the left operands of matmuls, which are emitted piece by piece with the
  /// matmul.
  void deferPrologues(sm::RoleOp role);
  void emitMmaFromRegisters(sm::MmaOp mma);

  // --- Common ---
  /// The number of warps that run the code being emitted.
  int64_t warpCount();
  int64_t clusterSize();
  Value ctaRank();
  const ThreadLayout &threadsOf(Type type);
  Value axis(sm::Axis axis);
  Value digitOf(const sm::IndexTerm &term);
  /// Calls `emit` with the insertion point at the end of the entry block, for values that depend
  /// only on the thread.
  Value once(llvm::function_ref<Value()> emit);
  Value i32(int64_t value) { return b.i32(value); }

  ThreadBuilder &b;
  sm::KernelOp kernel;
  const Chip &chip;
  const int64_t multiprocessors;
  SharedMemory shared;
  mlir::LLVM::LLVMFuncOp function;
  Value thread = nullptr; // tid.x
  llvm::DenseMap<Value, Lanes> scalars;
  llvm::DenseMap<Value, Tile> tiles;
  llvm::DenseMap<Value, Value> memory;
  llvm::DenseMap<sm::LayoutAttr, std::unique_ptr<ThreadLayout>> threadLayouts;
  std::map<std::pair<const ThreadLayout *, std::vector<int64_t>>, Value> threadOffsets;
  std::vector<TensorMapInfo> tensorMaps;
  llvm::DenseMap<mlir::Operation *, CopyPlan> copyPlans;
  llvm::MapVector<Value, ChannelState> channels;
  llvm::DenseMap<Value, SlotBuffer> buffers;
  /// State of the current role: the cursors, and for each slot that it holds, the number of
  /// products issued after the slot's last reader.
  std::map<std::pair<Value, unsigned>, Cursor, CompareCursors> cursors;
  llvm::MapVector<Value, std::deque<int64_t>> taken;
  llvm::DenseSet<Value> inFlight;
  /// Tiles in 32-bit words, each with the elements of several registers, as matrix instructions
  /// take them.
  llvm::DenseSet<Value> wordTiles;
  std::map<std::pair<const void *, std::vector<int64_t>>, Value> linearOffsets;
  llvm::DenseSet<mlir::Operation *> deferred;
  llvm::DenseMap<Value, RawTile> rawTiles;
  /// For deferred views, the source register of each result register.
  llvm::DenseMap<mlir::Operation *, llvm::SmallVector<int64_t>> viewRegisters;
  sm::RoleOp currentRole;
  int64_t firstWarp = 0, launchRegisters = 0;
  int64_t clusters = 0; // of a persistent kernel's launch
  bool changesRegisters = false;
  /// Whether a thread may still be reading shared memory that was written before the last barrier.
  bool mayBeRead = false;
};

} // namespace tilewright::nvptx

#endif // TILEWRIGHT_TARGET_NVPTX_LOWER_KERNELEMITTER_H
