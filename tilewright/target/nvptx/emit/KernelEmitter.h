// One sm.kernel as a function of LLVM IR.
#ifndef TILEWRIGHT_TARGET_NVPTX_EMIT_KERNELEMITTER_H
#define TILEWRIGHT_TARGET_NVPTX_EMIT_KERNELEMITTER_H

#include "tilewright/dialect/sm/IndexFacts.h"
#include "tilewright/dialect/sm/SmDialect.h"
#include "tilewright/target/elements/RegionEmitter.h"
#include "tilewright/target/nvptx/Target.h"
#include "tilewright/target/nvptx/emit/SharedMemory.h"
#include "tilewright/target/nvptx/emit/ThreadLayout.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/MapVector.h"

#include <deque>

namespace tilewright::nvptx {

/// An order for values as keys; which one does not matter.
struct CompareCursors {
  bool operator()(const std::pair<mlir::Value, unsigned> &left,
                  const std::pair<mlir::Value, unsigned> &right) const {
    return std::pair(left.first.getAsOpaquePointer(), left.second) <
           std::pair(right.first.getAsOpaquePointer(), right.second);
  }
};

using lanes::LaneBuilder;
using lanes::Lanes;

/// A tile in registers: one value for each register that its layout gives a thread.
using Tile = llvm::SmallVector<Lanes>;

/// Where the elements of a tile are in memory, as a function of their index: `base` plus, in
/// elements, `offset` plus `strides` times the index.
struct Place {
  llvm::Value *base;      // in global or shared memory
  mlir::Type elementType; // as stored
  llvm::SmallVector<int64_t> strides;
  llvm::Value *offset = nullptr; // the same for all threads; i32 or i64
  int64_t divisor = 0;           // of the offset; 0 if it is zero
  bool isWide = false;           // more than 2^31 bytes: addresses in 64 bits
  /// `0 ≤ offset + index * stride < size` in one dimension; outside nothing is accessed.
  struct Check {
    size_t dim;
    llvm::Value *offset; // i64, null for zero
    int64_t divisor;     // of the offset
    int64_t stride;
    int64_t size;
  };
  llvm::SmallVector<Check> checks;
};

/// Emits the body op by op: scalars are values that all threads agree on, tiles are registers. Each
/// group of ops has a file: EmitMemory, EmitReduce, EmitScan, EmitConvert; matrix instructions and
/// channels join as further files.
class KernelEmitter {
public:
  KernelEmitter(LaneBuilder &builder, sm::KernelOp kernel, const Chip &chip)
      : b(builder), kernel(kernel), chip(chip), shared(builder) {}

  /// Failures are in the builder. `info.symbol` is the name of the function.
  void emit(KernelInfo &info);

private:
  // --- Ops (KernelEmitter.cpp) ---
  void emitCoordinates(KernelInfo &info);
  void emitOps(mlir::Block &block);
  void emitOp(mlir::Operation *op);
  void emitScalar(mlir::Operation *op);
  void emitFor(mlir::scf::ForOp loop);
  void emitIf(mlir::scf::IfOp branch);
  void emitMap(tile::MapOp map);
  void emitView(tile::ViewOp view);
  void emitIota(tile::IotaOp iota);
  void refuse(mlir::Operation *op, std::string_view why);

  // --- Memory (EmitMemory.cpp) ---
  void emitLoad(tile::LoadOp load);
  void emitStore(tile::StoreOp store);
  void emitGather(tile::GatherOp gather);
  /// The place of a tile at `offsets` of a whole tensor.
  Place placeIn(mlir::Value whole, mlir::ValueRange offsets,
                std::optional<llvm::ArrayRef<int64_t>> strides,
                std::optional<llvm::ArrayRef<bool>> inBounds);
  /// Registers that one access moves: consecutive elements, aligned to their number. Each element
  /// may be in several registers, which are copies.
  struct Chunk {
    llvm::SmallVector<llvm::SmallVector<unsigned, 1>, 4> elements;
    int64_t constant; // of the first element, in elements of memory
  };
  llvm::SmallVector<Chunk> chunksOf(const ThreadLayout &threads, const Place &place,
                                    llvm::ArrayRef<int64_t> shape);
  /// Whether a register's element is in the tile and in memory; null if it always is.
  llvm::Value *isInside(const ThreadLayout &threads, const Place &place,
                        llvm::ArrayRef<int64_t> shape, unsigned reg);
  llvm::Value *addressOf(const ThreadLayout &threads, const Place &place, int64_t constant);
  Tile loadTile(const ThreadLayout &threads, const Place &place, llvm::ArrayRef<int64_t> shape,
                Lanes outside);
  void storeTile(const Tile &tile, const ThreadLayout &threads, const Place &place,
                 llvm::ArrayRef<int64_t> shape);
  /// An access of `parts` values of `type`. Where `isOn` is given and false, nothing is read and
  /// `outside` (one value for each part) is the result.
  llvm::SmallVector<llvm::Value *> load(llvm::Type *type, unsigned parts, llvm::Value *address,
                                        llvm::Value *isOn, llvm::ArrayRef<llvm::Value *> outside);
  void store(llvm::ArrayRef<llvm::Value *> parts, llvm::Value *address, llvm::Value *isOn);

