#include "tilewright/transform/tile/pipeline/RoleKernel.h"

#include "tilewright/dialect/sm/InstructionLayouts.h"
#include "tilewright/transform/tile/pipeline/Epilogue.h"
#include "tilewright/transform/tile/pipeline/Prologue.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace tilewright::pipeline {

using sm::Axis;
using sm::Layout;

/// The number of rows of a warpgroup's matrix instruction.
constexpr int64_t groupRows = 64;

Layout accumulatorLayout(int64_t m, int64_t n, int64_t clusterM, int64_t clusterN, int64_t groups,
                         bool pairsRows) {
  int64_t perGroup = m / clusterM / groups, perCta = n / clusterN;
  Layout::Digits rows, columns;
  if (clusterM > 1)
    rows.push_back({clusterM, Axis::cta, 1});
  if (groups > 1)
    rows.push_back({groups, Axis::group, 1});
  if (perGroup > groupRows)
    rows.push_back({perGroup / groupRows, Axis::reg, perCta / 2});
  rows.push_back({4, Axis::warp, 1});
  const sm::Digit half{2, Axis::reg, 2}, lanes{8, Axis::lane, 4};
  if (pairsRows)
    rows.append({lanes, half});
  else
    rows.append({half, lanes});
  if (clusterN > 1)
    columns.push_back({clusterN, Axis::cta, 1});
  if (perCta > 8)
    columns.push_back({perCta / 8, Axis::reg, 4});
  columns.push_back({4, Axis::lane, 1});
  columns.push_back({2, Axis::reg, 1});
  return Layout(llvm::ArrayRef<Layout::Digits>({rows, columns}));
}

Layout operandLayout(int64_t rows, int64_t k, int64_t bits, bool kInner, int64_t clusterOwn,
                     int64_t clusterOther) {
  int64_t perCta = rows / clusterOwn;
  int64_t lineBytes = 128;
  while (lineBytes > 16 && (kInner ? k : perCta) * bits / 8 % lineBytes != 0)
    lineBytes /= 2;
  const int64_t line = lineBytes * 8 / bits;
  Layout::Digits own, depth;
  if (clusterOwn > 1)
    own.push_back({clusterOwn, Axis::cta, 1});
  // The swizzle repeats every eight rows. The row within these eight is a separate digit, because
  // its bits flip other bits.
  if (kInner) {
    if (perCta > 8)
      own.push_back({perCta / 8, Axis::offset, 8 * line});
    own.push_back({8, Axis::offset, line});
    if (k > line)
      depth.push_back({k / line, Axis::offset, line * perCta});
    depth.push_back({line, Axis::offset, 1});
  } else {
    if (perCta > line)
      own.push_back({perCta / line, Axis::offset, line * k});
    own.push_back({line, Axis::offset, 1});
    if (k > 8)
      depth.push_back({k / 8, Axis::offset, 8 * line});
    depth.push_back({8, Axis::offset, line});
  }
  llvm::SmallVector<sm::Digit> copies;
  if (clusterOther > 1)
    copies.push_back({clusterOther, Axis::cta, 1});
  // The address bits above 128 bytes flip the bits that select the 16-byte chunk within the line.
  llvm::SmallVector<sm::Flip> flips;
  int64_t row = llvm::Log2_64(128 * 8 / bits), chunk = llvm::Log2_64(16 * 8 / bits);
  for (int64_t bit = 0; bit < llvm::Log2_64(lineBytes / 16); ++bit)
    flips.push_back({Axis::offset, row + bit, Axis::offset, chunk + bit});
  return Layout(llvm::ArrayRef<Layout::Digits>({own, depth}), copies, flips);
}

Layout stagedLayout(int64_t m, int64_t n, int64_t bits, int64_t clusterM, int64_t clusterN) {
  // The layout is that of an operand with contiguous columns whose K dimension is the result's
  // rows.
  Layout layout = operandLayout(n, m / clusterM, bits, /*kInner=*/false, clusterN, 1);
  Layout::Digits rows = layout.getDims()[1];
  if (clusterM > 1)
    rows.insert(rows.begin(), {clusterM, Axis::cta, 1});
  return Layout(llvm::ArrayRef<Layout::Digits>({rows, layout.getDims()[0]}), {}, layout.getFlips());
}

