#include "tilewright/transform/tile/pipeline/PipelinedKernel.h"

#include "tilewright/dialect/sm/IndexFacts.h"
#include "tilewright/dialect/sm/InstructionLayouts.h"
#include "tilewright/transform/tile/pipeline/Epilogue.h"
#include "tilewright/transform/tile/pipeline/Prologue.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"

#include <utility>

using namespace mlir;

namespace tilewright::pipeline {

using sm::Axis;
using sm::Layout;

/// Rows and columns of an instruction's accumulator, and its depth in bits.
constexpr int64_t atomM = 16, atomN = 8;
static int64_t atomDepth(bool isMfma) { return isMfma ? 512 : 256; }

Pairs pairsOf(const Product &product) {
  return {product.lhs.bits == 8 && product.lhs.transposed,
          product.rhs.bits == 8 && !product.rhs.transposed};
}

/// The digits of one dimension: warps, blocks of an instruction's rows or columns, and the index
/// inside a block. `half` is the register digit that selects one of the two halves of 16. If
/// `isPaired`, it is the minor digit, so that neighbours are in different halves (see Pairs).
static Layout::Digits sideDigits(sm::Digit warps, sm::Digit blocks, sm::Digit half,
                                 llvm::ArrayRef<sm::Digit> inside, bool isPaired) {
  Layout::Digits digits{warps, blocks};
  if (!isPaired)
    digits.push_back(half);
  digits.append(inside.begin(), inside.end());
  if (isPaired)
    digits.push_back(half);
  return digits;
}

Layout warpSumLayout(int64_t m, int64_t n, WarpGrid grid, Pairs pairs) {
  const int64_t blocksM = m / grid.m / atomM, blocksN = n / grid.n / (2 * atomN);
  const Layout::Digits rows =
      sideDigits({grid.m, Axis::warp, grid.n}, {blocksM, Axis::reg, blocksN * 8}, {2, Axis::reg, 2},
                 {{8, Axis::lane, 4}}, pairs.rows);
  const Layout::Digits columns =
      sideDigits({grid.n, Axis::warp, 1}, {blocksN, Axis::reg, 8}, {2, Axis::reg, 4},
                 {{4, Axis::lane, 1}, {2, Axis::reg, 1}}, pairs.columns);
  return Layout(llvm::ArrayRef<Layout::Digits>({rows, columns})).canonical();
}

Layout warpOperandLayout(int64_t own, int64_t bits, bool isLhs, WarpGrid grid, Pairs pairs) {
  const int64_t packed = 32 / bits, along = isLhs ? grid.m : grid.n;
  // Divide both operands into blocks of 16: one fragment of A, two fragments of B.
  const Layout::Digits side =
      sideDigits({along, Axis::warp, isLhs ? grid.n : 1}, {own / along / 16, Axis::reg, 4 * packed},
                 {2, Axis::reg, isLhs ? packed : 2 * packed}, {{8, Axis::lane, 4}},
                 isLhs ? pairs.rows : pairs.columns);
  const Layout::Digits depth = {
      {2, Axis::reg, isLhs ? 2 * packed : packed}, {4, Axis::lane, 1}, {packed, Axis::reg, 1}};
  const sm::Digit copies{isLhs ? grid.n : grid.m, Axis::warp, isLhs ? 1 : grid.n};
  return Layout(llvm::ArrayRef<Layout::Digits>({side, depth}), copies).canonical();
}

Layout mfmaSumLayout(int64_t m, int64_t n, WarpGrid grid) {
  const int64_t blocksM = m / grid.m / 16, blocksN = n / grid.n / 16;
  const Layout::Digits rows{
      {grid.m, Axis::warp, grid.n}, {blocksM, Axis::reg, blocksN * 4}, {16, Axis::lane, 1}};
  const Layout::Digits columns{
      {grid.n, Axis::warp, 1}, {blocksN, Axis::reg, 4}, {4, Axis::lane, 16}, {4, Axis::reg, 1}};
  return Layout(llvm::ArrayRef<Layout::Digits>({rows, columns})).canonical();
}

Layout mfmaOperandLayout(int64_t own, int64_t bits, bool isLhs, WarpGrid grid) {
  const int64_t along = isLhs ? grid.m : grid.n, elements = 128 / bits;
  const Layout::Digits side{{along, Axis::warp, isLhs ? grid.n : 1},
                            {own / along / 16, Axis::reg, elements},
                            {16, Axis::lane, 1}};
  const Layout::Digits depth{{4, Axis::lane, 16}, {elements, Axis::reg, 1}};
  const sm::Digit copies{isLhs ? grid.n : grid.m, Axis::warp, isLhs ? 1 : grid.n};
  return Layout(llvm::ArrayRef<Layout::Digits>({side, depth}), copies).canonical();
}

Layout warpScaleLayout(int64_t own, bool isLhs, WarpGrid grid) {
  const int64_t along = isLhs ? grid.m : grid.n, ofWarp = own / along;
  // Row bits from 16 on: in registers if the warp has both rows or if the tile has only one,
  // otherwise in another warp. Words of rows that are 32 apart are adjacent in memory, and so in
  // registers.
  int64_t word = 1;
  auto rowBit = [&](int64_t row) -> sm::Digit {
    if (row >= ofWarp && row < own)
      return {2, Axis::warp, row / ofWarp * (isLhs ? grid.n : 1)};
    return {2, Axis::reg, 4 * std::exchange(word, 2 * word)};
  };
  const sm::Digit by32 = rowBit(32), by64 = rowBit(64);
  const Layout::Digits bytes{{8, Axis::lane, 4}, by64, by32, {4, Axis::reg, 1}};
  Layout::Digits lines{{4, Axis::lane, 1}};
  llvm::SmallVector<sm::Digit> copies{{isLhs ? grid.n : grid.m, Axis::warp, isLhs ? 1 : grid.n}};
  if (ofWarp == 16 && own > 16) {
    lines = {rowBit(16), {2, Axis::lane, 1}};
    copies.push_back({2, Axis::lane, 2});
  }
  return Layout(llvm::ArrayRef<Layout::Digits>({lines, bytes}), copies).canonical();
}

Layout linesLayout(int64_t own, int64_t k, int64_t bits, bool kInner, bool isMfma) {
  const int64_t inner = kInner ? k : own, outer = kInner ? own : k;
  const int64_t line = std::min<int64_t>(inner, 128 * 8 / bits);
  Layout::Digits lines, rows;
  if (inner > line)
    lines.push_back({inner / line, Axis::offset, outer * line});
  lines.push_back({line, Axis::offset, 1});
  rows.push_back({outer, Axis::offset, line});
  // Swizzle such that rows that are read together are in different banks: address bits of the row
  // number above the 128-byte line flip free bits below it. ldmatrix reads eight consecutive rows;
  // for bytes along M or N, every other pair of rows. Word-by-word reads take eight words (32
  // bytes) from each of four rows.
  const bool isByte = bits == 8 && !kInner, byWords = bits == 32 && !kInner;
  llvm::SmallVector<int64_t> sources{0, 1, 2}, free;
  if (isByte)
    sources = {0, 2, 3};
  if (byWords)
    sources = {0, 1};
  if (isMfma && !kInner)
    sources = bits == 16 ? llvm::SmallVector<int64_t>{1, 3} : llvm::SmallVector<int64_t>{1, 2, 4};
  const int64_t lineBit = llvm::Log2_64(line * bits / 8), element = llvm::Log2_64(bits / 8);
  for (int64_t bit = byWords || (isMfma && !kInner && bits == 16) ? 5 : 4; bit < 7; ++bit)
    if (bit < lineBit || !llvm::is_contained(sources, bit - lineBit))
      free.push_back(bit);
  llvm::SmallVector<sm::Flip> flips;
  for (int64_t source : sources) {
    const int64_t from = lineBit + source;
    if (from < 7 || (int64_t(1) << source) >= outer)
      continue; // inside the line already, or always 0
    flips.push_back({Axis::offset, from - element, Axis::offset, free.front() - element});
    free.erase(free.begin());
  }
  const Layout::Digits &side = kInner ? rows : lines, &depth = kInner ? lines : rows;
  return Layout(llvm::ArrayRef<Layout::Digits>({side, depth}), {}, flips).canonical();
}

namespace {

int64_t powerOfTwo(int64_t size) { return int64_t(llvm::PowerOf2Ceil(uint64_t(size))); }

/// The layout with its two dimensions exchanged.
Layout exchanged(const Layout &layout) {
  llvm::SmallVector<Layout::Digits> dims{layout.getDims()[1], layout.getDims()[0]};
  return Layout(dims, layout.getCopies(), layout.getFlips());
}

Layout sumLayoutOf(const Product &product, const GemmChoice &choice) {
  return choice.isMfma ? mfmaSumLayout(choice.m, choice.n, warpGrid(choice))
                       : warpSumLayout(choice.m, choice.n, warpGrid(choice), pairsOf(product));
}

/// Builds the kernel: fills the pipeline, runs the steady state in a loop, and drains the pipeline.
/// Feasibility was checked before.
class PipelinedKernelBuilder {
public:
  PipelinedKernelBuilder(const Product &product, const GemmChoice &choice)
      : product(product), choice(choice), b(product.kernel), loc(b.getUnknownLoc()),
        grid(warpGrid(choice)), bits(product.lhs.bits), depth(atomDepth(choice.isMfma) / bits),
        ahead(choice.refillsEarly ? std::min(choice.plan.channels[0].depth, product.iterations)
                                  : choice.plan.channels[0].depth - 1) {
    loc = this->product.kernel.getLoc();
  }