  // --- Exchange between threads (Exchange.cpp) ---
  /// The value of another lane, of any type: `lane ^ mask`, or the lane `from`.
  llvm::Value *shuffleXor(llvm::Value *value, int64_t mask);
  llvm::Value *shuffleFrom(llvm::Value *value, llvm::Value *from);
  Lanes shuffleXor(Lanes value, int64_t mask);
  Lanes shuffleFrom(Lanes value, llvm::Value *from);
  llvm::Value *shuffle(llvm::Intrinsic::ID id, llvm::Value *value, llvm::Value *operand);
  /// Waits for all threads of the CTA, where something that they read may be overwritten next.
  void beginSharedWrites();
  /// Waits for all threads of the CTA, so that what they wrote can be read.
  void beginSharedReads();
  /// A value as it is kept in shared memory while threads exchange it.
  llvm::Type *exchangeType(llvm::Type *type);

  // --- Reductions (EmitReduce.cpp, EmitScan.cpp) ---
  /// Elements that are combined as one, and whether there are any: `valid` null is yes.
  struct Partial {
    llvm::SmallVector<Lanes, 2> values;
    llvm::Value *valid = nullptr;
  };
  Partial combine(mlir::Block &combiner, const Partial &first, const Partial &second);
  Partial shuffled(const Partial &partial, llvm::function_ref<Lanes(Lanes)> exchange);
  void emitReduce(tile::ReduceOp reduce);
  void emitScan(tile::ScanOp scan);
  /// The elements of a register of all inputs.
  Partial partialOf(mlir::ValueRange inputs, const ThreadLayout &threads,
                    llvm::ArrayRef<int64_t> shape, unsigned reg);
  /// Through shared memory: gives every partial of the warps whose digits differ.
  llvm::SmallVector<llvm::SmallVector<Partial>>
  exchangeWarps(llvm::ArrayRef<Partial> mine, const ThreadLayout &threads,
                llvm::ArrayRef<sm::IndexTerm> warpDigits, llvm::ArrayRef<sm::IndexTerm> laneDigits,
                mlir::Operation *user);

  // --- Products in registers (EmitDot.cpp) ---
  void emitDot(tile::DotOp dot);
  void emitMmaSync(sm::MmaOp mma);
  /// Whether there is an instruction for it. Without `acc` the sum starts at zero.
  bool multiplyTiles(mlir::Value lhs, mlir::Value rhs, mlir::Value acc, mlir::Value result,
                     bool isTf32);
  /// Registers of one fragment as an instruction takes them: words of 32 bits, or of 64.
  llvm::SmallVector<llvm::Value *> packFragment(const Tile &tile,
                                                llvm::ArrayRef<unsigned> registers,
                                                mlir::Value value, bool isTf32);
  llvm::Value *multiply(llvm::StringRef name, llvm::ArrayRef<llvm::Value *> operands, size_t left,
                        size_t right, size_t sums, llvm::Type *sumType);

  // --- Conversions (EmitConvert.cpp) ---
  void emitConvert(sm::ConvertOp convert);
  bool convertByShuffles(sm::ConvertOp convert, const ThreadLayout &from, const ThreadLayout &to,
                         int64_t sharedCost);
  void rearrange(sm::ConvertOp convert, const ThreadLayout &from, const ThreadLayout &to);
  void convertByMemory(sm::ConvertOp convert, const ThreadLayout &from, const ThreadLayout &to,
                       llvm::ArrayRef<int64_t> strides, int64_t elements);

