#include "tilewright/target/nvptx/lower/matrix/WgmmaInstruction.h"

#include "tilewright/support/Concat.h"

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
    walk.stepsOfLine = 128 / 32;
    if (depth.size() > 2 || depth.back().size != line)
      return std::nullopt;
    if (depth.size() == 2)
      walk.nextLine = depth.front().stride * bytes / 16;
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
  if (element.isF32() && sum.isF32())
    return Kind{"f32.tf32.tf32", 8, false, true};
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

bool isRoundedToTf32(Value buffer) {
  auto take = buffer.getDefiningOp<sm::TakeOp>();
  if (!take)
    return false;
  const unsigned number = cast<mlir::OpResult>(buffer).getResultNumber();
  return all_of(take.getChannel().getUsers(), [&](mlir::Operation *user) {
    auto acquire = dyn_cast<sm::AcquireOp>(user);
    return !acquire || all_of(acquire.getResult(number).getUsers(), [](mlir::Operation *writer) {
      auto copy = dyn_cast<sm::CopyOp>(writer);
      return copy && copy.getTf32();
    });
  });
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

} // namespace tilewright::nvptx
