// Warpgroup matrix instructions (wgmma): operands are in shared memory, given by descriptors; the
// accumulator is in registers.
#include "tilewright/target/nvptx/lower/KernelEmitter.h"

#include "tilewright/support/Concat.h"
#include "tilewright/target/nvptx/lower/Shuffle.h"
#include "tilewright/target/nvptx/lower/Wgmma.h"

using namespace llvm;

namespace tilewright::nvptx {

using sm::Axis;

namespace wgmma {

std::optional<OperandWalk> walkOf(sm::BufferType buffer, size_t own) {
  const sm::Layout &layout = buffer.getLayout().getValue();
  const int64_t bytes = buffer.getElementType().getIntOrFloatBitWidth() / 8, line = 128 / bytes;
  const sm::Layout::Digits &rows = layout.getDims()[own], &depth = layout.getDims()[1 - own];
  if (rows.empty() || depth.empty() || layout.getFlips().size() != 3)
    return std::nullopt;
  OperandWalk walk;
  walk.kInner = depth.back().axis == Axis::offset && depth.back().stride == 1;
  if (walk.kInner) {
    if (rows.back().stride != line)
      return std::nullopt;
    walk.step = 32 / 16;
    walk.block = 64 * 128 / 16;
    return walk;
  }
  if (rows.back().stride != 1 || rows.back().size != line || depth.back().stride != line)
    return std::nullopt;
  if (rows.size() > 1 && rows[rows.size() - 2].axis == Axis::offset)
    walk.lead = rows[rows.size() - 2].stride * bytes / 16;
  walk.step = (32 / bytes) * 128 / 16;
  walk.block = walk.lead;
  return walk;
}

std::optional<Kind> kindOf(Type element, Type sum) {
  if (element.isF16() && sum.isF32())
    return Kind{"f32.f16.f16", 16, true, true};
  if (element.isBF16() && sum.isF32())
    return Kind{"f32.bf16.bf16", 16, true, true};
  if (isa<mlir::Float8E4M3FNType>(element) && sum.isF32())
    return Kind{"f32.e4m3.e4m3", 32, false, true};
  if (isa<mlir::Float8E5M2Type>(element) && sum.isF32())
    return Kind{"f32.e5m2.e5m2", 32, false, true};
  if (element.isInteger(8) && sum.isInteger(32))
    return Kind{"s32.s8.s8", 32, false, false};
  return std::nullopt;
}

std::string instruction(const Kind &kind, int64_t columns, int64_t block, std::string_view left,
                        bool accumulates, std::string_view order) {
  const int64_t perBlock = columns / 2;
  std::string text =
      concat("wgmma.mma_async.sync.aligned.m64n", columns, "k", kind.depth, ".", kind.types, " {");
  for (int64_t i = 0; i < perBlock; ++i)
    text += concat(i ? ", $" : "$", block * perBlock + i);
  text += concat("}, ", left, ", c, ", accumulates ? "on" : "off");
  if (kind.hasSigns)
    text += ", 1, 1";
  if (kind.hasOrder)
    text += order;
  return text + ";\n";
}

Value descriptor(ThreadBuilder &b, Value address, const OperandWalk &walk) {
  Value start = b.lshr(address, b.i32(4));
  return b.bitOr(b.bitAnd(start, b.i32(0x3FFF)), b.i32(walk.lead << 16));
}

Tile emitGroup(ThreadBuilder &b, Type element, int64_t sums, const std::string &text,
               ArrayRef<Value> words, const Tile *acc) {
  std::string constraints;
  for (int64_t i = 0; i < sums; ++i)
    constraints += concat(i ? "," : "", acc ? "=" : "=&", element.isInteger() ? "r" : "f");
  SmallVector<Value> operands(words);
  for (size_t i = 0; i < words.size(); ++i)
    constraints += ",r";
  for (int64_t i = 0; acc && i < sums; ++i) {
    constraints += concat(",", i);
    operands.push_back((*acc)[size_t(i)].value);
  }
  SmallVector<Type> types(size_t(sums), b.computeType(element));
  Value all = b.assembly(b.structOf(types), text, constraints + ",~{memory}", operands);
  Tile result;
  for (unsigned i = 0; i < sums; ++i)
    result.push_back({b.extractValue(all, i)});
  return result;
}

} // namespace wgmma

using namespace wgmma;

void KernelEmitter::emitMma(sm::MmaOp mma) {
  if (mma.getAtom() == sm::Atom::mma_sync)
    return emitMmaSync(mma);
  if (isa<mlir::RankedTensorType>(mma.getLhs().getType()))
    return emitMmaFromRegisters(mma);
  auto lhs = dyn_cast<sm::BufferType>(mma.getLhs().getType()),
       rhs = dyn_cast<sm::BufferType>(mma.getRhs().getType());
  if (mma.getAtom() != sm::Atom::wgmma || chip.matrix != MatrixUnit::wgmma || !lhs || !rhs)
    return refuse(mma, "must be a wgmma with both operands in buffers, on a chip with wgmma");
  auto type = cast<mlir::RankedTensorType>(mma.getResult().getType());
  std::optional<Kind> kind = kindOf(lhs.getElementType(), type.getElementType());
  std::optional<OperandWalk> a = walkOf(lhs, 0), c = walkOf(rhs, 1);
  if (!kind || lhs.getElementType() != rhs.getElementType())
    return refuse(mma, "multiplies types that wgmma does not support");
  if (!a || !c || (!kind->hasOrder && (!a->kInner || !c->kInner)))
    return refuse(
        mma, concat("has operands that wgmma does not support: ", lhs.getLayout().getValue().str(),
                    " and ", rhs.getLayout().getValue().str()));
  const sm::Layout &layout = sm::layoutOf(type).getValue();
  const int64_t registers = layout.extent(Axis::reg), groups = layout.extent(Axis::group);
  const int64_t rows = layout.cover(0) / clusterDigit(layout, 0) / groups,
                columns = layout.cover(1) / clusterDigit(layout, 1);
  const int64_t blocks = rows / 64, perBlock = columns / 2;
  const int64_t depth = lhs.getLayout().getValue().cover(1);
  if (rows % 64 != 0 || columns % 8 != 0 || columns > 256 || registers != blocks * perBlock ||
      depth % kind->depth != 0 || currentRole == sm::RoleOp() ||
      int64_t(currentRole.getWarps()) != 4 * groups)
    return refuse(mma,
                  concat("has an accumulator layout that wgmma does not support: ", layout.str()));

  Value low = descriptor(b, buffers[mma.getLhs()].address, *a);
  Value lowRhs = descriptor(b, buffers[mma.getRhs()].address, *c);
  if (groups > 1) {
    // Warpgroups other than the first add their rows. A shuffle makes the value warp-uniform for
    // ptxas, which then keeps descriptors in uniform registers.
    Value group = once([&]() -> Value {
      Value all = b.intrinsic(b.i32Type, "llvm.nvvm.read.ptx.sreg.tid.x", {});
      return b.sub(shuffleFrom(b, b.lshr(all, i32(7)), i32(0)), i32(firstWarp / 4));
    });
    low = b.add(low, b.mul(group, i32(a->block * blocks)));
  }

  // Emit all instructions as one inline assembly, which takes and returns the accumulator once, so
  // that no other instruction touches its registers in between.
  const Tile *acc = mma.getAcc() ? &tiles[mma.getAcc()] : nullptr;
  std::string text = "{\n.reg .b64 a, c;\n.reg .b32 al, cl;\n.reg .pred on, off;\nsetp.eq.b32 on, "
                     "0, 0;\nsetp.ne.b32 off, 0, 0;\n"
                     "wgmma.fence.sync.aligned;\n";
  const std::string order = concat(", ", a->kInner ? 0 : 1, ", ", c->kInner ? 0 : 1);
  for (int64_t step = 0; step < depth / kind->depth; ++step)
    for (int64_t block = 0; block < blocks; ++block) {
      text += concat("add.u32 al, $", registers, ", ", a->step * step + a->block * block, ";\n");
      text += concat("add.u32 cl, $", registers + 1, ", ", c->step * step, ";\n");
      // Stride of 1024 bytes per eight rows (or K steps); 128-byte swizzle.
      text += "mov.b64 a, {al, 0x40000040};\nmov.b64 c, {cl, 0x40000040};\n";
      text += instruction(*kind, columns, block, "a", acc || step > 0, order);
    }
  text += "wgmma.commit_group.sync.aligned;\n}";
  Tile sum = emitGroup(b, type.getElementType(), registers, text, {low, lowRhs}, acc);
  tiles[mma.getResult()] = std::move(sum);
  inFlight.insert(mma.getResult());
  countProducts(mma, 1);
}

/// Whether a product reads a slot of a channel.
static bool reads(sm::MmaOp mma, Value channel) {
  for (Value operand : {mma.getLhs(), mma.getRhs()})
    if (auto take = operand.getDefiningOp<sm::TakeOp>(); take && take.getChannel() == channel)
      return true;
  return false;
}

void KernelEmitter::countProducts(sm::MmaOp mma, int64_t count) {
  // Count this product for each slot whose last reader was issued before it.
  for (auto &[channel, held] : taken)
    for (size_t i = 0; i < held.size(); ++i)
      if (!reads(mma, channel) || i + 1 < held.size())
        held[i] += count;
}

void KernelEmitter::waitProducts(int64_t left) {
  b.assembly({}, concat("wgmma.wait_group.sync.aligned ", left, ";"), "~{memory}", {});
}

void KernelEmitter::settle(Value value) {
  if (!inFlight.contains(value))
    return;
  inFlight.erase(value);
  // Make the registers operands of the wait, so that no instruction reads them before it.
  Tile &tile = tiles[value];
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
  Value all = b.assembly(b.structOf(types), "wgmma.wait_group.sync.aligned 0;",
                         constraints + ",~{memory}", operands);
  for (unsigned i = 0; i < tile.size(); ++i)
    tile[i].value = b.extractValue(all, i);
}

} // namespace tilewright::nvptx