namespace {

/// Whether the accumulator is in tensor memory. The multiplying role then needs no registers for
/// it.
bool isInTensorMemory(const GemmChoice &choice) { return choice.plan.tensorColumns > 0; }

/// Whether a role of its own computes the left operand, and writes it to tensor memory.
bool isLhsInTensorMemory(const GemmChoice &choice) {
  return isInTensorMemory(choice) && choice.plan.roles.size() > tensorCompute;
}

/// The layout of the accumulator in tensor memory; see accumulatorLayout() for `pairsRows`.
Layout tensorLayout(const GemmChoice &choice, bool pairsRows) {
  const Layout layout =
      *sm::instruction::tensorAccumulator(choice.m * choice.clusterM, choice.n, choice.clusterM);
  return pairsRows ? sm::instruction::withPairedRows(layout) : layout;
}

/// The layout of the accumulator in the registers where the epilogue starts.
Layout sumLayout(const GemmChoice &choice, bool pairsRows) {
  if (isInTensorMemory(choice))
    return sm::instruction::tensorRegisters(tensorLayout(choice, pairsRows),
                                            choice.plan.roles[tensorEpilogue].groups);
  return accumulatorLayout(choice.m * choice.clusterM, choice.n * choice.clusterN, choice.clusterM,
                           choice.clusterN, choice.plan.roles[1].groups, pairsRows);
}

bool pairsRows(const Product &product) {
  return product.lhs.hasPrologue && routeOf(product).pairsRows;
}

Layout sumLayout(const Product &product, const GemmChoice &choice) {
  return sumLayout(choice, pairsRows(product));
}

/// Builds the kernel. Feasibility was checked before.
class RoleKernelBuilder {
public:
  RoleKernelBuilder(const Product &product, const GemmChoice &choice)
      : product(product), choice(choice), b(product.kernel), loc(b.getUnknownLoc()) {
    loc = this->product.kernel.getLoc();
  }

  sm::KernelOp build() {
    makeKernel();
    b.setInsertionPointToEnd(&kernel.getBlock());
    auto yield = tile::YieldOp::create(b, loc);
    b.setInsertionPoint(yield);
    if (isInTensorMemory(choice)) {
      // A warp accesses the lanes of tensor memory that its number selects, so the warpgroups that
      // do so come first.
      auto epilogue = makeRole("epilogue", choice.plan.roles[tensorEpilogue]);
      sm::RoleOp compute;
      if (isLhsInTensorMemory(choice))
        compute = makeRole("compute", choice.plan.roles[tensorCompute]);
      auto load = makeRole("load", choice.plan.roles[tensorLoad]);
      auto mma = makeRole("mma", choice.plan.roles[tensorMma]);
      if (compute)
        makeRole("idle", choice.plan.roles[tensorIdle]);
      fillTensorEpilogue(epilogue);
      if (compute)
        fillCompute(compute, /*isLhs=*/true);
      fillLoad(load);
      fillTensorMma(mma);
    } else {
      auto load = makeRole("load", choice.plan.roles[0]);
      auto math = makeRole("math", choice.plan.roles[1]);
      sm::RoleOp compute;
      if (product.rhs.hasPrologue)
        compute = makeRole("compute", choice.plan.roles[2]);
      fillLoad(load);
      fillMath(math);
      if (compute)
        fillCompute(compute, /*isLhs=*/false);
    }
    product.kernel->erase();
    return kernel;
  }

private:
  Product product; // a copy, because methods of ops are not const
  const GemmChoice &choice;
  OpBuilder b;
  Location loc;
  sm::KernelOp kernel;
  sm::ChannelOp channel;            // the operands, except one that a role computes
  sm::ChannelOp rawChannel;         // only if a role computes an operand: as it is in memory
  sm::ChannelOp computedChannel;    // that operand: the left one in tensor memory, or the right one
  sm::ChannelOp resultChannel;      // only if the result is staged
  sm::ChannelOp accumulatorChannel; // only if the accumulator is in tensor memory
  /// Maps the arguments and scalars of the old kernel to those of the new one.
  IRMapping scalars;

