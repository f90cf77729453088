// Exchanges values between the lanes of a warp.
#ifndef TILEWRIGHT_TARGET_NVPTX_LOWER_THREAD_SHUFFLE_H
#define TILEWRIGHT_TARGET_NVPTX_LOWER_THREAD_SHUFFLE_H

#include "tilewright/target/nvptx/lower/thread/ThreadBuilder.h"

namespace tilewright::nvptx {

/// Reads a value of any type from another lane: from `lane ^ mask`, or from lane `from`.
Value shuffleXor(ThreadBuilder &b, Value value, int64_t mask);
Value shuffleFrom(ThreadBuilder &b, Value value, Value from);
Lanes shuffleXor(ThreadBuilder &b, Lanes value, int64_t mask);
Lanes shuffleFrom(ThreadBuilder &b, Lanes value, Value from);

} // namespace tilewright::nvptx

#endif // TILEWRIGHT_TARGET_NVPTX_LOWER_THREAD_SHUFFLE_H