  sm::KernelOp build() {
    makeKernel();
    const int64_t iterations = product.iterations;
    for (int64_t step = 0; step < std::max<int64_t>(ahead, 1); ++step)
      fill(constant(step));
    State state = first();
    if (ahead > 0) {
      auto loop = scf::ForOp::create(b, loc, constant(0), constant(iterations - ahead), constant(1),
                                     state.values());
      {
        OpBuilder::InsertionGuard guard(b);
        b.setInsertionPointToStart(loop.getBody());
        Value later = affine::AffineApplyOp::create(
            b, loc, AffineMap::get(1, 0, b.getAffineDimExpr(0) + ahead),
            ValueRange(loop.getInductionVar()));
        State next = iterate(State(loop.getRegionIterArgs(), carriesFragments()), later, true);
        scf::YieldOp::create(b, loc, next.values());
      }
      state = State(loop.getResults(), carriesFragments());
    }
    const int64_t rest = std::max<int64_t>(ahead, 1);
    for (int64_t step = 0; step < rest; ++step)
      state = iterate(state, Value(), step + 1 < rest);
    Layout layout = layoutInDot(product, sumLayout());
    Value sum = state.sum;
    if (AffineMap transpose = matrixOfDot(product); !transpose.isIdentity())
      sum = tile::ViewOp::create(b, loc, sm::withLayout(product.dot.getType(), layout), sum,
                                 transpose);
    Epilogue epilogue(product, layout);
    epilogue.build(b, sum, scalars);
    tile::YieldOp::create(b, loc);
    product.kernel->erase();
    return kernel;
  }

private:
  /// The scale fragments that one step uses. Products without scales have none.
  struct Fragments {
    Value lhs, rhs, lhsScale, rhsScale;
  };