  // --- Roles and channels (EmitRoles.cpp) ---
  /// A channel in shared memory: its slots, and for each slot a barrier that says it is full and
  /// one that says it is empty. A channel of a kernel without roles has no barriers: the threads
  /// that fill it drain it, so they count their copies and meet.
  struct ChannelState {
    bool isOwn = false;
    int64_t filled = 0;   // of an own one: slots that are published and not taken
    int64_t held = 0;     // taken and not freed
    bool isFreed = false; // since threads met last
    int64_t depth = 0, slotBytes = 0;
    llvm::SmallVector<int64_t> offsets; // of the buffers in a slot
    llvm::SmallVector<sm::RoleOp> drainers;
    /// Threads read its slots themselves, so each warp says when it has.
    bool isReadByThreads = false;
    SharedMemory::Buffer slots, barriers;
  };
  /// Which slot is next, and the parity of its phase: two variables of a thread.
  struct Cursor {
    llvm::Value *slot, *phase;
  };
  enum class CursorKind : unsigned { fill, drain, free };
  /// A buffer of a slot: its address and the barrier that copies into it complete.
  struct BufferPlace {
    llvm::Value *address, *barrier; // i32
  };
  void planRoles(KernelInfo &info);
  void declareChannel(sm::ChannelOp op);
  void initializeChannels();
  /// All threads of the cluster meet.
  void waitForAll();
  void emitRole(sm::RoleOp role);
  void emitAcquire(sm::AcquireOp op);
  void emitPublish(sm::PublishOp op);
  void emitTake(sm::TakeOp op);
  void emitFree(sm::FreeOp op);
  Cursor &cursorOf(mlir::Value channel, CursorKind kind);
  void advance(Cursor &cursor, int64_t depth);
  llvm::Value *barrierOf(ChannelState &state, llvm::Value *slot, bool isEmpty);
  void waitBarrier(llvm::Value *barrier, llvm::Value *phase, bool isRemote);
  void giveBuffers(mlir::ResultRange results, ChannelState &state, llvm::Value *slot);

  // --- Channels without roles, copies of threads (EmitAsyncCopies.cpp) ---
  void acquireOwn(sm::AcquireOp op, ChannelState &state);
  void publishOwn(ChannelState &state);
  void takeOwn(sm::TakeOp op, ChannelState &state);
  void freeOwn(sm::FreeOp op, ChannelState &state);
  /// What a loop's body must leave as it found it, and what it may not rely on.
  llvm::SmallVector<int64_t> beginOwnLoop(mlir::scf::ForOp loop);
  void endOwnLoop(mlir::scf::ForOp loop, llvm::ArrayRef<int64_t> filledBefore);
  void emitAsyncCopy(sm::CopyOp copy);
  /// An offset in shared memory, in bytes: a part that differs between threads, and a constant for
  /// the instruction to add.
  struct SplitOffset {
    llvm::Value *varying; // i32
    int64_t constant;
  };
  /// The xor of `bytes[bit]` for each bit of the thread's number that is set, and of `constant`.
  SplitOffset offsetOfThread(llvm::ArrayRef<int64_t> bytes, int64_t constant);
  /// Where an element of a buffer is, in bytes.
  static int64_t byteOf(sm::BufferType buffer, llvm::ArrayRef<int64_t> index);

  // --- Fragments of matrix instructions (EmitFragments.cpp) ---
  void emitFragment(sm::CopyOp copy);
  /// Makes elements of words, for ops that know nothing of words.
  void unpackWords(mlir::Value value);
  llvm::Value *assembly(llvm::Type *result, const llvm::Twine &text, const llvm::Twine &constraints,
                        llvm::ArrayRef<llvm::Value *> operands);
  llvm::Value *sharedAddress(llvm::Value *pointer);
  /// Warps that run what is being emitted.
  int64_t warpCount();
  int64_t clusterSize();
  llvm::Value *ctaRank();
  /// Waits for the threads that run what is being emitted.
  void barrier();

  // --- The copy engine (EmitCopies.cpp) ---
  /// A copy as boxes: `boxes` of `line` elements by `boxRows` rows.
  struct CopyPlan {
    size_t map = 0;
    int64_t boxes = 1, boxBytes = 0, boxRows = 0, line = 0, lineBytes = 128;
    size_t outer = 1; // the coordinate of the rows, counted from the contiguous dimension
    /// Elements that CTAs of the cluster are apart in memory; 0 where they have the same.
    int64_t innerPerCta = 0, outerPerCta = 0;
    bool isMulticast = false;
  };
  void planCopies();
  std::optional<CopyPlan> planCopy(sm::CopyOp copy);
  void emitCopy(sm::CopyOp copy);

  // --- Matrix instructions (EmitProducts.cpp) ---
  void emitMma(sm::MmaOp mma);
  /// Waits until so many products at most are under way.
  void waitProducts(int64_t left);

