// Warpgroup matrix instructions (wgmma): operands are in shared memory, given by descriptors; the
// accumulator is in registers.
#include "tilewright/target/nvptx/lower/KernelLowering.h"

#include "tilewright/support/Concat.h"
#include "tilewright/target/gpu/thread/Shuffle.h"
#include "tilewright/target/nvptx/lower/matrix/WgmmaInstruction.h"

using namespace llvm;

namespace tilewright::nvptx {

using sm::Axis;

using namespace wgmma;

void WgmmaLowering::mma(sm::MmaOp mma) {
  auto lhs = dyn_cast<sm::BufferType>(mma.getLhs().getType()),
       rhs = dyn_cast<sm::BufferType>(mma.getRhs().getType());
  if (mma.getAtom() != sm::Atom::wgmma || all.chip.matrix != MatrixUnit::wgmma || !lhs || !rhs)
    return kernel.refuse(mma,
                         "must be a wgmma with both operands in buffers, on a chip with wgmma");
  auto type = cast<mlir::RankedTensorType>(mma.getResult().getType());
  std::optional<Kind> kind = kindOf(lhs.getElementType(), type.getElementType());
  std::optional<OperandWalk> a = walkOf(lhs, 0), c = walkOf(rhs, 1);
  if (!kind || lhs.getElementType() != rhs.getElementType())
    return kernel.refuse(mma, "multiplies types that wgmma does not support");
  if (lhs.getElementType().isF32() &&
      !(isRoundedToTf32(mma.getLhs()) && isRoundedToTf32(mma.getRhs())))
    return kernel.refuse(mma, "multiplies f32 that no copy has rounded to tf32");
  if (!a || !c || (!kind->hasOrder && (!a->kInner || !c->kInner)))
    return kernel.refuse(
        mma, concat("has operands that wgmma does not support: ", lhs.getLayout().getValue().str(),
                    " and ", rhs.getLayout().getValue().str()));
  const sm::Layout &layout = sm::layoutOf(type).getValue();
  const int64_t registers = layout.extent(Axis::reg), groups = layout.extent(Axis::group);
  const int64_t rows = layout.cover(0) / clusterDigit(layout, 0) / groups,
                columns = layout.cover(1) / clusterDigit(layout, 1);
  const int64_t blocks = rows / 64, perBlock = columns / 2;
  // Lines may be longer than the depth: what follows is zero and need not be multiplied.
  const auto depth = int64_t(alignTo(uint64_t(lhs.getShape()[1]), uint64_t(kind->depth)));
  if (rows % 64 != 0 || columns % 8 != 0 || columns > 256 || registers != blocks * perBlock ||
      depth > lhs.getLayout().getValue().cover(1) || kernel.currentRole == sm::RoleOp() ||
      int64_t(kernel.currentRole.getWarps()) != 4 * groups)
    return kernel.refuse(
        mma, concat("has an accumulator layout that wgmma does not support: ", layout.str()));

  Value low = descriptor(b, kernel.buffers[mma.getLhs()].address, *a);
  Value lowRhs = descriptor(b, kernel.buffers[mma.getRhs()].address, *c);
  if (groups > 1) {
    // Warpgroups other than the first add their rows. A shuffle makes the value warp-uniform for
    // ptxas, which then keeps descriptors in uniform registers.
    Value group = kernel.once([&]() -> Value {
      Value all = b.make<NVVM::ThreadIdXOp>(b.i32Type);
      return b.sub(shuffleFrom(b, b.lshr(all, b.i32(7)), b.i32(0)), b.i32(kernel.firstWarp / 4));
    });
    low = b.add(low, b.mul(group, b.i32(a->block * blocks)));
  }

  // Emit all instructions as one inline assembly, which takes and returns the accumulator once, so
  // that no other instruction touches its registers in between.
  const Tile *acc = mma.getAcc() ? &kernel.tiles[mma.getAcc()] : nullptr;
  std::string text = "{\n.reg .b64 a, c;\n.reg .b32 al, cl;\n.reg .pred on, off;\nsetp.eq.b32 on, "
                     "0, 0;\nsetp.ne.b32 off, 0, 0;\n"
                     "wgmma.fence.sync.aligned;\n";
  const std::string order = concat(", ", a->kInner ? 0 : 1, ", ", c->kInner ? 0 : 1);
  for (int64_t step = 0; step < depth / kind->depth; ++step)
    for (int64_t block = 0; block < blocks; ++block) {
      text += concat("add.u32 al, $", registers, ", ", a->atStep(step) + a->block * block, ";\n");
      text += concat("add.u32 cl, $", registers + 1, ", ", c->atStep(step), ";\n");
      // Stride of 1024 bytes per eight rows (or K steps); 128-byte swizzle.
      text += "mov.b64 a, {al, 0x40000040};\nmov.b64 c, {cl, 0x40000040};\n";
      text += instruction(*kind, columns, block, "a", acc || step > 0, order);
    }
  text += "wgmma.commit_group.sync.aligned;\n}";
  Tile sum = emitGroup(b, type.getElementType(), registers, text, {low, lowRhs}, acc);
  kernel.tiles[mma.getResult()] = std::move(sum);
  recordIssue(mma, 1);
}

void WgmmaLowering::recordIssue(sm::MmaOp mma, int64_t groups) {
  issued += groups;
  inFlight[mma.getResult()] = issued;
  if (isa<mlir::RankedTensorType>(mma.getLhs().getType()))
    readsRegisters = issued;
  all.channels.countProducts(mma, groups);
}

void WgmmaLowering::waitProducts(int64_t left) {
  if (issued - left <= completed)
    return;
  completed = issued - left;
  b.make<NVVM::WgmmaWaitGroupSyncOp>(uint64_t(left));
}

std::string WgmmaLowering::waitForRegisterOperands() {
  if (readsRegisters <= completed)
    return {};
  completed = readsRegisters;
  return concat("wgmma.wait_group.sync.aligned ", issued - readsRegisters, ";");
}

void WgmmaLowering::forgetOrder() {
  for (auto &[tile, number] : inFlight)
    number = unknown;
  completed = none;
  if (issued > 0)
    readsRegisters = issued;
}

void WgmmaLowering::beginRole() {
  inFlight.clear();
  issued = 0;
  completed = readsRegisters = none;
}

void WgmmaLowering::settle(Value value, mlir::Operation *user) {
  auto found = inFlight.find(value);
  if (found == inFlight.end())
    return;
  const bool isCounted = found->second != unknown && value.getParentBlock() == user->getBlock();
  const int64_t left = isCounted ? issued - found->second : 0;
  // An earlier wait may already have covered this product.
  const bool isComplete = isCounted && found->second <= completed;
  completed = std::max(completed, issued - left);
  inFlight.erase(found);
  // Make the registers operands of the wait, so that no instruction reads them before it.
  Tile &tile = kernel.tiles[value];
  std::string constraints;
  SmallVector<Type> types;
  SmallVector<Value> operands;
  for (size_t i = 0; i < tile.size(); ++i) {
    constraints += concat(i ? "," : "", "=", tile[i].value.getType().isInteger() ? "r" : "f");
    types.push_back(tile[i].value.getType());
    operands.push_back(tile[i].value);
  }
  for (size_t i = 0; i < tile.size(); ++i)
    constraints += concat(",", i);
  Value all =
      b.assembly(b.structOf(types),
                 isComplete ? std::string() : concat("wgmma.wait_group.sync.aligned ", left, ";"),
                 constraints + ",~{memory}", operands);
  for (unsigned i = 0; i < tile.size(); ++i)
    tile[i].value = b.extractValue(all, i);
}

} // namespace tilewright::nvptx
