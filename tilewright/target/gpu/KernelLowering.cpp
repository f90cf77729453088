#include "tilewright/target/gpu/KernelLowering.h"

#include "tilewright/support/Concat.h"
#include "tilewright/target/gpu/Sort.h"
#include "tilewright/target/gpu/order/Order.h"

#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/SaveAndRestore.h"

using namespace llvm;

namespace tilewright::gpu {

OpGroup::OpGroup(KernelLowering &all) : all(all), kernel(all.kernel), b(all.kernel.b) {}

KernelLowering::~KernelLowering() = default;

Value KernelLowering::windowPart(Value window, Value) {
  kernel.refuse(kernel.op, "accesses memory of several devices");
  return b.poisonOf(b.pointerIn(1));
}

void KernelLowering::lowerPersistent(KernelInfo &, int64_t) {
  kernel.refuse(kernel.op,
                concat("is persistent, which is not supported on ", b.machine.limits.chip));
}

// --- The function ---

void KernelLowering::beginInfo(KernelInfo &info) {
  const Machine::Limits &limits = b.machine.limits;
  info.threads = int64_t(kernel.op.getWarps()) * limits.warpSize;
  if (info.threads > limits.threadsPerBlock)
    b.fail(Status(Error::gpuBudget,
                  concat("has ", info.threads, " threads per CTA, but ", limits.chip,
                         " supports at most ", limits.threadsPerBlock, "; use fewer warps")));
}

void KernelLowering::lowerCoordinates(KernelInfo &info, int64_t blocks) {
  ArrayRef<int64_t> grid = kernel.op.getGrid();
  const auto [maxAlongX, maxElsewhere] = std::pair(b.machine.limits.gridX, b.machine.limits.gridYZ);
  auto read = [&](unsigned dim) {
    return b.zext(b.machine.blockId(b, dim), b.i64Type, /*isNonNegative=*/true);
  };
  // The last coordinate varies fastest. Up to three coordinates map directly to those of the
  // hardware.
  bool isDirect = grid.size() <= 3;
  for (size_t i = 0; i + 1 < grid.size(); ++i)
    isDirect &= grid[i] <= maxElsewhere;
  isDirect &= grid.empty() || grid.back() * blocks <= maxAlongX;
  const int64_t count = kernel.op.getPointCount();
  // These kernels count their points along x, because the order differs from that of the hardware,
  // or because the grid has more dimensions than the hardware and a point is a cluster.
  const bool isCounted = kernel.op.getPersistent() || kernel.op.getRaster().value_or(1) > 1 ||
                         (blocks > 1 && (!isDirect || grid.empty()));
  if (isCounted && 2 * count * blocks > maxAlongX)
    return kernel.refuse(kernel.op, concat("has a grid of ", count,
                                           " points, which is too many with a cluster, persistence "
                                           "or a raster"));
  auto carries = kernel.op.getBody().getOps<tile::CarryOp>();
  if (!carries.empty()) {
    if (isCounted || blocks > 1 || count > maxAlongX)
      return kernel.refuse(*carries.begin(), "is in a kernel with a cluster, persistence, a raster "
                                             "or too many points");
    info.grid[0] = count;
    return lowerCoordinatesOf(OrderLowering(*this).ticket(*carries.begin()));
  }
  if (kernel.op.getPersistent())
    return lowerPersistent(info, count);
  if (isCounted) {
    info.grid[0] = count * blocks;
    Value point = b.machine.blockId(b, 0);
    return lowerCoordinatesOf(b.udiv(point, b.i32(blocks)));
  }
  if (isDirect) {
    for (size_t i = 0; i < grid.size(); ++i) {
      const size_t dim = grid.size() - 1 - i;
      const int64_t apart = dim == 0 ? blocks : 1;
      info.grid[dim] = grid[i] * apart;
      kernel.scalars[kernel.op.getCoordinates()[i]] = {
          grid[i] == 1 ? b.i64(0)
          : apart > 1  ? b.udiv(read(unsigned(dim)), b.i64(apart))
                       : read(unsigned(dim))};
    }
    return;
  }
  Value point = read(0);
  info.grid[0] = count;
  if (count > maxAlongX) {
    // Split the point number into x and y; the last row may have excess CTAs.
    const auto row = int64_t(llvm::bit_floor(uint64_t(maxAlongX)));
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

void KernelLowering::lowerOp(mlir::Operation *op) {
  SaveAndRestore here(b.location, op->getLoc());
  if (!prepare(op))
    return;
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
      .Case([&](sm::ConvertOp op) { conversions.convert(op); })
      .Case([&](mlir::scf::ForOp op) { control.loop(op); })
      .Case([&](mlir::scf::IfOp op) { control.branch(op); })
      .Default([&](mlir::Operation *op) {
        if (!lowerEngine(op))
          maps.scalar(op);
      });
}

} // namespace tilewright::gpu