  /// Loop-carried values: the accumulator, the fragments of the first step, and the slot's buffers.
  struct State {
    Value sum;
    Fragments first;
    SmallVector<Value> buffers;
    State() = default;
    State(ValueRange all, bool hasFragments) : sum(all[0]) {
      if (!hasFragments) {
        llvm::append_range(buffers, all.drop_front(1));
        return;
      }
      first = {all[1], all[2], {}, {}};
      const bool isScaled = all.size() > 5;
      if (isScaled) {
        first.lhsScale = all[3];
        first.rhsScale = all[4];
      }
      llvm::append_range(buffers, all.drop_front(isScaled ? 5 : 3));
    }
    SmallVector<Value> values() const {
      SmallVector<Value> all{sum};
      if (first.lhs)
        all.append({first.lhs, first.rhs});
      if (first.lhsScale)
        all.append({first.lhsScale, first.rhsScale});
      llvm::append_range(all, buffers);
      return all;
    }
  };

  Product product; // a copy, because methods of ops are not const
  const GemmChoice &choice;
  OpBuilder b;
  Location loc;
  const WarpGrid grid;
  const int64_t bits, depth, ahead;
  sm::KernelOp kernel;
  sm::ChannelOp channel;
  /// Maps the arguments and scalars of the old kernel to those of the new one.
  IRMapping scalars;
  llvm::DenseMap<int64_t, Value> constants;