  /// The type of a slot for an operand as it is in memory or, if `isComputed`, as a role writes it.
  sm::BufferType bufferType(const Operand &operand, bool isLhs, bool isComputed = false) {
    tile::LoadOp load = operand.load;
    Value tile = isComputed ? operand.tile : load.getResult();
    Type element = cast<RankedTensorType>(tile.getType()).getElementType();
    SmallVector<int64_t> shape{product.m, product.k};
    if (!isLhs)
      shape = {product.k, product.n};
    bool kInner = isLhs != operand.transposed;
    int64_t own = isLhs ? choice.m * choice.clusterM : choice.n * choice.clusterN;
    int64_t depth = choice.k;
    // A slot has the bytes of a packed operand; threads unpack them.
    const int64_t packing = isComputed ? 1 : operand.packing;
    shape[isLhs == kInner ? 1 : 0] /= packing;
    (kInner ? depth : own) /= packing;
    int64_t ctas = isLhs ? choice.clusterM : choice.clusterN;
    int64_t copies = isLhs ? choice.clusterN : choice.clusterM;
    // Each CTA computes for itself.
    if (isComputed)
      copies = 1;
    // A pair reads each operand from both CTAs: half of the rows, and half of the columns.
    if (isInTensorMemory(choice) && choice.clusterM == 2) {
      ctas = 2;
      copies = 1;
    }
    const int64_t bits = isComputed ? element.getIntOrFloatBitWidth() : operand.bits;
    Layout layout = operandLayout(own, depth, bits, kInner, ctas, copies);
    if (!isLhs) {
      SmallVector<Layout::Digits> dims{layout.getDims()[1], layout.getDims()[0]};
      layout = Layout(dims, layout.getCopies(), layout.getFlips());
    }
    return sm::BufferType::get(b.getContext(), shape, element, sm::Space::shared,
                               sm::LayoutAttr::get(b.getContext(), layout));
  }

  void makeKernel() {
    tile::KernelOp old = product.kernel;
    int64_t warps = choice.plan.threads / 32;
    DenseI64ArrayAttr cluster;
    if (choice.clusterM * choice.clusterN > 1)
      cluster = b.getDenseI64ArrayAttr({choice.clusterM * choice.clusterN, 1, 1});
    // Chips with tensor memory have cluster launch control.
    StringAttr persistent;
    if (choice.persistent)
      persistent = b.getStringAttr(isInTensorMemory(choice) ? "stealing" : "static");
    kernel = sm::KernelOp::create(
        b, loc, old.getSymNameAttr(), old.getGridAttr(), old.getNumInputsAttr(),
        b.getI64IntegerAttr(warps), cluster, persistent,
        choice.raster > 1 ? b.getI64IntegerAttr(choice.raster) : IntegerAttr(),
        old.getUpdatesAttr());
    beginBody(b, old, kernel, scalars);
    auto channelOf = [&](ArrayRef<sm::BufferType> buffers, int64_t depth) {
      return sm::ChannelOp::create(b, loc, sm::ChannelType::get(b.getContext(), buffers), depth);
    };
    auto inTensorMemory = [&](int64_t columns, Value of, const Layout &layout) {
      return sm::BufferType::get(b.getContext(), {product.m, columns},
                                 cast<RankedTensorType>(of.getType()).getElementType(),
                                 sm::Space::tensor, sm::LayoutAttr::get(b.getContext(), layout));
    };
    if (isLhsInTensorMemory(choice)) {
      rawChannel =
          channelOf({bufferType(product.lhs, true)}, choice.plan.channels[tensorOperands].depth);
      channel = channelOf({bufferType(product.rhs, false)}, choice.plan.channels[tensorRhs].depth);
      computedChannel = channelOf(
          {inTensorMemory(product.k, product.lhs.tile, *tensorLhsLayout(product, choice))},
          choice.plan.channels[tensorLhs].depth);
    } else if (product.rhs.hasPrologue) {
      channel = channelOf({bufferType(product.lhs, true)}, choice.plan.channels[rawLhs].depth);
      rawChannel = channelOf({bufferType(product.rhs, false)}, choice.plan.channels[rawRhs].depth);
      computedChannel = channelOf({bufferType(product.rhs, false, /*isComputed=*/true)},
                                  choice.plan.channels[computedRhs].depth);
    } else {
      SmallVector<sm::BufferType> buffers{bufferType(product.lhs, true),
                                          bufferType(product.rhs, false)};
      if (product.isScaled())
        buffers.append({scaleBuffer(product.lhsScale), scaleBuffer(product.rhsScale)});
      channel = channelOf(buffers, choice.plan.channels[0].depth);
    }
    // The next point is multiplied during the epilogue of this one, if there is a next one.
    if (isInTensorMemory(choice))
      accumulatorChannel = channelOf(
          {inTensorMemory(product.n, product.dot, tensorLayout(choice, pairsRows(product)))},
          choice.persistent ? choice.accumulators : 1);
    if (!choice.staged)
      return;
    std::string reason;
    tile::StoreOp store = findStoreToStage(product, reason);
    Type element = cast<RankedTensorType>(store.getTile().getType()).getElementType();
    Layout layout = stagedLayout(product.m, product.n, element.getIntOrFloatBitWidth(),
                                 choice.clusterM, choice.clusterN);
    auto buffer =
        sm::BufferType::get(b.getContext(), {product.m, product.n}, element, sm::Space::shared,
                            sm::LayoutAttr::get(b.getContext(), layout));
    resultChannel =
        sm::ChannelOp::create(b, loc, sm::ChannelType::get(b.getContext(), {buffer}), 1);
  }

