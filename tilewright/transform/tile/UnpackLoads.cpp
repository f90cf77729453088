// tile-unpack-loads: kernels of products load packed bytes and unpack them in registers.
#include "tilewright/dialect/exec/ExecDialect.h"
#include "tilewright/dialect/sm/IndexFacts.h"
#include "tilewright/dialect/tile/TileDialect.h"
#include "tilewright/transform/tile/EmitKernel.h"
#include "tilewright/transform/tile/Passes.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/SymbolTable.h"

using namespace mlir;

namespace tilewright::tile {
#define GEN_PASS_DEF_UNPACKLOADSPASS
#include "tilewright/transform/tile/Passes.h.inc"

namespace {

/// A launch that only unpacks an array from bytes to narrow elements, for readers that do not
/// unpack it themselves.
exec::LaunchOp unpackOf(Value value) {
  auto launch = value.getDefiningOp<exec::LaunchOp>();
  return launch && launch->hasAttr("exec.unpacks") ? launch : exec::LaunchOp();
}

/// The number of elements of a kernel's argument that are packed into a byte; 1 if no kernel
/// unpacks them (6-bit elements).
int64_t perByte(BlockArgument argument) {
  auto memory = dyn_cast<MemRefType>(argument.getType());
  if (!memory || !memory.getElementType().isIntOrFloat())
    return 1;
  const unsigned bits = memory.getElementTypeBitWidth();
  return bits == 2 || bits == 4 ? 8 / bits : 1;
}

bool isZero(Value padding) {
  return !padding || matchPattern(padding, m_Zero()) || matchPattern(padding, m_AnyZeroFloat());
}

/// Whether a load reads whole bytes: its tile begins and ends with a byte along the contiguous
/// dimension.
bool readsWholeBytes(LoadOp load, int64_t perByte) {
  auto memory = cast<MemRefType>(load.getSource().getType());
  auto tile = cast<RankedTensorType>(load.getType());
  const auto last = static_cast<size_t>(memory.getRank() - 1);
  return memory.getRank() > 0 && memory.getShape()[last] % perByte == 0 &&
         tile.getShape()[last] % perByte == 0 &&
         sm::divisorOf(load.getOffsets()[last]) % perByte == 0 &&
         (!load.getStrides() || (*load.getStrides())[last] == 1) && isZero(load.getPadding());
}

/// Replaces a load of elements by a load of their bytes, which are shifted by the position of each
/// element.
void unpackLoad(LoadOp load, int64_t perByte) {
  OpBuilder b(load);
  Location loc = load.getLoc();
  auto type = cast<RankedTensorType>(load.getType());
  const auto last = static_cast<unsigned>(type.getRank() - 1);
  SmallVector<Value> offsets(load.getOffsets());
  offsets[last] = affine::makeComposedAffineApply(b, loc, b.getAffineDimExpr(0).floorDiv(perByte),
                                                  {offsets[last]});
  SmallVector<int64_t> shape(type.getShape());
  shape[last] /= perByte;
  auto bytes = RankedTensorType::get(shape, b.getI8Type());
  Value packed = LoadOp::create(b, loc, bytes, load.getSource(), offsets, /*padding=*/Value(),
                                load.getStridesAttr(), load.getInBoundsAttr());
  SmallVector<AffineExpr> index;
  for (unsigned dim = 0; dim <= last; ++dim)
    index.push_back(dim == last ? b.getAffineDimExpr(dim).floorDiv(perByte)
                                : b.getAffineDimExpr(dim));
  Value spread = ViewOp::create(b, loc, type.clone(b.getI8Type()), packed,
                                AffineMap::get(last + 1, 0, index, b.getContext()));
  // The offset is a multiple of the number of elements in a byte, so the position in the byte
  // follows from the index in the tile.
  Value zero = arith::ConstantIndexOp::create(b, loc, 0);
  Value place = IotaOp::create(b, loc, type.clone(b.getI32Type()), zero, last, 1);
  auto map = MapOp::create(b, loc, TypeRange(type), ValueRange{place, spread});
  Block *body = b.createBlock(&map.getBody(), {}, {b.getI32Type(), b.getI8Type()}, {loc, loc});
  auto constant = [&](int64_t value) -> Value {
    return arith::ConstantIntOp::create(b, loc, b.getI32Type(), value);
  };
  const unsigned bits = type.getElementTypeBitWidth();
  Value at = arith::AndIOp::create(b, loc, body->getArgument(0), constant(perByte - 1));
  Value shift = arith::MulIOp::create(b, loc, at, constant(bits));
  Value wide = arith::ExtUIOp::create(b, loc, b.getI32Type(), body->getArgument(1));
  Value shifted = arith::ShRUIOp::create(b, loc, wide, shift);
  Value element = arith::TruncIOp::create(b, loc, b.getIntegerType(bits), shifted);
  if (isa<FloatType>(type.getElementType()))
    element = arith::BitcastOp::create(b, loc, type.getElementType(), element);
  YieldOp::create(b, loc, element);
  load.replaceAllUsesWith(map.getResult(0));
  load.erase();
}

bool isProduct(KernelOp kernel) {
  return kernel.getBody().walk([](DotOp) { return WalkResult::interrupt(); }).wasInterrupted();
}

struct UnpackLoads : impl::UnpackLoadsPassBase<UnpackLoads> {
  void runOnOperation() override {
    if (!exec::targetOf(getOperation()).isGpu())
      return;
    llvm::MapVector<Operation *, SmallVector<exec::LaunchOp>> launches;
    SymbolTable symbols(getOperation());
    getOperation().walk([&](exec::LaunchOp launch) {
      if (Operation *kernel = symbols.lookup(launch.getKernel()))
        launches[kernel].push_back(launch);
    });
    for (auto &[op, users] : launches)
      if (auto kernel = dyn_cast<KernelOp>(op); kernel && isProduct(kernel))
        unpackInputs(kernel, users);
    for (auto &[op, users] : launches) {
      llvm::erase_if(users, [](exec::LaunchOp launch) {
        const bool isDead = launch->hasAttr("exec.unpacks") && launch->use_empty();
        if (isDead)
          launch.erase();
        return isDead;
      });
      if (users.empty())
        symbols.erase(op);
    }
  }

  static void unpackInputs(KernelOp kernel, ArrayRef<exec::LaunchOp> users) {
    bool isChanged = false;
    for (auto [i, argument] : llvm::enumerate(kernel.getInputs())) {
      const int64_t count = perByte(argument);
      const auto input = static_cast<unsigned>(i);
      auto reads = [&](Operation *user) {
        auto load = dyn_cast<LoadOp>(user);
        return load && readsWholeBytes(load, count);
      };
      if (count == 1 || !llvm::all_of(argument.getUsers(), reads) ||
          !llvm::all_of(users, [&](exec::LaunchOp launch) {
            return bool(unpackOf(launch.getInputs()[input]));
          }))
        continue;
      auto memory = cast<MemRefType>(argument.getType());
      SmallVector<int64_t> shape(memory.getShape());
      shape.back() /= count;
      SmallVector<LoadOp> loads;
      for (Operation *user : argument.getUsers())
        loads.push_back(cast<LoadOp>(user));
      argument.setType(MemRefType::get(shape, IntegerType::get(kernel.getContext(), 8)));
      for (LoadOp load : loads)
        unpackLoad(load, count);
      for (exec::LaunchOp launch : users)
        launch.getInputsMutable()[input].set(unpackOf(launch.getInputs()[input]).getInputs()[0]);
      isChanged = true;
    }
    if (isChanged)
      mergeMaps(kernel);
  }
};

} // namespace
} // namespace tilewright::tile
