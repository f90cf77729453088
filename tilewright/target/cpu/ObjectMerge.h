// Merges several ELF relocatable files into one.
#ifndef TILEWRIGHT_TARGET_CPU_OBJECTMERGE_H
#define TILEWRIGHT_TARGET_CPU_OBJECTMERGE_H

#include "tilewright/support/Status.h"

#include <cstddef>
#include <span>
#include <vector>

namespace tilewright::cpu {

/// Merges the code generator's x86-64 objects like `ld -r`, so that the code generator can run on
/// several threads: concatenates sections and resolves symbols by name. Fails with E4001.
Result<std::vector<std::byte>> mergeObjects(std::span<const std::vector<std::byte>> objects);

} // namespace tilewright::cpu

#endif // TILEWRIGHT_TARGET_CPU_OBJECTMERGE_H