  Layout sumLayout() const { return sumLayoutOf(product, choice); }
  /// A constant at the start of the kernel, created once for each value.
  Value constant(int64_t value) {
    Value &known = constants[value];
    if (!known) {
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(&kernel.getBlock());
      known = arith::ConstantIndexOp::create(b, loc, value);
    }
    return known;
  }
  const Operand &operand(bool isLhs) const { return isLhs ? product.lhs : product.rhs; }
  bool kInner(bool isLhs) const { return isLhs != operand(isLhs).transposed; }
  Type element(bool isLhs) {
    tile::LoadOp load = operand(isLhs).load;
    return cast<RankedTensorType>(load.getType()).getElementType();
  }
  Type sumType() {
    Type of = cast<RankedTensorType>(product.dot.getType()).getElementType();
    return sm::withLayout(RankedTensorType::get({product.m, product.n}, of), sumLayout());
  }

  sm::BufferType bufferType(bool isLhs) {
    Layout layout =
        linesLayout(isLhs ? choice.m : choice.n, choice.k, bits, kInner(isLhs), choice.isMfma);
    SmallVector<int64_t> shape{isLhs ? product.m : product.n, choice.k};
    if (!isLhs) {
      layout = exchanged(layout);
      std::swap(shape[0], shape[1]);
    }
    return sm::BufferType::get(b.getContext(), shape, element(isLhs), sm::Space::shared,
                               sm::LayoutAttr::get(b.getContext(), layout));
  }

  void makeKernel() {
    tile::KernelOp old = product.kernel;
    kernel = sm::KernelOp::create(
        b, loc, old.getSymNameAttr(), old.getGridAttr(), old.getNumInputsAttr(),
        b.getI64IntegerAttr(choice.plan.threads / (choice.isMfma ? 64 : 32)), DenseI64ArrayAttr(),
        StringAttr(), choice.raster > 1 ? b.getI64IntegerAttr(choice.raster) : IntegerAttr(),
        old.getUpdatesAttr());
    beginBody(b, old, kernel, scalars);
    SmallVector<sm::BufferType> buffers{bufferType(true), bufferType(false)};
    if (product.isScaled())
      buffers.append({scaleBuffer(product.lhsScale), scaleBuffer(product.rhsScale)});
    channel = sm::ChannelOp::create(b, loc, sm::ChannelType::get(b.getContext(), buffers),
                                    choice.plan.channels[0].depth);
  }

  /// Starts the copies for an iteration.
  void fill(Value step) {
    IRMapping inside = scalars;
    enterIteration(b, product, step, inside);
    auto slot = sm::AcquireOp::create(b, loc, channel);
    for (bool isLhs : {true, false})
      copyOperand(b, sm::Engine::cp_async, operand(isLhs), slot.getResult(isLhs ? 0 : 1), inside);
    if (product.isScaled())
      for (auto [scale, buffer] : {std::pair(product.lhsScale, 2), {product.rhsScale, 3}})
        copyOperand(b, sm::Engine::cp_async, scale, slot.getResult(buffer), inside);
    sm::PublishOp::create(b, loc, channel);
  }

  /// Loads the fragment of an operand for one step of an iteration.
  Value fragment(Value buffer, bool isLhs, int64_t step) {
    const int64_t own = isLhs ? choice.m : choice.n;
    Layout layout = choice.isMfma ? mfmaOperandLayout(own, bits, isLhs, grid)
                                  : warpOperandLayout(own, bits, isLhs, grid, pairsOf(product));
    SmallVector<int64_t> shape{isLhs ? product.m : product.n, depth};
    SmallVector<Value> offsets{constant(0), constant(step * depth)};
    if (!isLhs) {
      layout = exchanged(layout);
      std::swap(shape[0], shape[1]);
      std::swap(offsets[0], offsets[1]);
    }
    Type type = sm::withLayout(RankedTensorType::get(shape, element(isLhs)), layout);
    // ldmatrix transposes 16-bit units: one element, or two adjacent bytes.
    auto engine =
        choice.isMfma || (bits == 32 && !kInner(isLhs)) ? sm::Engine::ld : sm::Engine::ldmatrix;
    tile::LoadOp load = operand(isLhs).load;
    return sm::CopyOp::create(b, load.getLoc(), type, engine, buffer, offsets, Value(),
                              ValueRange(), false, DenseI64ArrayAttr())
        .getResult();
  }

