#include "tilewright/target/cpu/emit/KernelEmitter.h"

#include "tilewright/target/cpu/emit/LoopEmitter.h"
#include "tilewright/target/lanes/RegionEmitter.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/IR/IntrinsicsX86.h"

using namespace llvm;

namespace tilewright::cpu {

/// Allows LLVM to use the chip's widest registers.
static void setAttributes(LaneBuilder &b, Function *function) {
  std::string width = std::to_string(b.machine.vectorBytes * 8);
  function->addFnAttr("prefer-vector-width", width);
  function->addFnAttr("min-legal-vector-width", width);
  function->addFnAttr(Attribute::NoUnwind);
}

Function *KernelEmitter::emit(StringRef symbol) {
  IRBuilder<> &ir = b.ir;
  Type *pointer = ir.getPtrTy(), *i64 = ir.getInt64Ty();
  function =
      Function::Create(FunctionType::get(ir.getVoidTy(), {pointer, i64, i64, pointer}, false),
                       Function::ExternalLinkage, symbol, b.module);
  setAttributes(b, function);
  if (function->getName() != symbol) // LLVM has renamed it
    b.fail(Status(Error::cpuCodegen,
                  "its name conflicts with another symbol in the object; rename it"));
  for (unsigned argument : {0, 3})
    function->addParamAttr(argument, Attribute::NoAlias);
  function->addParamAttr(3, Attribute::getWithAlignment(ir.getContext(), Align(64)));
  ir.SetInsertPoint(BasicBlock::Create(ir.getContext(), "", function));
  scratch = function->getArg(3);
  unsigned number = 0;
  for (auto arguments : {kernel.getInputs(), kernel.getOutputs()}) {
    for (mlir::BlockArgument argument : arguments) {
      Value *slot = ir.CreateConstGEP1_64(pointer, function->getArg(0), number++);
      LoadInst *address = ir.CreateLoad(pointer, slot);
      address->setMetadata(LLVMContext::MD_align,
                           MDNode::get(ir.getContext(), ConstantAsMetadata::get(ir.getInt64(64))));
      address->setMetadata(LLVMContext::MD_nonnull, MDNode::get(ir.getContext(), {}));
      scalars[argument] = {address};
    }
  }
  emitPoints(function->getArg(1), function->getArg(2));
  // Make the kernel's writes visible before other threads see that it has ended.
  if (hasStreamed)
    ir.CreateIntrinsic(Intrinsic::x86_sse_sfence, {});
  ir.CreateRetVoid();
  itemCost = static_cast<int64_t>(nanoseconds) + 2;
  return function;
}

void KernelEmitter::emitPoints(Value *begin, Value *end) {
  IRBuilder<> &ir = b.ir;
  b.loop(ir.CreateSub(end, begin), [&](Value *step) {
    Value *point = ir.CreateAdd(step, begin);
    ArrayRef<int64_t> grid = kernel.getGrid();
    // Row-major: the last coordinate varies fastest.
    for (int64_t dim = int64_t(grid.size()) - 1; dim >= 0; --dim) {
      Value *coordinate = point;
      if (grid[dim] == 1) {
        coordinate = b.i64(0);
      } else if (dim > 0) {
        coordinate = ir.CreateURem(point, b.i64(grid[dim]));
        point = ir.CreateUDiv(point, b.i64(grid[dim]));
      }
      scalars[kernel.getCoordinates()[dim]] = {coordinate};
    }
    emitBlock(kernel.getBlock());
    flush(/*isLast=*/true);
  });
}

void KernelEmitter::emitBlock(mlir::Block &block) {
  for (mlir::Operation &op : block.without_terminator()) {
    if (isa<tile::StoreOp, tile::ReduceOp, tile::ScanOp, tile::DotOp>(op)) {
      pending.push_back({&op, {}});
    } else if (auto loop = dyn_cast<mlir::scf::ForOp>(op)) {
      emitFor(loop);
    } else if (auto branch = dyn_cast<mlir::scf::IfOp>(op)) {
      emitIf(branch);
    } else if (isa<tile::LoadOp, tile::ViewOp, tile::MapOp, tile::IotaOp, tile::GatherOp>(op)) {
      // Evaluated where it is used.
    } else {
      emitScalar(&op);
    }
  }
}

void KernelEmitter::emitScalar(mlir::Operation *op) {
  if (auto apply = dyn_cast<mlir::affine::AffineApplyOp>(op)) {
    SmallVector<Value *> operands;
    for (mlir::Value operand : apply.getMapOperands())
      operands.push_back(scalars.lookup(operand).value);
    mlir::AffineMap map = apply.getAffineMap();
    ArrayRef<Value *> all = operands;
    scalars[apply.getResult()] = {lanes::emitAffine(
        b, map.getResult(0), all.take_front(map.getNumDims()), all.drop_front(map.getNumDims()))};
    return;
  }
  if (auto load = dyn_cast<mlir::memref::LoadOp>(op)) {
    Value *index = b.i64(0);
    for (auto [part, size] : zip_equal(load.getIndices(), load.getMemRefType().getShape()))
      index = b.ir.CreateAdd(b.ir.CreateMul(index, b.i64(size)), scalars.lookup(part).value);
    scalars[load.getResult()] = b.load(load.getMemRefType().getElementType(),
                                       pointerTo(load.getMemRef()), index, 1, nullptr);
    return;
  }
  if (auto extract = dyn_cast<mlir::tensor::ExtractOp>(op)) {
    // Store the tile in memory first, because there is no loop in which to evaluate it.
    mlir::Value tile = extract.getTensor();
    flush();
    if (!homes.count(tile))
      keepTiles(tile, {});
    Home home = homes[tile];
    if (!home.buffer) {
      scalars[extract.getResult()] = home.element;
      return;
    }
    auto type = cast<mlir::RankedTensorType>(tile.getType());
    Value *index = b.i64(0);
    for (auto [part, size] : zip_equal(extract.getIndices(), type.getShape()))
      index = b.ir.CreateAdd(b.ir.CreateMul(index, b.i64(size)), scalars.lookup(part).value);
    scalars[extract.getResult()] = b.load(type.getElementType(), home.buffer, index, 1, nullptr);
    return;
  }
  SmallVector<Lanes> operands;
  for (mlir::Value operand : op->getOperands())
    operands.push_back(scalars.lookup(operand));
  for (auto [result, value] : zip_equal(op->getResults(), lanes::emitOp(b, op, operands, 1)))
    scalars[result] = value;
}

void KernelEmitter::flush(bool isLast) {
  SmallVector<Root> roots;
  std::swap(roots, pending);
  if (roots.empty())
    return;
  auto isHome = [&](mlir::Value tile) { return homes.count(tile) != 0; };
  SmallVector<LoopGroup> groups = planGroups(roots, isHome);
  if (isLast && emitByRows(groups))
    return;
  for (LoopGroup &group : groups) {
    LoopEmitter emitter(*this, group);
    emitter.emit();
  }
}

static int64_t elementsOf(ArrayRef<int64_t> shape) {
  int64_t count = 1;
  for (int64_t size : shape)
    count *= size;
  return count;
}

bool KernelEmitter::emitByRows(ArrayRef<LoopGroup> groups) {
  // Rows shorter than this are better vectorized across rows.
  constexpr int64_t leastRow = 32;
  if (groups.size() < 2 || !homes.empty() || groups[0].shape.empty() || groups[0].shape[0] == 1)
    return false;
  int64_t rows = groups[0].shape[0];
  DenseSet<mlir::Value> made;
  for (const LoopGroup &group : groups) {
    if (group.shape.empty() || group.shape[0] != rows || is_contained(group.reduced, 0) ||
        elementsOf(ArrayRef(group.shape).drop_front()) < leastRow)
      return false;
    for (const Root &root : group.roots) {
      if (isa_and_nonnull<tile::DotOp>(root.op) || (!root.op && transposedLoad(root.kept)))
        return false;
      if (!root.op)
        made.insert(root.kept);
      else if (!isa<tile::StoreOp>(root.op))
        made.insert_range(root.op->getResults());
    }
  }
  // Each iteration may read only its own row of the intermediate tiles.
  bool isLocal = true;
  for (const LoopGroup &group : groups) {
    auto look = [&](mlir::Value tile, mlir::AffineMap map) {
      if (made.contains(tile))
        isLocal &= map.getResult(0) == mlir::getAffineDimExpr(0, map.getContext());
      return true;
    };
    TileWalk walk{[](mlir::Value) { return false; },
                  [&](mlir::Value tile, mlir::AffineMap map) { look(tile, map); },
                  look,
                  {}};
    for (const Root &root : group.roots)
      for (auto [tile, map] : readsOf(root))
        walk.visit(tile, map, group.shape);
  }
  if (!isLocal)
    return false;

  LoopEmitter::Bound bound = LoopEmitter::rowBound(groups);
  Value *count = b.i64(rows);
  if (bound.offset) {
    Value *left = b.ir.CreateSub(b.i64(bound.size), scalars.lookup(bound.offset).value);
    count = b.ir.CreateBinaryIntrinsic(Intrinsic::smin, left, count);
  }
  rowTiles = std::move(made);
  b.loop(count, [&](Value *row) {
    for (const LoopGroup &group : groups) {
      LoopEmitter emitter(*this, group);
      emitter.row = row;
      emitter.boundOfRows = bound;
      emitter.emit();
    }
  });
  return true;
}

Value *KernelEmitter::newBuffer(int64_t bytes) {
  int64_t offset = scratchBytes;
  scratchBytes += (bytes + 63) / 64 * 64;
  // Create it in the entry block, which dominates all readers of the buffer.
  BasicBlock &entry = function->getEntryBlock();
  IRBuilder<> first(&entry, entry.begin());
  return first.CreateConstGEP1_64(first.getInt8Ty(), scratch, uint64_t(offset));
}

KernelEmitter::Home KernelEmitter::newHome(mlir::Value tile) {
  auto type = cast<mlir::RankedTensorType>(tile.getType());
  int64_t count = type.getNumElements();
  if (rowTiles.contains(tile))
    count /= type.getDimSize(0);
  if (count == 1)
    return {};
  return {{}, newBuffer(count * lanes::storageBytes(type.getElementType()))};
}

void KernelEmitter::keepTiles(ArrayRef<mlir::Value> tiles, ArrayRef<Home> where) {
  flush();
  SmallVector<Root> roots;
  for (mlir::Value tile : tiles)
    roots.push_back({nullptr, tile});
  auto isHome = [&](mlir::Value tile) { return homes.count(tile) != 0; };
  for (LoopGroup &group : planGroups(roots, isHome)) {
    LoopEmitter emitter(*this, group);
    for (auto [tile, home] : zip(tiles, where))
      emitter.targets[tile] = home;
    emitter.emit();
  }
}

void KernelEmitter::emitFor(mlir::scf::ForOp loop) {
  flush();
  IRBuilder<> &ir = b.ir;
  // Loop-carried values live in memory: buffers for tiles, stack slots for single elements.
  struct Carried {
    Value *buffer = nullptr, *next = nullptr;
    AllocaInst *slot = nullptr, *imag = nullptr;
    int64_t bytes = 0;
  };
  SmallVector<Carried> carried;
  auto read = [&](const Carried &c) -> Lanes {
    return {ir.CreateLoad(c.slot->getAllocatedType(), c.slot),
            c.imag ? ir.CreateLoad(c.imag->getAllocatedType(), c.imag) : nullptr};
  };
  auto write = [&](const Carried &c, Lanes value) {
    ir.CreateStore(value.value, c.slot);
    if (c.imag)
      ir.CreateStore(value.imag, c.imag);
  };
  auto isTile = [](mlir::Value value) { return isa<mlir::RankedTensorType>(value.getType()); };
  /// The value of a scalar, or the element of a tile with one element.
  auto elementOf = [&](mlir::Value value) -> Lanes {
    if (!isTile(value))
      return scalars.lookup(value);
    auto known = homes.find(value);
    if (known != homes.end())
      return known->second.element;
    keepTiles(value, {});
    return homes[value].element;
  };
  for (mlir::Value init : loop.getInitArgs()) {
    Carried c;
    mlir::Type type = mlir::getElementTypeOrSelf(init.getType());
    int64_t count =
        isTile(init) ? cast<mlir::RankedTensorType>(init.getType()).getNumElements() : 1;
    if (count == 1) {
      c.slot = b.slot(b.computeType(type));
      if (b.isComplex(type))
        c.imag = b.slot(b.computeType(type));
      write(c, elementOf(init));
    } else {
      c.bytes = count * lanes::storageBytes(type);
      c.buffer = newBuffer(c.bytes);
      c.next = newBuffer(c.bytes);
      copyTile(init, c.buffer);
    }
    carried.push_back(c);
  }
  auto bind = [&](mlir::ValueRange values) {
    for (auto [value, c] : zip_equal(values, carried)) {
      if (c.buffer)
        homes[value] = {{}, c.buffer};
      else if (isTile(value))
        homes[value] = {read(c), nullptr};
      else
        scalars[value] = read(c);
    }
  };
  Value *lower = scalars.lookup(loop.getLowerBound()).value;
  Value *upper = scalars.lookup(loop.getUpperBound()).value;
  Value *step = scalars.lookup(loop.getStep()).value;
  Value *distance = ir.CreateAdd(ir.CreateSub(upper, lower), ir.CreateSub(step, b.i64(1)));
  Value *trips = ir.CreateSDiv(ir.CreateBinaryIntrinsic(Intrinsic::smax, distance, b.i64(0)), step);
  double outer = repeats;
  if (auto *known = dyn_cast<ConstantInt>(trips))
    repeats *= double(known->getSExtValue());
  b.loop(trips, [&](Value *iteration) {
    scalars[loop.getInductionVar()] = {ir.CreateAdd(lower, ir.CreateMul(iteration, step))};
    bind(loop.getRegionIterArgs());
    emitBlock(*loop.getBody());
    flush();
    // Compute all new values before storing any, because they may read each other's old values.
    mlir::ValueRange yields = loop.getBody()->getTerminator()->getOperands();
    SmallVector<Lanes> elements;
    for (auto [value, c] : zip_equal(yields, carried)) {
      elements.push_back(c.slot ? elementOf(value) : Lanes());
      if (c.buffer)
        copyTile(value, c.next);
    }
    for (auto [element, c] : zip_equal(elements, carried)) {
      if (c.slot)
        write(c, element);
      else
        ir.CreateMemCpy(c.buffer, Align(64), c.next, Align(64), uint64_t(c.bytes));
    }
  });
  repeats = outer;
  bind(loop.getResults());
}

/// Evaluates a tile into `buffer` without changing the tile's home.
void KernelEmitter::copyTile(mlir::Value tile, Value *buffer) {
  flush();
  auto known = homes.find(tile);
  if (known != homes.end()) {
    auto type = cast<mlir::RankedTensorType>(tile.getType());
    b.ir.CreateMemCpy(buffer, Align(64), known->second.buffer, Align(64),
                      uint64_t(type.getNumElements() * lanes::storageBytes(type.getElementType())));
    return;
  }
  keepTiles(tile, Home{{}, buffer});
  homes.erase(tile);
}

void KernelEmitter::emitIf(mlir::scf::IfOp branch) {
  std::string location;
  raw_string_ostream(location) << branch.getLoc();
  b.fail(
      Status(Error::cpuTileOp, "'scf.if' at " + location + " is not supported by the CPU target"));
  for (mlir::Value result : branch.getResults()) {
    mlir::Type type = mlir::getElementTypeOrSelf(result.getType());
    Value *poison = PoisonValue::get(b.computeType(type));
    scalars[result] = {poison, b.isComplex(type) ? poison : nullptr};
    homes[result] = {scalars[result], nullptr};
  }
}

} // namespace tilewright::cpu
