#include "tilewright/target/nvptx/lower/KernelLowering.h"

#include "tilewright/support/Concat.h"
#include "tilewright/target/nvptx/lower/Sort.h"
#include "tilewright/target/nvptx/lower/order/Order.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/SaveAndRestore.h"

using namespace llvm;

namespace tilewright::nvptx {

OpGroup::OpGroup(KernelLowering &all) : all(all), kernel(all.kernel), b(all.kernel.b) {}

namespace LLVM = mlir::LLVM;

// --- The function ---

void KernelLowering::lower(KernelInfo &info) {
  SaveAndRestore here(b.location, kernel.op.getLoc());
  info.threads = int64_t(kernel.op.getWarps()) * Chip::warpSize;
  if (info.threads > Chip::threadsPerBlock)
    return b.fail(Status(Error::gpuBudget,
                         concat("has ", info.threads, " threads per CTA, but ", kernel.chip.name,
                                " supports at most ", Chip::threadsPerBlock, "; use fewer warps")));
  for (mlir::BlockArgument argument :
       kernel.op.getBlock().getArguments().drop_front(kernel.op.getGrid().size()))
    info.windowRanks.push_back(WindowsLowering::isByValue(argument.getType())
                                   ? cast<mlir::MemRefType>(argument.getType()).getDimSize(0)
                                   : 0);
  tma.plan();
  info.tensorMaps = tma.maps();
  makeFunction(info);
  roles.plan(info);
  kernel.thread = kernel.once([&] { return b.make<NVVM::ThreadIdXOp>(b.i32Type); });
  lowerCoordinates(info);
  for (sm::ChannelOp channel : kernel.op.getBody().getOps<sm::ChannelOp>())
    channels.declare(channel);
  stealing.declare();
  tcgen05.allocateScales();
  channels.initialize();
  if (kernel.op.getPersistent())
    // Ops before the roles depend on the point, so each role emits its own copies of them.
    for (sm::RoleOp role : kernel.op.getBody().getOps<sm::RoleOp>())
      roles.role(role);
  else
    lowerOps(kernel.op.getBlock());
  // Wait, because other CTAs of the cluster may still arrive at this CTA's barriers.
  if (!channels.empty() && kernel.clusterSize() > 1)
    channels.waitForAll();
  b.ret();
  info.sharedBytes = kernel.shared.bytes();
  b.fail(kernel.shared.check(kernel.chip));
  b.fail(tcgen05.check());
}

void KernelLowering::makeFunction(const KernelInfo &info) {
  SmallVector<Type> parameters;
  for (mlir::BlockArgument argument :
       kernel.op.getBlock().getArguments().drop_front(kernel.op.getGrid().size()))
    parameters.push_back(b.pointerIn(WindowsLowering::isByValue(argument.getType()) ? 0 : 1));
  const size_t pointers = parameters.size();
  parameters.append(info.tensorMaps.size(), b.pointerIn(0));
  LLVM::LLVMFuncOp function = kernel.function = b.beginKernel(info.symbol, parameters);
  function->setAttr(NVVM::NVVMDialect::getKernelFuncAttrName(), b.op.getUnitAttr());
  function->setAttr(NVVM::NVVMDialect::getReqntidAttrName(),
                    b.op.getDenseI32ArrayAttr({int32_t(info.threads)}));
  function.setNoUnwind(true);
  for (auto [i, argument] :
       enumerate(kernel.op.getBlock().getArguments().drop_front(kernel.op.getGrid().size()))) {
    kernel.memory[argument] = function.getArgument(unsigned(i));
    if (WindowsLowering::isByValue(argument.getType())) {
      function.setArgAttr(
          unsigned(i), LLVM::LLVMDialect::getByValAttrName(),
          mlir::TypeAttr::get(windows.parameterType(cast<mlir::MemRefType>(argument.getType()))));
      function.setArgAttr(unsigned(i), LLVM::LLVMDialect::getAlignAttrName(),
                          b.op.getI64IntegerAttr(8));
      function.setArgAttr(unsigned(i), NVVM::NVVMDialect::getGridConstantAttrName(),
                          b.op.getUnitAttr());
      continue;
    }
    // Allocations of the runtime are aligned to at least this.
    function.setArgAttr(unsigned(i), LLVM::LLVMDialect::getAlignAttrName(),
                        b.op.getI64IntegerAttr(16));
  }
  for (size_t i = 0; i < info.tensorMaps.size(); ++i) {
    const auto argument = unsigned(pointers + i);
    function.setArgAttr(argument, LLVM::LLVMDialect::getByValAttrName(),
                        mlir::TypeAttr::get(LLVM::LLVMArrayType::get(b.i8Type, 128)));
    function.setArgAttr(argument, LLVM::LLVMDialect::getAlignAttrName(),
                        b.op.getI64IntegerAttr(64));
    // The copy engine reads the parameter in place, and no thread modifies it.
    function.setArgAttr(argument, NVVM::NVVMDialect::getGridConstantAttrName(), b.op.getUnitAttr());
  }
}

/// The maximum number of CTAs along x, and along y and z.
constexpr int64_t maxAlongX = 0x7FFFFFFF, maxElsewhere = 65535;

void KernelLowering::lowerCoordinates(KernelInfo &info) {
  ArrayRef<int64_t> grid = kernel.op.getGrid();
  auto read = [&](unsigned dim) {
    Value index = dim == 0   ? b.make<NVVM::BlockIdXOp>(b.i32Type).getResult()
                  : dim == 1 ? b.make<NVVM::BlockIdYOp>(b.i32Type).getResult()
                             : b.make<NVVM::BlockIdZOp>(b.i32Type).getResult();
    return b.zext(index, b.i64Type, /*isNonNegative=*/true);
  };
  // Each point is run by one cluster, whose CTAs are along x.
  std::array<int64_t, 3> cluster = kernel.op.getClusterSizes();
  const int64_t maxCluster = std::max<int64_t>(kernel.chip.clusterBlocks, 1);
  if (cluster[1] != 1 || cluster[2] != 1 || cluster[0] > maxCluster)
    return kernel.refuse(kernel.op, concat("has a cluster of ", cluster[0], "x", cluster[1], "x",
                                           cluster[2], " CTAs, but the GPU target supports up to ",
                                           maxCluster, " in one dimension on ", kernel.chip.name));
  info.cluster = cluster;
  if (cluster[0] > 1)
    kernel.function->setAttr(NVVM::NVVMDialect::getClusterDimAttrName(),
                             b.op.getDenseI32ArrayAttr({int32_t(cluster[0]), 1, 1}));
  // The last coordinate varies fastest. Up to three coordinates map directly to those of the
  // hardware.
  bool isDirect = grid.size() <= 3;
  for (size_t i = 0; i + 1 < grid.size(); ++i)
    isDirect &= grid[i] <= maxElsewhere;
  isDirect &= grid.empty() || grid.back() * cluster[0] <= maxAlongX;
  const int64_t count = kernel.op.getPointCount();
  // These kernels count their points along x, because the order differs from that of the hardware,
  // or because the grid has more dimensions than the hardware and a point is a cluster.
  const bool isCounted = kernel.op.getPersistent() || kernel.op.getRaster().value_or(1) > 1 ||
                         (cluster[0] > 1 && (!isDirect || grid.empty()));
  if (isCounted && 2 * count * cluster[0] > maxAlongX)
    return kernel.refuse(kernel.op, concat("has a grid of ", count,
                                           " points, which is too many with a cluster, persistence "
                                           "or a raster"));
  auto carries = kernel.op.getBody().getOps<tile::CarryOp>();
  if (!carries.empty()) {
    if (isCounted || cluster[0] > 1 || count > maxAlongX)
      return kernel.refuse(*carries.begin(), "is in a kernel with a cluster, persistence, a raster "
                                             "or too many points");
    info.grid[0] = count;
    return lowerCoordinatesOf(OrderLowering(*this).ticket(*carries.begin()));
  }
  if (kernel.op.getPersistent()) {
    // Each role computes its own coordinates.
    clusters = stealing.isUsed()
                   ? count
                   : std::max<int64_t>(1, std::min(count, multiprocessors / cluster[0]));
    info.grid[0] = clusters * cluster[0];
    return;
  }
  if (isCounted) {
    info.grid[0] = count * cluster[0];
    Value point = b.make<NVVM::BlockIdXOp>(b.i32Type);
    return lowerCoordinatesOf(b.udiv(point, b.i32(cluster[0])));
  }
  if (isDirect) {
    for (size_t i = 0; i < grid.size(); ++i) {
      const size_t dim = grid.size() - 1 - i;
      info.grid[dim] = grid[i] * cluster[dim];
      kernel.scalars[kernel.op.getCoordinates()[i]] = {
          grid[i] == 1       ? b.i64(0)
          : cluster[dim] > 1 ? b.udiv(read(unsigned(dim)), b.i64(cluster[dim]))
                             : read(unsigned(dim))};
    }
    return;
  }
  Value point = read(0);
  info.grid[0] = count;
  if (count > maxAlongX) {
    // Split the point number into x and y; the last row may have excess CTAs.
    constexpr int64_t row = int64_t(1) << 30;
    info.grid = {row, (count + row - 1) / row, 1};
    if (info.grid[1] > maxElsewhere)
      return b.fail(Status(Error::gpuBudget, concat("has a grid of ", count,
                                                    " points, but a launch supports at most ",
                                                    row * maxElsewhere, "; use larger tiles")));
    point = b.add(point, b.mul(read(1), b.i64(row)));
    Block *inside = b.newBlock();
    Block *outside = b.newBlock();
    b.branchIf(b.unsignedLess(point, b.i64(count)), inside, outside);
    b.moveTo(outside);
    b.ret();
    b.moveTo(inside);
  }
  // Divide in 32 bits if the point number fits.
  lowerCoordinatesOf(b.trunc(point, count > maxAlongX ? b.i64Type : b.i32Type));
}

void KernelLowering::lowerCoordinatesOf(Value point) {
  ArrayRef<int64_t> grid = kernel.op.getGrid();
  auto constant = [&](int64_t value) { return b.integer(point.getType(), value); };
  auto set = [&](size_t dim, Value value) {
    kernel.scalars[kernel.op.getCoordinates()[dim]] = {b.zext(value, b.i64Type)};
  };
  Value rest = point;
  size_t dims = grid.size();
  if (const auto raster = int64_t(kernel.op.getRaster().value_or(1)); raster > 1) {
    // The grid is divided into bands of `raster` rows (the last may have fewer), each traversed
    // column by column.
    const int64_t rows = grid[dims - 2], columns = grid[dims - 1];
    const int64_t high = std::min(raster, rows), left = rows % high;
    Value inPlane = rest;
    if (dims > 2) {
      inPlane = b.urem(rest, constant(rows * columns));
      rest = b.udiv(rest, constant(rows * columns));
    }
    Value band = b.udiv(inPlane, constant(high * columns)),
          inBand = b.urem(inPlane, constant(high * columns));
    Value height = constant(high);
    if (left != 0)
      height = b.select(b.equal(band, constant(rows / high)), constant(left), height);
    set(dims - 2, b.add(b.mul(band, constant(high)), b.urem(inBand, height)));
    set(dims - 1, b.udiv(inBand, height));
    dims -= 2;
  }
  // The last coordinate varies fastest.
  for (size_t i = dims; i-- > 0;) {
    set(i, i == 0 ? rest : b.urem(rest, constant(grid[i])));
    if (i > 0)
      rest = b.udiv(rest, constant(grid[i]));
  }
}

// --- Ops ---

void KernelLowering::lowerOps(mlir::Block &block) {
  // Stop at the first rejected op: it has no registers that later ops could read.
  for (mlir::Operation &op : block.without_terminator())
    if (b.failure.isOk())
      lowerOp(&op);
}

void KernelLowering::complete(Value tile) {
  wgmma.settle(tile);
  fragments.unpackWords(tile);
}

void KernelLowering::completeOperands(mlir::Operation *op) {
  // A wgmma stays in flight until an op that is not a wgmma uses its result.
  if (!isa<sm::MmaOp, mlir::scf::ForOp>(op))
    for (Value operand : op->getOperands())
      complete(operand);
  // If an op inside a loop or branch completed a tile of an outer block, the tile would be complete
  // only on that path. So complete such tiles before the loop or branch.
  if (isa<mlir::scf::ForOp, mlir::scf::IfOp>(op))
    op->walk([&](mlir::Operation *inner) {
      if (inner != op && !isa<sm::MmaOp, mlir::scf::ForOp>(inner))
        for (Value operand : inner->getOperands())
          if (!op->isAncestor(operand.getParentBlock()->getParentOp()))
            complete(operand);
    });
}

void KernelLowering::lowerOp(mlir::Operation *op) {
  if (registerOperand.isDeferred(op))
    return;
  SaveAndRestore here(b.location, op->getLoc());
  completeOperands(op);
  TypeSwitch<mlir::Operation *>(op)
      .Case([&](tile::LoadOp op) { memory.load(op); })
      .Case([&](tile::StoreOp op) { memory.store(op); })
      .Case([&](tile::GatherOp op) { memory.gather(op); })
      .Case([&](tile::ScatterOp op) { memory.scatter(op); })
      .Case([&](tile::UpdateOp op) { memory.update(op); })
      .Case([&](tile::MapOp op) { maps.map(op); })
      .Case([&](tile::ViewOp op) { maps.view(op); })
      .Case([&](tile::IotaOp op) { maps.iota(op); })
      .Case([&](tile::ReduceOp op) { reductions.reduce(op); })
      .Case([&](tile::ScanOp op) { reductions.scan(op); })
      .Case([&](tile::SortOp op) { SortLowering(*this).sort(op); })
      .Case([&](tile::CarryOp op) { OrderLowering(*this).carry(op); })
      .Case([&](tile::BucketOp op) { OrderLowering(*this).bucket(op); })
      .Case([&](tile::TakeOp op) { OrderLowering(*this).take(op); })
      .Case([&](tile::DotOp op) { mmaSync.dot(op); })
      .Case([&](tile::RankOp op) { windows.rank(op); })
      .Case([&](tile::BarrierOp op) { windows.barrier(op); })
      .Case([&](tile::EpochOp op) { windows.epoch(op); })
      .Case([&](tile::SignalOp op) { windows.signal(op); })
      .Case([&](tile::WaitOp op) { windows.wait(op); })
      .Case([&](tile::PutOp op) { windows.put(op); })
      .Case([&](tile::ReducePartsOp op) { windows.reduceParts(op); })
      .Case([&](tile::StorePartsOp op) { windows.storeParts(op); })
      .Case([&](sm::ConvertOp op) { conversions.convert(op); })
      .Case([&](sm::ChannelOp) {})
      .Case([&](sm::RoleOp op) { roles.role(op); })
      .Case([&](sm::AcquireOp op) { channels.acquire(op); })
      .Case([&](sm::PublishOp op) { channels.publish(op); })
      .Case([&](sm::TakeOp op) { channels.take(op); })
      .Case([&](sm::FreeOp op) { channels.free(op); })
      .Case([&](sm::CopyOp op) { lowerCopy(op); })
      .Case([&](sm::MmaOp op) { lowerMma(op); })
      .Case([&](mlir::scf::ForOp op) { control.loop(op); })
      .Case([&](mlir::scf::IfOp op) { control.branch(op); })
      .Default([&](mlir::Operation *op) { maps.scalar(op); });
}

void KernelLowering::lowerCopy(sm::CopyOp copy) {
  switch (copy.getEngine()) {
  case sm::Engine::tma:
    return tma.copy(copy);
  case sm::Engine::cp_async:
    return asyncCopies.copy(copy);
  case sm::Engine::ldmatrix:
  case sm::Engine::ld:
    return kernel.currentRole ? registerOperand.load(copy) : fragments.load(copy);
  case sm::Engine::stmatrix:
    return stores.stage(copy);
  case sm::Engine::tmem:
    return tcgen05.load(copy);
  default:
    kernel.refuse(copy, concat("uses ", sm::stringifyEngine(copy.getEngine()).str(),
                               ", which the GPU target does not support yet"));
  }
}

void KernelLowering::lowerMma(sm::MmaOp mma) {
  if (mma.getAtom() == sm::Atom::mma_sync)
    return mmaSync.mma(mma);
  if (mma.getAtom() == sm::Atom::tcgen05)
    return tcgen05.mma(mma);
  if (isa<mlir::RankedTensorType>(mma.getLhs().getType()))
    return registerOperand.mma(mma);
  wgmma.mma(mma);
}

} // namespace tilewright::nvptx