  // --- An operand in registers (EmitRegisterOperand.cpp) ---
  /// Elements of a tile as they came from a slot: words, and where in them each register's element
  /// is. They are decoded where they are used.
  struct RawTile {
    llvm::SmallVector<llvm::Value *> words; // i8, i16 or i32
    struct Part {
      unsigned word, bit;
    };
    llvm::SmallVector<Part> parts; // by register
  };
  /// Whether a copy reads a slot into registers.
  static bool isFromSlot(sm::CopyOp copy);
  void emitSlotLoad(sm::CopyOp copy);
  /// Finds what is computed on the way to products' left sides, which is emitted with them, piece
  /// by piece.
  void deferPrologues(sm::RoleOp role);
  void emitMmaFromRegisters(sm::MmaOp mma);
  /// One register of a tile that is emitted where it is used. `known` has what was emitted before.
  using KnownRegisters = std::map<std::pair<const void *, unsigned>, Lanes>;
  Lanes deferredRegister(mlir::Value value, unsigned reg, RawTile &raw, KnownRegisters &known);
  /// The register of the slot's tile that a register is computed from.
  std::optional<unsigned> rawRegister(mlir::Value value, unsigned reg);
  Lanes decodeRaw(RawTile &raw, unsigned reg, mlir::Type type, KnownRegisters &known);
  /// Counts products as issued after the slots that they do not read.
  void countProducts(sm::MmaOp mma, int64_t count);
  /// Waits for a tile that a product is computing.
  void settle(mlir::Value value);
  static bool reads(sm::MmaOp mma, mlir::Value channel);
  static int64_t clusterDigit(const sm::Layout &layout, size_t dim);

  // --- Common ---
  const ThreadLayout &threadsOf(mlir::Type type);
  llvm::Value *axis(sm::Axis axis);
  llvm::Value *digitOf(const sm::IndexTerm &term);
  /// Runs `emit` at the end of the first block, where what only depends on the thread belongs.
  llvm::Value *once(llvm::function_ref<llvm::Value *()> emit);
  Lanes poison(mlir::Type type);
  llvm::Value *i32(int64_t value) { return b.ir.getInt32(static_cast<uint32_t>(value)); }

  LaneBuilder &b;
  sm::KernelOp kernel;
  const Chip &chip;
  SharedMemory shared;
  llvm::Function *function = nullptr;
  llvm::Value *thread = nullptr; // tid.x
  llvm::DenseMap<mlir::Value, Lanes> scalars;
  llvm::DenseMap<mlir::Value, Tile> tiles;
  llvm::DenseMap<mlir::Value, llvm::Value *> memory;
  llvm::DenseMap<sm::LayoutAttr, std::unique_ptr<ThreadLayout>> threadLayouts;
  std::map<std::pair<const ThreadLayout *, std::vector<int64_t>>, llvm::Value *> threadOffsets;
  std::vector<TensorMapInfo> tensorMaps;
  llvm::DenseMap<mlir::Operation *, CopyPlan> copyPlans;
  llvm::MapVector<mlir::Value, ChannelState> channels;
  llvm::DenseMap<mlir::Value, BufferPlace> buffers;
  /// Of the role that is being emitted: cursors, and for each slot that it holds the products that
  /// were issued after the slot's last reader.
  std::map<std::pair<mlir::Value, unsigned>, Cursor, CompareCursors> cursors;
  llvm::MapVector<mlir::Value, std::deque<int64_t>> taken;
  llvm::DenseSet<mlir::Value> inFlight;
  /// Tiles that are words of 32 bits with several registers in each, as instructions take them.
  llvm::DenseSet<mlir::Value> wordTiles;
  std::map<std::pair<llvm::Value *, std::vector<int64_t>>, llvm::Value *> linearOffsets;
  llvm::DenseSet<mlir::Operation *> deferred;
  llvm::DenseMap<mlir::Value, RawTile> rawTiles;
  /// The registers of a view's source that its result's are, for those that are deferred.
  llvm::DenseMap<mlir::Operation *, llvm::SmallVector<int64_t>> viewRegisters;
  sm::RoleOp currentRole;
  int64_t firstWarp = 0, launchRegisters = 0;
  bool changesRegisters = false;
  /// Whether a thread may still read shared memory that was written before the last barrier.
  bool mayBeRead = false;
};

} // namespace tilewright::nvptx

#endif // TILEWRIGHT_TARGET_NVPTX_EMIT_KERNELEMITTER_H
