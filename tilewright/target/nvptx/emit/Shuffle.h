// Exchanges values between the lanes of a warp.
#ifndef TILEWRIGHT_TARGET_NVPTX_EMIT_SHUFFLE_H
#define TILEWRIGHT_TARGET_NVPTX_EMIT_SHUFFLE_H

#include "tilewright/target/lanes/Lanes.h"

namespace tilewright::nvptx {

/// Reads a value of any type from another lane: from `lane ^ mask`, or from lane `from`.
llvm::Value *shuffleXor(lanes::LaneBuilder &b, llvm::Value *value, int64_t mask);
llvm::Value *shuffleFrom(lanes::LaneBuilder &b, llvm::Value *value, llvm::Value *from);
lanes::Lanes shuffleXor(lanes::LaneBuilder &b, lanes::Lanes value, int64_t mask);
lanes::Lanes shuffleFrom(lanes::LaneBuilder &b, lanes::Lanes value, llvm::Value *from);

} // namespace tilewright::nvptx

#endif // TILEWRIGHT_TARGET_NVPTX_EMIT_SHUFFLE_H
