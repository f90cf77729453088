// Loads and stores of one thread.
#ifndef TILEWRIGHT_TARGET_NVPTX_EMIT_MEMORYACCESS_H
#define TILEWRIGHT_TARGET_NVPTX_EMIT_MEMORYACCESS_H

#include "tilewright/target/lanes/Lanes.h"

namespace tilewright::nvptx {

/// Loads `parts` values of `type`. If `isOn` is given and false, reads nothing and returns
/// `outside` (one value per part).
llvm::SmallVector<llvm::Value *> loadParts(llvm::IRBuilder<> &ir, llvm::Type *type, unsigned parts,
                                           llvm::Value *address, llvm::Value *isOn,
                                           llvm::ArrayRef<llvm::Value *> outside);

/// Stores values of the same type. If `isOn` is given and false, writes nothing.
void storeParts(llvm::IRBuilder<> &ir, llvm::ArrayRef<llvm::Value *> parts, llvm::Value *address,
                llvm::Value *isOn);

} // namespace tilewright::nvptx

#endif // TILEWRIGHT_TARGET_NVPTX_EMIT_MEMORYACCESS_H