  sm::RoleOp makeRole(StringRef name, const RolePlan &plan) {
    auto role = sm::RoleOp::create(b, loc, name, plan.warps, plan.registers);
    OpBuilder::InsertionGuard guard(b);
    b.createBlock(&role.getBody());
    tile::YieldOp::create(b, loc);
    return role;
  }

  Value constant(int64_t value) { return arith::ConstantIndexOp::create(b, loc, value); }

  void fillLoad(sm::RoleOp role) {
    b.setInsertionPointToStart(&role.getBody().front());
    auto loop = scf::ForOp::create(b, loc, constant(0), constant(product.iterations), constant(1));
    b.setInsertionPointToStart(loop.getBody());
    IRMapping inside = scalars;
    enterIteration(b, product, loop.getInductionVar(), inside);
    if (rawChannel) {
      const bool isRaw = isLhsInTensorMemory(choice); // the left operand, or the right one
      for (auto [operand, to] : {std::pair(product.lhs, isRaw ? rawChannel : channel),
                                 {product.rhs, isRaw ? channel : rawChannel}}) {
        auto slot = sm::AcquireOp::create(b, loc, to);
        copyOperand(b, sm::Engine::tma, operand, slot.getResult(0), inside);
        sm::PublishOp::create(b, loc, to);
      }
      return;
    }
    auto slot = sm::AcquireOp::create(b, loc, channel);
    for (auto [operand, buffer] : {std::pair(product.lhs, 0), {product.rhs, 1}})
      copyOperand(b, sm::Engine::tma, operand, slot.getResult(buffer), inside,
                  product.dot.getTf32());
    if (product.isScaled())
      for (auto [scale, buffer] : {std::pair(product.lhsScale, 2), {product.rhsScale, 3}})
        copyOperand(b, sm::Engine::tma, scale, slot.getResult(buffer), inside);
    sm::PublishOp::create(b, loc, channel);
  }

  /// The type of the accumulator in registers.
  Type sumTile() {
    auto sumType = cast<RankedTensorType>(product.dot.getType());
    return sm::withLayout(RankedTensorType::get({product.m, product.n}, sumType.getElementType()),
                          sumLayout(product, choice));
  }

  /// Builds the epilogue from the accumulator in registers.
  void buildEpilogue(Value sum) {
    Layout layout = layoutInDot(product, sumLayout(product, choice));
    if (AffineMap transpose = matrixOfDot(product); !transpose.isIdentity())
      sum = tile::ViewOp::create(b, product.dot.getLoc(),
                                 sm::withLayout(product.dot.getType(), layout), sum, transpose);
    Epilogue epilogue(product, layout);
    epilogue.build(b, sum, scalars, resultChannel ? resultChannel.getResult() : Value());
  }

