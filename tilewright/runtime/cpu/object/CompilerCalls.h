// CompilerCalls: what compilers call where the machine has no instruction.
#ifndef TILEWRIGHT_RUNTIME_CPU_OBJECT_COMPILERCALLS_H
#define TILEWRIGHT_RUNTIME_CPU_OBJECT_COMPILERCALLS_H

#include "tilewright/runtime/cpu/object/RuntimeSymbols.h"

#include <span>

namespace tilewright::runtime::cpu {

/// Conversions of f16 and bf16, powers with integer exponents and 128-bit
/// division, under the names that LLVM calls. Ours and not the compiler's own
/// library, whose older versions lack some of them and pass f16 otherwise.
std::span<const RuntimeSymbol> compilerSymbols();

} // namespace tilewright::runtime::cpu

#endif // TILEWRIGHT_RUNTIME_CPU_OBJECT_COMPILERCALLS_H