  /// Loads a group of an operand's scales, for 4 blocks and all rows.
  Value scales(Value buffer, bool isLhs, int64_t group) {
    Type type = sm::withLayout(RankedTensorType::get({4, 128}, b.getI8Type()),
                               warpScaleLayout(isLhs ? choice.m : choice.n, isLhs, grid));
    SmallVector<Value> offsets{constant(4 * group), constant(0)};
    return sm::CopyOp::create(b, loc, type, sm::Engine::ld, buffer, offsets, Value(), ValueRange(),
                              false, DenseI64ArrayAttr())
        .getResult();
  }

  /// The blocks of a row that a step multiplies. A 128-byte line in memory contains four scales of
  /// a row, so an iteration has as many blocks as its scales have lines.
  int64_t blocksOfStep() const {
    return product.isScaled() ? product.lhsScale.outerSizes.back() * depth / choice.k : 0;
  }

  /// Loads the fragments of a step, after those of `previous`, with which it may share scales.
  Fragments load(ArrayRef<Value> buffers, int64_t step, Fragments previous) {
    Fragments loaded = previous;
    loaded.lhs = fragment(buffers[0], true, step);
    loaded.rhs = fragment(buffers[1], false, step);
    if (const int64_t block = step * blocksOfStep(); product.isScaled() && block % 4 == 0) {
      loaded.lhsScale = scales(buffers[2], true, block / 4);
      loaded.rhsScale = scales(buffers[3], false, block / 4);
    }
    return loaded;
  }

  /// Waits for the oldest slot and loads its first fragments.
  void takeInto(State &state) {
    auto slot = sm::TakeOp::create(b, loc, channel);
    state.buffers = llvm::to_vector_of<Value>(slot.getResults());
    if (carriesFragments())
      state.first = load(state.buffers, 0, {});
  }

  /// Whether the first fragments of a slot are loaded in the iteration before. Registers that hold
  /// a slot leave no room for that.
  bool carriesFragments() const { return !choice.isMfma || choice.refillsEarly; }

  State first() {
    State state;
    tile::MapOp zero = cast<tile::MapOp>(product.loop.getInitArgs()[0].getDefiningOp());
    Operation *made = b.clone(*zero.getOperation());
    made->getResult(0).setType(sumType());
    state.sum = made->getResult(0);
    takeInto(state);
    return state;
  }

  /// Builds one iteration. While a step multiplies, the fragments of the next step are loaded; the
  /// last step loads those of the next iteration. `later` is the iteration whose copies are
  /// started.
  State iterate(const State &state, Value later, bool hasNext) {
    if (!carriesFragments())
      return iterateAlone(state, later, hasNext);
    if (later && !choice.refillsEarly)
      fill(later);
    const int64_t steps = choice.k / depth;
    State next = state;
    Fragments now = state.first;
    Type type = sumType();
    for (int64_t step = 0; step < steps; ++step) {
      Fragments ahead;
      if (step + 1 < steps) {
        ahead = load(state.buffers, step + 1, now);
      } else {
        // The whole slot is in registers now.
        sm::FreeOp::create(b, loc, channel);
        if (later && choice.refillsEarly)
          fill(later);
        if (hasNext)
          takeInto(next);
      }
      auto mma = sm::MmaOp::create(b, product.dot.getLoc(), type, sm::Atom::mma_sync, now.lhs,
                                   now.rhs, next.sum, Value(), Value());
      if (product.isScaled()) {
        multiplyWithScales(mma, product.dot, now.lhsScale, now.rhsScale);
        mma.setFirstBlock(static_cast<uint64_t>(step * blocksOfStep() % 4));
      }
      next.sum = mma.getResult();
      now = ahead;
    }
    return next;
  }

