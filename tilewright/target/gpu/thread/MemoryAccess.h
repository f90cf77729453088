// Loads and stores of one thread.
#ifndef TILEWRIGHT_TARGET_GPU_THREAD_MEMORYACCESS_H
#define TILEWRIGHT_TARGET_GPU_THREAD_MEMORYACCESS_H

#include "tilewright/target/gpu/thread/ThreadBuilder.h"

namespace tilewright::gpu {

/// Loads `parts` values of `type`. If `isOn` is given and false, reads nothing and returns
/// `outside` (one value per part).
llvm::SmallVector<Value> loadParts(ThreadBuilder &b, Type type, unsigned parts, Value address,
                                   Value isOn, llvm::ArrayRef<Value> outside);

/// Stores values of the same type. If `isOn` is given and false, writes nothing.
void storeParts(ThreadBuilder &b, llvm::ArrayRef<Value> parts, Value address, Value isOn);

} // namespace tilewright::gpu

#endif // TILEWRIGHT_TARGET_GPU_THREAD_MEMORYACCESS_H
