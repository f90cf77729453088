// CompilerCalls: runtime functions that LLVM calls for operations without a machine instruction.
#ifndef TILEWRIGHT_RUNTIME_CPU_OBJECT_COMPILERCALLS_H
#define TILEWRIGHT_RUNTIME_CPU_OBJECT_COMPILERCALLS_H

#include "tilewright/runtime/cpu/object/RuntimeSymbols.h"

#include <span>

namespace tilewright::runtime::cpu {

/// Conversions of f16 and bf16, powers with integer exponents and 128-bit division, under the names
/// that LLVM calls. We define them instead of using the compiler's runtime library, because older
/// versions of it lack some of them and pass f16 differently.
std::span<const RuntimeSymbol> compilerSymbols();

} // namespace tilewright::runtime::cpu

#endif // TILEWRIGHT_RUNTIME_CPU_OBJECT_COMPILERCALLS_H
