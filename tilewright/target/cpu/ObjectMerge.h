// Several ELF relocatable files as one.
#ifndef TILEWRIGHT_TARGET_CPU_OBJECTMERGE_H
#define TILEWRIGHT_TARGET_CPU_OBJECTMERGE_H

#include "tilewright/support/Status.h"

#include <cstddef>
#include <span>
#include <vector>

namespace tilewright::cpu {

/// What `ld -r` would make of objects for x86-64 that the code generator wrote, so that it can run
/// on several threads: sections one after another, symbols joined by name. Fails with E4001.
Result<std::vector<std::byte>> mergeObjects(std::span<const std::vector<std::byte>> objects);

} // namespace tilewright::cpu

#endif // TILEWRIGHT_TARGET_CPU_OBJECTMERGE_H
