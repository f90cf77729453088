// Tensor memory and the matrix instructions that accumulate in it (tcgen05).
#include "tilewright/target/nvptx/lower/matrix/Tcgen05.h"

#include "tilewright/dialect/exec/ScaledOps.h"
#include "tilewright/dialect/sm/InstructionLayouts.h"
#include "tilewright/support/Concat.h"
#include "tilewright/target/nvptx/lower/KernelLowering.h"
#include "tilewright/target/nvptx/lower/matrix/SlotLoad.h"
#include "tilewright/target/nvptx/lower/matrix/WgmmaInstruction.h"

using namespace llvm;

namespace tilewright::nvptx {

using sm::Axis;

/// An address is a lane in the upper 16 bits and a column in the lower.
constexpr int64_t laneStep = int64_t(1) << 16;

/// A cluster of two CTAs multiplies as a pair, so all instructions of the kernel are the pair form.
static NVVM::CTAGroupKind groupOf(KernelState &kernel) {
  return kernel.clusterSize() == 2 ? NVVM::CTAGroupKind::CTA_2 : NVVM::CTAGroupKind::CTA_1;
}

bool isReadByTensorProducts(Value channel) {
  return any_of(channel.getUsers(), [](mlir::Operation *user) {
    return isa<sm::TakeOp>(user) && any_of(user->getUsers(), [](mlir::Operation *reader) {
             auto mma = dyn_cast<sm::MmaOp>(reader);
             return mma && mma.getAtom() == sm::Atom::tcgen05;
           });
  });
}

int64_t tensorColumnsOf(sm::BufferType buffer) {
  return buffer.getLayout().getValue().extent(Axis::tmemColumn) *
         int64_t(buffer.getElementType().getIntOrFloatBitWidth()) / 32;
}

bool isWrittenByThreads(sm::AcquireOp acquire) {
  return any_of(acquire.getResults(), [](Value buffer) {
    return any_of(buffer.getUsers(), [&](mlir::Operation *user) {
      auto copy = dyn_cast<sm::CopyOp>(user);
      return copy && copy.getTarget() == buffer &&
             (copy.getEngine() == sm::Engine::tmem || isToSlot(copy));
    });
  });
}

// --- The allocation ---

int64_t Tcgen05Lowering::allocate(int64_t wanted, mlir::Operation *op) {
  User user{{}, wanted};
  raw_string_ostream(user.name) << "'" << op->getName() << "' at " << op->getLoc();
  users.push_back(std::move(user));
  const int64_t first = columns;
  columns += wanted;
  return first;
}

/// The scales of 128 rows and 4 blocks: bytes in shared memory, columns in tensor memory.
constexpr int64_t groupBytes = 512, groupColumns = 4;

/// The number of groups in a buffer of scales.
static int64_t scaleGroups(Value buffer) {
  return cast<sm::BufferType>(buffer.getType()).getBytes() / groupBytes;
}

void Tcgen05Lowering::allocateScales() {
  int64_t groups = 0;
  sm::MmaOp largest;
  kernel.op.getBody().walk([&](sm::MmaOp mma) {
    if (!mma.getLhsScale() || mma.getAtom() != sm::Atom::tcgen05)
      return;
    const int64_t here = scaleGroups(mma.getLhsScale()) + scaleGroups(mma.getRhsScale());
    if (here > groups) {
      groups = here;
      largest = mma;
    }
  });
  if (largest)
    scaleColumn = allocate(groups * groupColumns, largest);
}

int64_t Tcgen05Lowering::allocatedColumns() const {
  return std::max<int64_t>(32, int64_t(PowerOf2Ceil(uint64_t(columns))));
}

Status Tcgen05Lowering::check() const {
  const int64_t capacity = all.chip.rates ? all.chip.rates->tensorColumns : 0;
  if (columns == 0 || allocatedColumns() <= capacity)
    return {};
  std::vector<User> largest = users;
  llvm::sort(largest, [](const User &a, const User &c) { return a.columns > c.columns; });
  std::string names;
  for (size_t i = 0; i < largest.size() && i < 3; ++i)
    names += concat(i ? ", " : "", largest[i].name, " has ", largest[i].columns);
  return Status(Error::gpuBudget,
                concat("needs ", allocatedColumns(), " columns of tensor memory, but ",
                       all.chip.name, " has ", capacity, ": ", names,
                       "; use smaller tiles or fewer slots"));
}

void Tcgen05Lowering::initialize() {
  if (columns == 0)
    return;
  place = kernel.shared.allocate(4, 4, kernel.op);
  // A whole warp must allocate. Use the second warp, because a thread of the first one initializes
  // the mbarriers.
  Block *allocate = b.newBlock(), *after = b.newBlock();
  b.branchIf(b.equal(b.lshr(kernel.thread, b.i32(5)), b.i32(1)), allocate, after);
  b.moveTo(allocate);
  b.make<NVVM::Tcgen05AllocOp>(kernel.shared.address(place), b.i32(allocatedColumns()),
                               groupOf(kernel));
  // Let another CTA on the same multiprocessor allocate.
  b.make<NVVM::Tcgen05RelinquishAllocPermitOp>(groupOf(kernel));
  b.branch(after);
  b.moveTo(after);
  fenceBeforeSync();
}

void Tcgen05Lowering::useAllocation() {
  if (columns != 0)
    fenceAfterSync();
}

/// Whether the role takes or acquires a slot in tensor memory; with `onlyReads`, whether its
/// threads read a slot that products have filled.
static bool usesTensorMemory(sm::RoleOp role, bool onlyReads) {
  return role.getBody()
      .walk([&](mlir::Operation *op) {
        bool isSlot = !onlyReads && isa<sm::AcquireOp>(op);
        if (auto take = dyn_cast<sm::TakeOp>(op))
          isSlot = !onlyReads || !isReadByTensorProducts(take.getChannel());
        return isSlot && any_of(op->getResultTypes(),
                                [](Type type) {
                                  return cast<sm::BufferType>(type).getSpace() == sm::Space::tensor;
                                })
                   ? mlir::WalkResult::interrupt()
                   : mlir::WalkResult::advance();
      })
      .wasInterrupted();
}

void Tcgen05Lowering::beginRole(sm::RoleOp role) {
  base = nullptr;
  if (columns != 0 && usesTensorMemory(role, /*onlyReads=*/false))
    base = b.load(b.i32Type, kernel.shared.address(place));
}

void Tcgen05Lowering::endRole(sm::RoleOp role) {
  if (columns == 0 || !usesTensorMemory(role, /*onlyReads=*/true))
    return;
  // The role has waited for all products, and its warps have read the results.
  fenceBeforeSync();
  kernel.barrier();
  fenceAfterSync();
  Block *release = b.newBlock(), *after = b.newBlock();
  b.branchIf(b.unsignedLess(kernel.thread, b.i32(Chip::warpSize)), release, after);
  b.moveTo(release);
  b.make<NVVM::Tcgen05DeallocOp>(b.sharedPointer(base, tensorSpace), b.i32(allocatedColumns()),
                                 groupOf(kernel));
  b.branch(after);
  b.moveTo(after);
}

Value Tcgen05Lowering::address(int64_t column) { return b.add(base, b.i32(column)); }

// --- Order ---

void Tcgen05Lowering::commit(Value barrier) {
  // The products of a pair read and write the memory of both CTAs, so both must know.
  Value everyCta = kernel.clusterSize() > 1 ? b.i16((1 << kernel.clusterSize()) - 1) : Value();
  b.make<NVVM::Tcgen05CommitOp>(b.sharedPointer(barrier), everyCta, groupOf(kernel));
}

void Tcgen05Lowering::fenceAfterSync() {
  b.make<NVVM::Tcgen05FenceOp>(NVVM::Tcgen05FenceKind::AFTER_THREAD_SYNC);
}

void Tcgen05Lowering::fenceBeforeSync() {
  b.make<NVVM::Tcgen05FenceOp>(NVVM::Tcgen05FenceKind::BEFORE_THREAD_SYNC);
}

// --- Products ---

namespace {

/// A kind of tcgen05.mma, and the type fields of its instruction descriptor.
struct TensorKind {
  NVVM::Tcgen05MMAKind kind;
  int64_t depth; // K of an instruction
  int64_t left, right, sum;
  bool hasOrder; // reads operands of either order from lines of 128 bytes
};

/// The encoding of an 8-bit float in descriptors.
std::optional<int64_t> f8Number(Type type) {
  if (isa<mlir::Float8E4M3FNType>(type))
    return 0;
  return isa<mlir::Float8E5M2Type>(type) ? std::optional<int64_t>(1) : std::nullopt;
}

std::optional<TensorKind> tensorKindOf(Type left, Type right, Type sum) {
  using Kind = NVVM::Tcgen05MMAKind;
  if (sum.isInteger(32) && left.isInteger(8) && right.isInteger(8))
    return TensorKind{Kind::I8, 32, 1, 1, 2, false};
  if (!sum.isF32())
    return std::nullopt;
  if (std::optional<int64_t> a = f8Number(left), c = f8Number(right); a && c)
    return TensorKind{Kind::F8F6F4, 32, *a, *c, 1, false};
  if (left != right)
    return std::nullopt;
  if (left.isF16() || left.isBF16())
    return TensorKind{Kind::F16, 16, left.isBF16(), left.isBF16(), 1, true};
  if (left.isF32())
    return TensorKind{Kind::TF32, 8, 2, 2, 1, false};
  return std::nullopt;
}

/// The upper half of an operand's descriptor: 1024 bytes between groups of eight rows (or steps of
/// K), the version of tcgen05, and the swizzle of 128 bytes.
constexpr int64_t upperDescriptor = (1024 >> 4) | 1 << 14 | int64_t(2) << 29;

} // namespace

/// Whether a buffer in tensor memory has the layout of a left operand of tcgen05, possibly with
/// paired rows.
static bool isLeftOperand(sm::BufferType buffer, int64_t ctas) {
  const sm::Layout &layout = buffer.getLayout().getValue();
  if (layout.rank() != 2)
    return false;
  std::optional<sm::Layout> expected =
      sm::instruction::tensorOperand(layout.cover(0), layout.cover(1), ctas);
  return expected &&
         (expected->sameAs(layout) || sm::instruction::withPairedRows(*expected).sameAs(layout));
}

Value Tcgen05Lowering::descriptor(Value low, int64_t upper) {
  return b.bitOr(b.zext(low, b.i64Type), b.i64(upper << 32));
}

Tcgen05Lowering::Accumulator Tcgen05Lowering::accumulator(sm::MmaOp mma) {
  Value into = b.sharedPointer(kernel.buffers[mma.getInto()].address, tensorSpace);
  Value accumulates = b.truth(true);
  if (mma.getZero())
    accumulates = b.equal(kernel.scalars.lookup(mma.getZero()).value, b.truth(false));
  return {into, accumulates};
}

void Tcgen05Lowering::mma(sm::MmaOp mma) {
  if (mma.getLhsScale())
    return scaledMma(mma);
  auto lhs = dyn_cast<sm::BufferType>(mma.getLhs().getType()),
       rhs = dyn_cast<sm::BufferType>(mma.getRhs().getType());
  sm::BufferType sum = mma.getInto().getType();
  if (all.chip.matrix != MatrixUnit::tcgen05 || !lhs || !rhs || sum.getSpace() != sm::Space::tensor)
    return kernel.refuse(mma, concat("must have operands in buffers and an accumulator in tensor "
                                     "memory, on a chip with tcgen05, got ",
                                     all.chip.name));
  std::optional<TensorKind> kind =
      tensorKindOf(lhs.getElementType(), rhs.getElementType(), sum.getElementType());
  const bool isInTensorMemory = lhs.getSpace() == sm::Space::tensor;
  std::optional<wgmma::OperandWalk> a, c = wgmma::walkOf(rhs, 1);
  if (!isInTensorMemory)
    a = wgmma::walkOf(lhs, 0);
  // In tensor memory, K runs along the columns of the left operand; an instruction reads eight
  // columns.
  else if (isLeftOperand(lhs, kernel.clusterSize()))
    a = wgmma::OperandWalk{.kInner = true, .step = 8, .nextLine = 8};
  if (!kind)
    return kernel.refuse(mma, "multiplies types that tcgen05 does not support");
  if (lhs.getElementType().isF32() &&
      !(wgmma::isRoundedToTf32(mma.getLhs()) && wgmma::isRoundedToTf32(mma.getRhs())))
    return kernel.refuse(mma, "multiplies f32 that no copy has rounded to tf32");
  if (!a || !c || (!kind->hasOrder && (!a->kInner || !c->kInner)))
    return kernel.refuse(mma, concat("has operands that tcgen05 does not support: ",
                                     lhs.getLayout().getValue().str(), " and ",
                                     rhs.getLayout().getValue().str()));
  const sm::Layout &layout = sum.getLayout().getValue();
  const int64_t rows = layout.cover(0), columns = layout.cover(1);
  const auto depth = int64_t(alignTo(uint64_t(lhs.getShape()[1]), uint64_t(kind->depth)));
  const int64_t ctas = kernel.clusterSize();
  std::optional<sm::Layout> expected = sm::instruction::tensorAccumulator(rows, columns, ctas);
  // The rows may be paired if those of the left operand are, too.
  if (expected && isInTensorMemory &&
      lhs.getLayout().getValue().canonical().getDims()[0] ==
          sm::instruction::withPairedRows(*expected).getDims()[0])
    expected = sm::instruction::withPairedRows(*expected);
  // Each CTA of a pair has half of the rows of one operand and half of the columns of the other.
  if (!expected || !expected->sameAs(layout) || columns % (rows == 64 ? 8 : 16 * ctas) != 0 ||
      clusterDigit(lhs.getLayout().getValue(), 0) != ctas ||
      clusterDigit(rhs.getLayout().getValue(), 1) != ctas || columns > 256 ||
      depth > lhs.getLayout().getValue().cover(1) || lhs.getLayout().getValue().cover(0) != rows ||
      rhs.getLayout().getValue().cover(1) < columns)
    return kernel.refuse(
        mma, concat("has an accumulator that tcgen05 does not support: ", layout.str()));

  const int64_t types = kind->sum << 4 | kind->left << 7 | kind->right << 10 |
                        int64_t(!a->kInner) << 15 | int64_t(!c->kInner) << 16 | columns >> 3 << 17 |
                        rows >> 4 << 24;
  // An address in shared memory has 18 bits, so its upper 14 need no mask.
  auto start = [&](Value buffer, const wgmma::OperandWalk &walk) {
    Value low = b.lshr(kernel.buffers[buffer].address, b.i32(4));
    return walk.lead ? b.bitOr(low, b.i32(walk.lead << 16)) : low;
  };
  Value left = isInTensorMemory ? kernel.buffers[mma.getLhs()].address : start(mma.getLhs(), *a);
  Value right = start(mma.getRhs(), *c);
  auto whole = [&](Value low, int64_t steps) {
    return descriptor(b.add(low, b.i32(steps)), upperDescriptor);
  };
  auto leftOf = [&](int64_t steps) {
    return isInTensorMemory ? Value(b.sharedPointer(b.add(left, b.i32(steps)), tensorSpace))
                            : whole(left, steps);
  };
  auto [into, accumulates] = accumulator(mma);
  for (int64_t step = 0; step < depth / kind->depth; ++step)
    b.make<NVVM::Tcgen05MMAOp>(kind->kind, groupOf(kernel), NVVM::Tcgen05MMACollectorOp::DISCARD,
                               /*aShift=*/false, into, leftOf(a->atStep(step)),
                               whole(right, c->atStep(step)), b.i32(types),
                               step == 0 ? accumulates : b.truth(true), /*scaleInputD=*/Value(),
                               /*disableOutputLane=*/Value());
}

// --- Products with scales ---

/// The matrix descriptor of a group of scales without its address: 32 rows of 16 bytes, eight of
/// them 128 bytes after the previous eight, not swizzled.
constexpr int64_t upperScaleDescriptor = (128 >> 4) | 1 << 14;
/// A line of elements along K.
constexpr int64_t lineBytes = 128;

void Tcgen05Lowering::copyScales(Value buffer, int64_t rowGroups, Value first) {
  // The buffer contains all groups along K of 128 rows, then those of the next 128. Tensor memory
  // keeps the rows of each group along K together.
  const int64_t alongK = scaleGroups(buffer) / rowGroups;
  Value low = b.lshr(kernel.buffers[buffer].address, b.i32(4));
  for (int64_t row = 0; row < rowGroups; ++row)
    for (int64_t k = 0; k < alongK; ++k) {
      Value start = b.add(low, b.i32((row * alongK + k) * groupBytes / 16));
      Value to = b.add(first, b.i32((k * rowGroups + row) * groupColumns));
      b.make<NVVM::Tcgen05CpOp>(NVVM::Tcgen05CpShape::SHAPE_32x128b, groupOf(kernel),
                                NVVM::Tcgen05CpMulticast::WARPX4, NVVM::Tcgen05CpSrcFormatAttr(),
                                b.sharedPointer(to, tensorSpace),
                                descriptor(start, upperScaleDescriptor));
    }
}

void Tcgen05Lowering::scaledMma(sm::MmaOp mma) {
  auto lhs = dyn_cast<sm::BufferType>(mma.getLhs().getType()),
       rhs = dyn_cast<sm::BufferType>(mma.getRhs().getType());
  sm::BufferType sum = mma.getInto().getType();
  const auto block = int64_t(*mma.getBlock());
  std::optional<exec::ScaledKind> kind =
      exec::scaledKindOf(*mma.getLhsType(), *mma.getRhsType(), *mma.getScaleType(), block);
  const sm::Layout &layout = sum.getLayout().getValue();
  const int64_t rows = layout.cover(0), columns = layout.cover(1);
  if (all.chip.matrix != MatrixUnit::tcgen05 || !lhs || !rhs || !kind ||
      sum.getSpace() != sm::Space::tensor || !sum.getElementType().isF32() || rows != 128 ||
      columns % 16 != 0 || columns > 256 || kernel.clusterSize() != 1)
    return kernel.refuse(mma, concat("must multiply 128 rows and up to 256 columns of one CTA with "
                                     "scales that tcgen05 has, into f32 in tensor memory, got ",
                                     layout.str(), " on ", all.chip.name));
  std::optional<wgmma::OperandWalk> a = wgmma::walkOf(lhs, 0), c = wgmma::walkOf(rhs, 1);
  const int64_t rowGroups = int64_t(divideCeil(uint64_t(columns), 128));
  const int64_t alongK = kind->groups(block);
  auto bits = [](sm::BufferType buffer) { return buffer.getElementType().getIntOrFloatBitWidth(); };
  if (!a || !c || !a->kInner || !c->kInner || bits(lhs) != 8 || bits(rhs) != 8 ||
      lhs.getLayout().getValue().cover(1) != lineBytes ||
      rhs.getLayout().getValue().cover(0) != lineBytes ||
      scaleGroups(mma.getLhsScale()) != alongK ||
      scaleGroups(mma.getRhsScale()) != alongK * rowGroups)
    return kernel.refuse(mma, concat("must have operands of one line of ", lineBytes,
                                     " bytes along K, with scales for all of them, got ",
                                     lhs.getLayout().getValue().str(), " and ",
                                     rhs.getLayout().getValue().str()));

  Value leftScales = address(scaleColumn);
  Value rightScales = b.add(leftScales, b.i32(alongK * groupColumns));
  copyScales(mma.getLhsScale(), 1, leftScales);
  copyScales(mma.getRhsScale(), rowGroups, rightScales);

  using Kind = NVVM::MMABlockScaleKind;
  using Block = NVVM::Tcgen05MMABlockScale;
  const bool isByte = kind->bits == 8, hasE8M0 = isa<mlir::Float8E8M0FNUType>(*mma.getScaleType());
  // For kinds that multiply only e2m1, descriptors encode the type as 1.
  auto number = [&](Type type) { return isByte ? *f8Number(type) : 1; };
  const int64_t types = number(*mma.getLhsType()) << 7 | number(*mma.getRhsType()) << 10 |
                        columns >> 3 << 17 | int64_t(hasE8M0) << 23 | rows >> 4 << 24;
  Value left = b.lshr(kernel.buffers[mma.getLhs()].address, b.i32(4)),
        right = b.lshr(kernel.buffers[mma.getRhs()].address, b.i32(4));
  auto whole = [&](Value low, int64_t steps) {
    return descriptor(b.add(low, b.i32(steps)), upperDescriptor);
  };
  auto [into, accumulates] = accumulator(mma);
  // An instruction takes 1, 2 or 4 scales of a row, which are consecutive bytes of a column. The
  // descriptor contains the index of the first one.
  const int64_t perStep = kind->depth() / block;
  for (int64_t step = 0; step < lineBytes / 32; ++step) {
    const int64_t scale = step * perStep, group = scale / 4, place = scale % 4;
    auto scaleAt = [&](Value first, int64_t groups) {
      return b.sharedPointer(b.add(first, b.i32(group * groups * groupColumns)), tensorSpace);
    };
    b.make<NVVM::Tcgen05MMABlockScaleOp>(
        isByte    ? Kind::MXF8F6F4
        : hasE8M0 ? Kind::MXF4
                  : Kind::MXF4NVF4,
        groupOf(kernel), block == 16 ? Block::BLOCK16 : Block::DEFAULT,
        NVVM::Tcgen05MMACollectorOp::DISCARD, into, whole(left, a->step * step),
        whole(right, c->step * step), b.i32(types | place << 4 | place << 29),
        step == 0 ? accumulates : b.truth(true), scaleAt(leftScales, 1),
        scaleAt(rightScales, rowGroups));
  }
}

// --- Reading and writing ---

void Tcgen05Lowering::copy(sm::CopyOp copy) {
  if (copy.getResult())
    load(copy);
  else
    store(copy);
}

Value Tcgen05Lowering::quarterOf(Value buffer, int64_t groups) {
  Value warp = kernel.axis(Axis::warp);
  Value first =
      b.add(kernel.buffers[buffer].address, b.mul(b.bitAnd(warp, b.i32(3)), b.i32(32 * laneStep)));
  if (groups == 2)
    first = b.add(first, b.mul(b.lshr(warp, b.i32(2)), b.i32(16 * laneStep)));
  return first;
}

/// The number of groups of 16 lanes that a warp accesses. Each quarter of the lanes has two groups;
/// a warp accesses one if a second warpgroup accesses the other, or if the tile occupies only one.
static int64_t halvesOf(const sm::Layout &memory, int64_t groups) {
  return groups == 1 && memory.isDense(Axis::tmemLane) ? 2 : 1;
}

void Tcgen05Lowering::store(sm::CopyOp copy) {
  auto buffer = dyn_cast<sm::BufferType>(copy.getTarget().getType());
  auto type = dyn_cast<mlir::RankedTensorType>(copy.getSource().getType());
  const auto bits = int64_t(buffer.getElementType().getIntOrFloatBitWidth());
  if (type && copy.getTargetOffsets().empty() && (bits == 16 || bits == 32) &&
      isOfRows(copy.getTarget(), sm::layoutOf(type).getValue()))
    return storeRows(copy);
  if (!type || buffer.getSpace() != sm::Space::tensor || !copy.getTargetOffsets().empty() ||
      !kernel.currentRole || !isLeftOperand(buffer, kernel.clusterSize()) || bits < 8 ||
      bits > 16 || kernel.firstWarp % groupWarps != 0)
    return kernel.refuse(copy,
                         "must write a whole left operand of 8-bit or 16-bit elements to tensor "
                         "memory in a role whose first warp is the first of a warpgroup");
  const sm::Layout &memory = buffer.getLayout().getValue(), &layout = sm::layoutOf(type).getValue();
  const int64_t groups = kernel.warpCount() / groupWarps;
  if (!sm::instruction::tensorRegisters(memory, groups, bits).sameAs(layout))
    return kernel.refuse(copy, concat("writes ", layout.str(), " to ", memory.str(),
                                      ", which is not the layout of 16x128b stores"));
  const ThreadLayout &threads = kernel.threadsOf(type);
  const Tile &tile = kernel.tiles[copy.getSource()];
  SmallVector<Value> words;
  for (int64_t reg = 0; reg < int64_t(tile.size()); reg += 32 / bits) {
    const auto first = unsigned(reg);
    // Write zeros to rows outside of the tile, because they are multiplied, too.
    words.push_back(
        threads.isDead(first, type.getShape())
            ? b.i32(0)
            : packWord(b, ArrayRef(tile).slice(first, size_t(32 / bits)), buffer.getElementType()));
  }
  const int64_t halves = halvesOf(memory, groups), columns = tensorColumnsOf(buffer);
  Value first = quarterOf(copy.getTarget(), groups);
  size_t word = 0;
  for (int64_t half = 0; half < halves; ++half)
    for (int64_t column = 0; column < columns;) {
      // An instruction writes four columns times a power of two, at most 256, of two words each.
      const auto count = std::min<int64_t>(64, int64_t(bit_floor(uint64_t(columns - column) / 4)));
      Value vector = b.poisonOf(b.vectorOf(b.i32Type, unsigned(2 * count)));
      for (int64_t i = 0; i < 2 * count; ++i)
        vector = b.insertElement(vector, words[word++], unsigned(i));
      Value at = b.add(first, b.i32(half * 16 * laneStep + column));
      b.make<NVVM::Tcgen05StOp>(/*unpack=*/false, NVVM::Tcgen05LdStShape::SHAPE_16X128B,
                                b.sharedPointer(at, tensorSpace), vector, /*offset=*/Value());
      column += 4 * count;
    }
}

void Tcgen05Lowering::waitForStores() { b.make<NVVM::Tcgen05WaitOp>(NVVM::Tcgen05WaitKind::STORE); }

void Tcgen05Lowering::load(sm::CopyOp copy) {
  auto buffer = dyn_cast<sm::BufferType>(copy.getSource().getType());
  if (!buffer || buffer.getSpace() != sm::Space::tensor || !copy.getResult() ||
      !copy.getSourceOffsets().empty() || !kernel.currentRole ||
      buffer.getElementType().getIntOrFloatBitWidth() != 32 || kernel.firstWarp % groupWarps != 0)
    return kernel.refuse(copy,
                         "must read a whole accumulator of 32-bit elements from tensor memory "
                         "in a role whose first warp is the first of a warpgroup");
  const sm::Layout &memory = buffer.getLayout().getValue();
  const sm::Layout &layout = sm::layoutOf(copy.getResult().getType()).getValue();
  if (isOfRows(copy.getSource(), layout))
    return loadRows(copy);
  const int64_t groups = kernel.warpCount() / groupWarps;
  if (!sm::instruction::tensorRegisters(memory, groups).sameAs(layout))
    return kernel.refuse(copy, concat("reads ", memory.str(), " into ", layout.str(),
                                      ", which is not the layout of 16x256b loads"));
  const int64_t columns = memory.extent(Axis::tmemColumn);
  const int64_t halves = halvesOf(memory, groups);
  Value first = quarterOf(copy.getSource(), groups);
  SmallVector<Value> words;
  for (int64_t half = 0; half < halves; ++half)
    for (int64_t column = 0; column < columns;) {
      // An instruction reads eight columns times a power of two, at most 256.
      const auto count = int64_t(bit_floor(uint64_t(columns - column) / 8));
      Value at = b.add(first, b.i32(half * 16 * laneStep + column));
      Type type = b.vectorOf(b.i32Type, unsigned(4 * count));
      Value loaded =
          b.make<NVVM::Tcgen05LdOp>(type, /*pack=*/false, NVVM::Tcgen05LdStShape::SHAPE_16X256B,
                                    b.sharedPointer(at, tensorSpace), /*offset=*/Value());
      for (int64_t i = 0; i < 4 * count; ++i)
        words.push_back(b.extractElement(loaded, unsigned(i)));
      column += 8 * count;
    }
  Tile &tile = kernel.tiles[copy.getResult()];
  for (Value word : waitForLoads(words))
    tile.push_back({b.bitcast(word, b.computeType(buffer.getElementType()))});
}

SmallVector<Value> Tcgen05Lowering::waitForLoads(ArrayRef<Value> words) {
  // Make the registers operands of the wait, so that no instruction reads them before it.
  std::string constraints;
  SmallVector<Type> types(words.size(), b.i32Type);
  for (size_t i = 0; i < words.size(); ++i)
    constraints += i ? ",=r" : "=r";
  for (size_t i = 0; i < words.size(); ++i)
    constraints += concat(",", i);
  Value waited = b.assembly(words.size() == 1 ? b.i32Type : b.structOf(types),
                            "tcgen05.wait::ld.sync.aligned;", constraints + ",~{memory}", words);
  SmallVector<Value> complete;
  for (unsigned i = 0; i < words.size(); ++i)
    complete.push_back(words.size() == 1 ? waited : b.extractValue(waited, i));
  return complete;
}

} // namespace tilewright::nvptx