  /// Multiplies in tensor memory. The matrix unit frees the slots that it has read, and publishes
  /// the accumulator.
  void fillTensorMma(sm::RoleOp role) {
    b.setInsertionPointToStart(&role.getBody().front());
    auto sum = sm::AcquireOp::create(b, loc, accumulatorChannel);
    auto multiply = [&](Value isFirst) {
      sm::TakeOp lhs;
      if (computedChannel)
        lhs = sm::TakeOp::create(b, loc, computedChannel);
      auto slot = sm::TakeOp::create(b, loc, channel);
      auto mma = sm::MmaOp::create(b, product.dot.getLoc(), Type(), sm::Atom::tcgen05,
                                   (lhs ? lhs : slot).getResult(0), slot.getResult(lhs ? 0 : 1),
                                   Value(), sum.getResult(0), isFirst);
      if (product.isScaled())
        multiplyWithScales(mma, product.dot, slot.getResult(2), slot.getResult(3));
      if (lhs)
        sm::FreeOp::create(b, loc, computedChannel);
      sm::FreeOp::create(b, loc, channel);
    };
    // The first iteration overwrites the accumulator. It is peeled, because testing for it in every
    // iteration would take issue cycles of the one thread that multiplies.
    multiply(arith::ConstantOp::create(b, loc, b.getBoolAttr(true)));
    if (product.iterations > 1) {
      OpBuilder::InsertionGuard guard(b);
      auto loop =
          scf::ForOp::create(b, loc, constant(1), constant(product.iterations), constant(1));
      b.setInsertionPointToStart(loop.getBody());
      multiply(Value());
    }
    sm::PublishOp::create(b, loc, accumulatorChannel);
  }

  /// Computes the left operand in registers and writes it to tensor memory, or the right one and
  /// writes it to shared memory.
  void fillCompute(sm::RoleOp role, bool isLhs) {
    b.setInsertionPointToStart(&role.getBody().front());
    Prologue prologue(product, choice, isLhs);
    prologue.buildBefore(b, scalars);
    auto loadOf = [&](Value number) {
      IRMapping at = scalars;
      enterIteration(b, product, number, at);
      return prologue.buildLoads(b, at);
    };
    // Loads that bypass the slot are issued one iteration ahead. The last iteration has no next
    // one, so it repeats its own.
    SmallVector<Value> first = loadOf(constant(0));
    auto loop =
        scf::ForOp::create(b, loc, constant(0), constant(product.iterations), constant(1), first);
    b.setInsertionPointToStart(loop.getBody());
    SmallVector<Value> next;
    if (!first.empty())
      next = loadOf(arith::MinSIOp::create(
          b, loc, arith::AddIOp::create(b, loc, loop.getInductionVar(), constant(1)).getResult(),
          constant(product.iterations - 1)));
    IRMapping inside = scalars;
    enterIteration(b, product, loop.getInductionVar(), inside);
    auto slot = sm::TakeOp::create(b, loc, rawChannel);
    Value raw = prologue.read(b, slot.getResult(0));
    sm::FreeOp::create(b, loc, rawChannel);
    Value computed = prologue.build(b, raw, loop.getRegionIterArgs(), inside);
    auto to = sm::AcquireOp::create(b, loc, computedChannel);
    sm::CopyOp::create(b, product.dot.getLoc(), Type(), isLhs ? sm::Engine::tmem : sm::Engine::st,
                       computed, ValueRange(), to.getResult(0), ValueRange(), false,
                       DenseI64ArrayAttr());
    sm::PublishOp::create(b, loc, computedChannel);
    if (!first.empty())
      scf::YieldOp::create(b, loc, next);
  }

  void fillTensorEpilogue(sm::RoleOp role) {
    b.setInsertionPointToStart(&role.getBody().front());
    auto full = sm::TakeOp::create(b, loc, accumulatorChannel);
    Value sum =
        sm::CopyOp::create(b, product.dot.getLoc(), sumTile(), sm::Engine::tmem, full.getResult(0),
                           ValueRange(), Value(), ValueRange(), false, DenseI64ArrayAttr())
            .getResult();
    // The registers hold the accumulator, so the next product may overwrite it.
    sm::FreeOp::create(b, loc, accumulatorChannel);
    buildEpilogue(sum);
  }

