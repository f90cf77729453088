#include "tilewright/target/nvptx/lower/KernelEmitter.h"

#include "tilewright/support/Concat.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Complex/IR/Complex.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/TypeSwitch.h"

#include <numeric>

using namespace llvm;

namespace tilewright::nvptx {

namespace LLVM = mlir::LLVM;
namespace NVVM = mlir::NVVM;

using sm::Axis;

void KernelEmitter::refuse(mlir::Operation *op, std::string_view why) {
  std::string text;
  raw_string_ostream stream(text);
  stream << "'" << op->getName() << "' at " << op->getLoc() << " ";
  b.fail(Status(Error::gpuTileOp, concat(text, why)));
}

// --- The function ---

void KernelEmitter::emit(KernelInfo &info) {
  info.threads = int64_t(kernel.getWarps()) * Chip::warpSize;
  if (info.threads > Chip::threadsPerBlock)
    return b.fail(Status(Error::gpuBudget,
                         concat("has ", info.threads, " threads per CTA, but ", chip.name,
                                " supports at most ", Chip::threadsPerBlock, "; use fewer warps")));
  SmallVector<Type> parameters(kernel.getNumInputs() + kernel.getOutputs().size(), b.pointerIn(1));
  const size_t pointers = parameters.size();
  planCopies();
  parameters.append(tensorMaps.size(), b.pointerIn(0));
  function = b.beginKernel(info.symbol, parameters);
  function->setAttr(NVVM::NVVMDialect::getKernelFuncAttrName(), b.op.getUnitAttr());
  function->setAttr(NVVM::NVVMDialect::getReqntidAttrName(),
                    b.op.getDenseI32ArrayAttr({int32_t(info.threads)}));
  function.setNoUnwind(true);
  for (auto [i, argument] :
       enumerate(kernel.getBlock().getArguments().drop_front(kernel.getGrid().size()))) {
    // Allocations of the runtime are aligned to at least this.
    function.setArgAttr(unsigned(i), LLVM::LLVMDialect::getAlignAttrName(),
                        b.op.getI64IntegerAttr(16));
    memory[argument] = function.getArgument(unsigned(i));
  }
  for (size_t i = 0; i < tensorMaps.size(); ++i) {
    const auto argument = unsigned(pointers + i);
    function.setArgAttr(argument, LLVM::LLVMDialect::getByValAttrName(),
                        mlir::TypeAttr::get(LLVM::LLVMArrayType::get(b.i8Type, 128)));
    function.setArgAttr(argument, LLVM::LLVMDialect::getAlignAttrName(),
                        b.op.getI64IntegerAttr(64));
    // The copy engine reads the parameter in place, and no thread modifies it.
    function.setArgAttr(argument, NVVM::NVVMDialect::getGridConstantAttrName(), b.op.getUnitAttr());
  }
  info.tensorMaps = tensorMaps;
  planRoles(info);
  thread = once([&] { return b.intrinsic(b.i32Type, "llvm.nvvm.read.ptx.sreg.tid.x", {}); });
  emitCoordinates(info);
  for (sm::ChannelOp channel : kernel.getBody().getOps<sm::ChannelOp>())
    declareChannel(channel);
  initializeChannels();
  if (kernel.getPersistent())
    // Ops before the roles depend on the point, so each role emits its own copies of them.
    for (sm::RoleOp role : kernel.getBody().getOps<sm::RoleOp>())
      emitRole(role);
  else
    emitOps(kernel.getBlock());
  // Wait, because other CTAs of the cluster may still arrive at this CTA's barriers.
  if (!channels.empty() && clusterSize() > 1)
    waitForAll();
  b.ret();
  info.sharedBytes = shared.bytes();
  b.fail(shared.check(chip));
}

/// The maximum number of CTAs along x, and along y and z.
constexpr int64_t maxAlongX = 0x7FFFFFFF, maxElsewhere = 65535;

void KernelEmitter::emitCoordinates(KernelInfo &info) {
  ArrayRef<int64_t> grid = kernel.getGrid();
  auto read = [&](unsigned dim) {
    static constexpr StringLiteral names[] = {"llvm.nvvm.read.ptx.sreg.ctaid.x",
                                              "llvm.nvvm.read.ptx.sreg.ctaid.y",
                                              "llvm.nvvm.read.ptx.sreg.ctaid.z"};
    return b.zext(b.intrinsic(b.i32Type, names[dim], {}), b.i64Type, /*isNonNegative=*/true);
  };
  // Each point is run by one cluster, whose CTAs are along x.
  std::array<int64_t, 3> cluster = kernel.getClusterSizes();
  const int64_t maxCluster = std::max<int64_t>(chip.clusterBlocks, 1);
  if (cluster[1] != 1 || cluster[2] != 1 || cluster[0] > maxCluster)
    return refuse(kernel, concat("has a cluster of ", cluster[0], "x", cluster[1], "x", cluster[2],
                                 " CTAs, but the GPU target supports up to ", maxCluster,
                                 " in one dimension on ", chip.name));
  info.cluster = cluster;
  if (cluster[0] > 1)
    function->setAttr(NVVM::NVVMDialect::getClusterDimAttrName(),
                      b.op.getDenseI32ArrayAttr({int32_t(cluster[0]), 1, 1}));
  // The last coordinate varies fastest. Up to three coordinates map directly to those of the
  // hardware.
  bool isDirect = grid.size() <= 3;
  for (size_t i = 0; i + 1 < grid.size(); ++i)
    isDirect &= grid[i] <= maxElsewhere;
  isDirect &= grid.empty() || grid.back() * cluster[0] <= maxAlongX;
  const int64_t count = kernel.getPointCount();
  const bool hasOrder = kernel.getPersistent() || kernel.getRaster().value_or(1) > 1;
  if ((cluster[0] > 1 && !hasOrder && (!isDirect || grid.empty())) ||
      (hasOrder && 2 * count * cluster[0] > maxAlongX))
    return refuse(kernel, "has a grid that the hardware cannot launch directly, which is not "
                          "supported with a cluster, persistence or a raster");
  if (kernel.getPersistent()) {
    // Each role computes its own coordinates.
    clusters = std::max<int64_t>(1, std::min(count, multiprocessors / cluster[0]));
    info.grid[0] = clusters * cluster[0];
    return;
  }
  if (hasOrder) {
    info.grid[0] = count * cluster[0];
    Value point = b.intrinsic(b.i32Type, "llvm.nvvm.read.ptx.sreg.ctaid.x", {});
    return emitCoordinatesOf(b.udiv(point, i32(cluster[0])));
  }
  if (isDirect) {
    for (size_t i = 0; i < grid.size(); ++i) {
      const size_t dim = grid.size() - 1 - i;
      info.grid[dim] = grid[i] * cluster[dim];
      scalars[kernel.getCoordinates()[i]] = {grid[i] == 1 ? b.i64(0)
                                             : cluster[dim] > 1
                                                 ? b.udiv(read(unsigned(dim)), b.i64(cluster[dim]))
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
  emitCoordinatesOf(b.trunc(point, count > maxAlongX ? b.i64Type : b.i32Type));
}

void KernelEmitter::emitCoordinatesOf(Value point) {
  ArrayRef<int64_t> grid = kernel.getGrid();
  auto constant = [&](int64_t value) { return b.integer(point.getType(), value); };
  auto set = [&](size_t dim, Value value) {
    scalars[kernel.getCoordinates()[dim]] = {b.zext(value, b.i64Type)};
  };
  Value rest = point;
  size_t dims = grid.size();
  if (const auto raster = int64_t(kernel.getRaster().value_or(1)); raster > 1) {
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

Value KernelEmitter::once(function_ref<Value()> emit) {
  mlir::OpBuilder::InsertionGuard guard(b.op);
  b.moveToEntry();
  return emit();
}

int64_t KernelEmitter::warpCount() {
  return int64_t(currentRole ? currentRole.getWarps() : kernel.getWarps());
}

int64_t KernelEmitter::clusterSize() { return kernel.getClusterSizes()[0]; }

Value KernelEmitter::ctaRank() {
  return b.intrinsic(b.i32Type, "llvm.nvvm.read.ptx.sreg.cluster.ctarank", {});
}

Value KernelEmitter::axis(Axis axis) {
  return axis == Axis::lane ? b.bitAnd(thread, i32(Chip::warpSize - 1))
                            : b.lshr(thread, i32(Log2_64(uint64_t(Chip::warpSize))));
}

Value KernelEmitter::digitOf(const sm::IndexTerm &term) {
  if (term.axis == Axis::cta) {
    Value digit = term.stride == 1 ? ctaRank() : b.udiv(ctaRank(), i32(term.stride));
    return term.stride * term.size >= clusterSize() ? digit : b.urem(digit, i32(term.size));
  }
  // Lanes are the low bits of the thread id, so digits of lanes and warps are digits of the thread
  // id.
  const int64_t stride = term.axis == Axis::lane ? term.stride : term.stride * Chip::warpSize;
  const int64_t end = warpCount() * Chip::warpSize;
  Value digit = stride == 1 ? thread : b.udiv(thread, i32(stride));
  return stride * term.size >= end ? digit : b.urem(digit, i32(term.size));
}

const ThreadLayout &KernelEmitter::threadsOf(Type type) {
  sm::LayoutAttr attribute = sm::layoutOf(type);
  std::unique_ptr<ThreadLayout> &known = threadLayouts[attribute];
  if (known)
    return *known;
  known = std::make_unique<ThreadLayout>(attribute.getValue());
  ThreadLayout &threads = *known;
  if (!threads.layout.getFlips().empty())
    refuse(kernel, concat("has a tile in registers whose layout has flips, ", threads.layout.str(),
                          "; only layouts of memory may have flips"));
  if (threads.layout.extent(Axis::lane) != Chip::warpSize)
    refuse(kernel, concat("has layouts for warps of ", threads.layout.extent(Axis::lane),
                          " lanes, but ", chip.name, " has ", Chip::warpSize));
  for (const sm::IndexForm &form : threads.forms) {
    int64_t most = 0, divisor = 0;
    for (const sm::IndexTerm &term : form.terms) {
      most += (term.size - 1) * term.weight;
      divisor = std::gcd(divisor, term.weight);
    }
    threads.most.push_back(most);
    threads.divisor.push_back(divisor);
    threads.base.push_back(once([&]() -> Value {
      Value sum = nullptr;
      for (const sm::IndexTerm &term : form.terms) {
        Value part = b.mul(digitOf(term), i32(term.weight), neverWraps);
        sum = sum ? b.add(sum, part, neverWraps) : part;
      }
      return sum;
    }));
  }
  threads.isFirst = once([&]() -> Value {
    Value all = nullptr;
    for (Axis axis : {Axis::lane, Axis::warp, Axis::cta})
      for (const sm::IndexTerm &term : threads.copies(axis)) {
        Value isZero = b.equal(digitOf(term), i32(0));
        all = all ? b.bitAnd(all, isZero) : isZero;
      }
    return all;
  });
  return threads;
}

// --- Ops ---

void KernelEmitter::emitOps(mlir::Block &block) {
  // Stop at the first rejected op: it has no registers that later ops could read.
  for (mlir::Operation &op : block.without_terminator())
    if (b.failure.isOk())
      emitOp(&op);
}

void KernelEmitter::emitOp(mlir::Operation *op) {
  if (deferred.contains(op))
    return;
  // A wgmma stays in flight until an op that is not a wgmma uses its result.
  if (!isa<sm::MmaOp, mlir::scf::ForOp>(op))
    for (Value operand : op->getOperands()) {
      settle(operand);
      unpackWords(operand);
    }
  TypeSwitch<mlir::Operation *>(op)
      .Case([&](tile::LoadOp op) { emitLoad(op); })
      .Case([&](tile::StoreOp op) { emitStore(op); })
      .Case([&](tile::GatherOp op) { emitGather(op); })
      .Case([&](tile::MapOp op) { emitMap(op); })
      .Case([&](tile::ViewOp op) { emitView(op); })
      .Case([&](tile::IotaOp op) { emitIota(op); })
      .Case([&](tile::ReduceOp op) { emitReduce(op); })
      .Case([&](tile::ScanOp op) { emitScan(op); })
      .Case([&](tile::DotOp op) { emitDot(op); })
      .Case([&](sm::ConvertOp op) { emitConvert(op); })
      .Case([&](sm::ChannelOp) {})
      .Case([&](sm::RoleOp op) { emitRole(op); })
      .Case([&](sm::AcquireOp op) { emitAcquire(op); })
      .Case([&](sm::PublishOp op) { emitPublish(op); })
      .Case([&](sm::TakeOp op) { emitTake(op); })
      .Case([&](sm::FreeOp op) { emitFree(op); })
      .Case([&](sm::CopyOp op) { emitCopy(op); })
      .Case([&](sm::MmaOp op) { emitMma(op); })
      .Case([&](mlir::scf::ForOp op) { emitFor(op); })
      .Case([&](mlir::scf::IfOp op) { emitIf(op); })
      .Default([&](mlir::Operation *op) { emitScalar(op); });
}

void KernelEmitter::emitScalar(mlir::Operation *op) {
  if (auto extract = dyn_cast<mlir::tensor::ExtractOp>(op)) {
    if (!extract.getIndices().empty())
      return refuse(op, "extracts an element at an index, but only tiles of rank 0 are supported");
    // Every thread holds a copy of the element.
    scalars[extract.getResult()] = tiles[extract.getTensor()][0];
    return;
  }
  if (auto make = dyn_cast<mlir::tensor::FromElementsOp>(op)) {
    if (make.getElements().size() != 1)
      return refuse(
          op, "creates a tile from several scalars, but only tiles of one element are supported");
    tiles[make.getResult()] =
        Tile(threadsOf(make.getType()).registers(), scalars.lookup(make.getElements().front()));
    return;
  }
  if (auto constant = dyn_cast<mlir::arith::ConstantOp>(op))
    if (auto value = dyn_cast<mlir::IntegerAttr>(constant.getValue())) {
      scalars[constant.getResult()] = {
          b.integer(b.computeType(constant.getType()), value.getValue())};
      return;
    }
  SmallVector<Lanes> operands;
  for (Value operand : op->getOperands()) {
    if (isa<mlir::TensorType, mlir::MemRefType>(operand.getType()))
      return refuse(
          op,
          "has a tile or tensor operand, but is not a tile or sm op that the GPU target supports");
    operands.push_back(scalars.lookup(operand));
  }
  if (auto apply = dyn_cast<mlir::affine::AffineApplyOp>(op)) {
    SmallVector<Value> values;
    for (Lanes operand : operands)
      values.push_back(operand.value);
    mlir::AffineMap map = apply.getAffineMap();
    ArrayRef<Value> all = values;
    scalars[apply.getResult()] = {b.affine(map.getResult(0), all.take_front(map.getNumDims()),
                                           all.drop_front(map.getNumDims()))};
    return;
  }
  if (!isa<mlir::arith::ArithDialect, mlir::math::MathDialect, mlir::complex::ComplexDialect>(
          op->getDialect()) ||
      any_of(op->getResultTypes(), [](Type type) { return isa<mlir::ShapedType>(type); }))
    return refuse(op,
                  "is not supported by the GPU target, which supports tile and sm ops, scf.for, "
                  "scf.if, affine.apply, tensor.extract, and arith, math and complex on scalars");
  for (auto [result, value] : zip_equal(op->getResults(), b.applyOp(op, operands)))
    scalars[result] = value;
}

void KernelEmitter::emitMap(tile::MapOp map) {
  auto type = cast<mlir::RankedTensorType>(map.getResultTypes().front());
  const ThreadLayout &threads = threadsOf(type);
  // Registers with identical operands share an application of the body.
  std::map<std::vector<const void *>, size_t> known;
  SmallVector<std::optional<size_t>> applicationOf(threads.registers());
  SmallVector<SmallVector<Lanes>> applications;
  for (unsigned reg = 0; reg < threads.registers(); ++reg) {
    if (threads.isDead(reg, type.getShape()))
      continue;
    SmallVector<Lanes> operands;
    std::vector<const void *> key;
    for (Value input : map.getInputs()) {
      Lanes operand = tiles[input][reg];
      operands.push_back(operand);
      key.push_back(operand.value.getAsOpaquePointer());
      key.push_back(operand.imag.getAsOpaquePointer());
    }
    auto [found, isNew] = known.try_emplace(key, applications.size());
    if (isNew)
      applications.push_back(std::move(operands));
    applicationOf[reg] = found->second;
  }
  const auto made = b.applyEach(map.getBody().front(), applications);
  for (auto [number, value] : enumerate(map.getResults())) {
    Tile tile;
    for (std::optional<size_t> application : applicationOf)
      tile.push_back(application ? made[*application][number]
                                 : b.poison(mlir::getElementTypeOrSelf(value)));
    tiles[value] = std::move(tile);
  }
}

void KernelEmitter::emitView(tile::ViewOp view) {
  auto type = cast<mlir::RankedTensorType>(view.getType()),
       sourceType = cast<mlir::RankedTensorType>(view.getSource().getType());
  const ThreadLayout &to = threadsOf(type), &from = threadsOf(sourceType);
  std::optional<sm::ViewMap> map =
      sm::viewMapOf(view.getMap(), type.getShape(), sourceType.getShape());
  if (!map)
    return refuse(view,
                  "has a map that no layout can represent, because it is not a sum of digits");
  // Thread 0 has the smallest index in each register, and the verifier ensures that the register
  // mapping is the same for all threads. So use the mapping of thread 0.
  std::map<std::vector<int64_t>, unsigned> held;
  for (unsigned reg = 0; reg < from.registers(); ++reg)
    held.try_emplace(from.constants(reg), reg);
  const Tile source = tiles[view.getSource()];
  Tile result;
  for (unsigned reg = 0; reg < to.registers(); ++reg) {
    result.push_back(b.poison(type.getElementType()));
    if (to.isDead(reg, type.getShape()))
      continue;
    SmallVector<int64_t> wanted = map->apply(to.constants(reg));
    auto found = held.find(std::vector<int64_t>(wanted.begin(), wanted.end()));
    if (found == held.end())
      return refuse(view, concat("moves elements between threads, from ", from.layout.str(), " to ",
                                 to.layout.str(), "; insert an sm.convert"));
    result.back() = source[found->second];
  }
  tiles[view.getResult()] = std::move(result);
}

void KernelEmitter::emitIota(tile::IotaOp iota) {
  auto type = cast<mlir::RankedTensorType>(iota.getType());
  const ThreadLayout &threads = threadsOf(type);
  const auto dim = static_cast<size_t>(iota.getDim());
  const auto stride = static_cast<int64_t>(iota.getStride());
  Type element = b.computeType(type.getElementType());
  Value first = b.sextOrTrunc(scalars.lookup(iota.getOffset()).value, element);
  if (Value base = threads.base[dim])
    first = b.add(first, b.mul(b.zextOrTrunc(base, element), b.integer(element, stride)));
  Tile result;
  for (unsigned reg = 0; reg < threads.registers(); ++reg) {
    result.push_back({b.add(first, b.integer(element, threads.constant(dim, reg) * stride))});
  }
  tiles[iota.getResult()] = std::move(result);
}

} // namespace tilewright::nvptx
