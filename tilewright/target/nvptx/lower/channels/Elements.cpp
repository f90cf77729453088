// Channels of single elements, by which a role sends a number to a role of one thread.
#include "tilewright/target/nvptx/lower/KernelLowering.h"

using namespace llvm;

namespace tilewright::nvptx {

/// Whether a copy moves one element of 32 bits between a slot and a tile in registers.
static bool isOfElement(Type buffer, Type tile) {
  auto slot = dyn_cast<sm::BufferType>(buffer);
  auto type = dyn_cast<mlir::RankedTensorType>(tile);
  return slot && type && type.getNumElements() == 1 &&
         mlir::ShapedType::getNumElements(slot.getShape()) == 1 &&
         slot.getElementType().isIntOrFloat() &&
         slot.getElementType().getIntOrFloatBitWidth() == 32;
}

void ChannelsLowering::waitAsFirst(Value barrier, Value phase) {
  Value isFirst = b.zext(b.equal(kernel.thread, b.i32(0)), b.i32Type);
  b.assembly({},
             "{\n.reg .pred done, other;\nsetp.eq.b32 other, $2, 0;\n@other bra "
             "after;\nagain:\nmbarrier.try_wait.parity.shared::cta.b64 done, [$0], $1;\n@!done bra "
             "again;\nafter:\n}",
             "r,r,r,~{memory}", {barrier, phase, isFirst});
}

void ChannelsLowering::storeElement(sm::CopyOp copy) {
  if (!copy.getTarget() || !isOfElement(copy.getTarget().getType(), copy.getSource().getType()))
    return kernel.refuse(copy, "must copy one element of 32 bits from registers to a slot");
  // Every thread holds the element; the first one stores it.
  Value element = b.bitcast(kernel.tiles[copy.getSource()].front().value, b.i32Type);
  Value isFirst = b.zext(b.equal(kernel.thread, b.i32(0)), b.i32Type);
  b.assembly({}, "{\n.reg .pred on;\nsetp.ne.b32 on, $2, 0;\n@on st.shared.b32 [$0], $1;\n}",
             "r,r,r,~{memory}", {kernel.buffers[copy.getTarget()].address, element, isFirst});
}

void ChannelsLowering::loadElement(sm::CopyOp copy) {
  if (!copy.getResult() || !isOfElement(copy.getSource().getType(), copy.getResult().getType()))
    return kernel.refuse(copy, "must copy one element of 32 bits from a slot to registers");
  Type element = cast<mlir::RankedTensorType>(copy.getResult().getType()).getElementType();
  Value word = b.load(b.i32Type, b.sharedPointer(kernel.buffers[copy.getSource()].address));
  kernel.tiles[copy.getResult()] = {{b.bitcast(word, element)}};
}

} // namespace tilewright::nvptx
