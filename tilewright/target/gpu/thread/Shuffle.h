// Exchanges values between the lanes of a warp.
#ifndef TILEWRIGHT_TARGET_GPU_THREAD_SHUFFLE_H
#define TILEWRIGHT_TARGET_GPU_THREAD_SHUFFLE_H

#include "tilewright/target/gpu/thread/ThreadBuilder.h"

namespace tilewright::gpu {

/// Reads a value of any type from another lane: from `lane ^ mask`, or from lane `from`.
Value shuffleXor(ThreadBuilder &b, Value value, int64_t mask);
Value shuffleFrom(ThreadBuilder &b, Value value, Value from);
Lanes shuffleXor(ThreadBuilder &b, Lanes value, int64_t mask);
Lanes shuffleFrom(ThreadBuilder &b, Lanes value, Value from);

} // namespace tilewright::gpu

#endif // TILEWRIGHT_TARGET_GPU_THREAD_SHUFFLE_H