  /// Builds one iteration whose fragments are loaded in it. The loads of the slot `later` begin
  /// with the last step, when fragments of the steps before have left their registers.
  State iterateAlone(const State &state, Value later, bool hasNext) {
    const int64_t steps = choice.k / depth;
    State next = state;
    for (int64_t step = 0; step < steps; ++step) {
      if (later && step + 1 == steps)
        fill(later);
      const Fragments now = load(state.buffers, step, {});
      next.sum = sm::MmaOp::create(b, product.dot.getLoc(), sumType(), sm::Atom::mma_sync, now.lhs,
                                   now.rhs, next.sum, Value(), Value())
                     .getResult();
    }
    sm::FreeOp::create(b, loc, channel);
    if (hasNext)
      takeInto(next);
    return next;
  }
};

/// The size in bytes of one cp.async: the largest that divides the row size and the offsets.
int64_t pieceBytes(const Operand &operand) {
  tile::LoadOp load = operand.load;
  auto memory = cast<MemRefType>(load.getSource().getType());
  const int64_t bytes = operand.bits / 8;
  int64_t piece = 16;
  while (piece > 1 && (memory.getShape().back() * bytes % piece != 0 ||
                       sm::divisorOf(load.getOffsets().back()) * bytes % piece != 0))
    piece /= 2;
  return piece;
}

} // namespace

/// Why a product cannot go through LDS to MFMA; nullopt if it can.
static std::optional<std::string> whyNoMfma(const Product &product, const Machine &machine) {
  if (product.isScaled())
    return "its scales are multiplied from registers";
  for (auto [operand, side, isTransposed] : {std::tuple(product.lhs, "lhs", product.lhs.transposed),
                                             {product.rhs, "rhs", !product.rhs.transposed}}) {
    tile::LoadOp load = operand.load;
    if (isTransposed && (!machine.copiesToShared || operand.bits > 16))
      return llvm::formatv("its {0} is not contiguous along K, and {1} cannot transpose {2} bits "
                           "from LDS",
                           side, machine.chip, operand.bits)
          .str();
    // Offsets inside a tile have 31 bits.
    auto memory = cast<MemRefType>(load.getSource().getType());
    int64_t span = operand.bits / 8;
    for (int64_t dim = memory.getRank() - 1; dim >= 0; --dim)
      span *= memory.getDimSize(dim);
    if (span >= int64_t(1) << 31)
      return llvm::formatv("its {0} has {1} bytes, but the offsets of loads to LDS have 31 bits",
                           side, span)
          .str();
  }
  return std::nullopt;
}

std::optional<GemmChoice> choosePipelined(const Product &product, const Gemm &gemm,
                                          const Machine &machine, std::string &reason) {
  const int64_t bits = product.lhs.bits, depth = atomDepth(hasMfma(machine)) / bits;
  if (product.lhs.hasPrologue) {
    reason = llvm::formatv("its {0} has a prologue", product.isSwapped ? "rhs" : "lhs").str();
    return std::nullopt;
  }
  for (auto [operand, side] : {std::pair(product.lhs, "lhs"), {product.rhs, "rhs"}}) {
    if (int64_t piece = pieceBytes(operand); piece < 4) {
      reason = llvm::formatv("its {0} comes in pieces of {1} contiguous and aligned bytes, but a "
                             "copy takes 4, 8 or 16",
                             side, piece)
                   .str();
      return std::nullopt;
    }
  }
  if (hasMfma(machine))
    if (std::optional<std::string> why = whyNoMfma(product, machine)) {
      reason = *why;
      return std::nullopt;
    }
  GemmChoice choice;
  choice.m = std::max<int64_t>(atomM, powerOfTwo(product.m));
  choice.n = std::max<int64_t>(2 * atomN, powerOfTwo(product.n));
  choice.k = std::max<int64_t>(depth, powerOfTwo(product.k));
  // The padding of k up to a power of two is multiplied too, so it must be zero. It is zero if it
  // is out of bounds, that is, if the tile covers all of k.
  if (choice.k != product.k && (product.iterations > 1 || gemm.k > product.k)) {
    reason =
        llvm::formatv("its tile has depth {0}, but instructions require a power of two from {1} on",
                      product.k, depth)
            .str();
    return std::nullopt;
  }
  std::optional<GemmChoice> cost = costOfTile(gemm, machine, choice, reason);
  if (!cost)
    return std::nullopt;
  if (product.iterations > 1 && cost->plan.channels[0].depth < 2) {
    reason = "shared memory has room for one slot, but warps that both fill and drain a channel "
             "need two";
    return std::nullopt;
  }
  if (std::optional<std::string> problem =
          Epilogue(product, layoutInDot(product, sumLayoutOf(product, *cost))).problem()) {
    reason = *problem;
    return std::nullopt;
  }
  return cost;
}

sm::KernelOp makePipelinedKernel(const Product &product, const GemmChoice &choice) {
  return PipelinedKernelBuilder(product, choice).build();
}

} // namespace tilewright::pipeline