  void fillMath(sm::RoleOp role) {
    b.setInsertionPointToStart(&role.getBody().front());
    Type type = sumTile();
    Location dotLoc = product.dot.getLoc();
    // The channels of operands, and whether each holds the slot of the previous iteration, too.
    SmallVector<std::pair<sm::ChannelOp, bool>> drained{
        {channel, choice.plan.channels[0].lag != 0}};
    if (computedChannel)
      drained.push_back({computedChannel, choice.plan.channels[computedRhs].lag != 0});
    auto freeSlots = [&](llvm::function_ref<bool(bool)> isIncluded) {
      for (auto [from, lags] : drained)
        if (isIncluded(lags))
          sm::FreeOp::create(b, loc, from);
    };
    std::optional<Prologue> prologue;
    if (product.lhs.hasPrologue) {
      prologue.emplace(product, choice);
      prologue->buildBefore(b, scalars);
    }
    IRMapping inside;
    auto enter = [&](Value number) {
      inside = scalars;
      if (prologue)
        enterIteration(b, product, number, inside);
    };
    auto multiply = [&](ValueRange loaded, Value acc) -> Value {
      auto slot = sm::TakeOp::create(b, loc, channel);
      Value left = slot.getResult(0), right;
      if (computedChannel)
        right = sm::TakeOp::create(b, loc, computedChannel).getResult(0);
      else
        right = slot.getResult(1);
      if (prologue)
        left = prologue->build(b, prologue->read(b, left), loaded, inside);
      return sm::MmaOp::create(b, dotLoc, type, sm::Atom::wgmma, left, right, acc, Value(), Value())
          .getResult();
    };
    enter(constant(0));
    SmallVector<Value> loaded;
    if (prologue)
      loaded = prologue->buildLoads(b, inside);
    // Loads that bypass the slot are issued one iteration ahead.
    SmallVector<Value> next = loaded;
    auto loadNext = [&](Value number) {
      if (loaded.empty())
        return;
      IRMapping ahead = scalars;
      enterIteration(b, product, number, ahead);
      next = prologue->buildLoads(b, ahead);
    };
    if (product.iterations > 1)
      loadNext(constant(1));
    Value sum = multiply(loaded, Value());
    freeSlots([](bool lags) { return !lags; });
    if (product.iterations > 1) {
      SmallVector<Value> carried{sum};
      llvm::append_range(carried, next);
      auto loop = scf::ForOp::create(b, loc, constant(1), constant(product.iterations), constant(1),
                                     carried);
      {
        OpBuilder::InsertionGuard guard(b);
        b.setInsertionPointToStart(loop.getBody());
        enter(loop.getInductionVar());
        // The last iteration has no next one, so it repeats its own loads.
        if (!loaded.empty())
          loadNext(arith::MinSIOp::create(
              b, loc,
              arith::AddIOp::create(b, loc, loop.getInductionVar(), constant(1)).getResult(),
              constant(product.iterations - 1)));
        SmallVector<Value> results{
            multiply(loop.getRegionIterArgs().drop_front(), loop.getRegionIterArg(0))};
        llvm::append_range(results, next);
        freeSlots([](bool) { return true; });
        scf::YieldOp::create(b, loc, results);
      }
      sum = loop.getResult(0);
    }
    freeSlots([](bool lags) { return lags; });
    buildEpilogue(sum);
  }
};

} // namespace

std::optional<std::string> whyNoEpilogue(const Product &product, const GemmChoice &choice) {
  Layout layout = layoutInDot(product, sumLayout(product, choice));
  Epilogue epilogue(product, layout);
  if (epilogue.problem() || !choice.staged)
    return epilogue.problem();
  if (!epilogue.staged() || !layout.sameAs(sumLayout(choice, /*pairsRows=*/false)))
    return "the layout of its result differs from the accumulator's";
  return std::nullopt;
}

sm::KernelOp makeRoleKernel(const Product &product, const GemmChoice &choice) {
  return RoleKernelBuilder(product, choice).build();
}

} // namespace tilewright::pipeline
