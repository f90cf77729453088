// RuntimeSymbols: the functions that object code may call.
#ifndef TILEWRIGHT_RUNTIME_CPU_OBJECT_RUNTIMESYMBOLS_H
#define TILEWRIGHT_RUNTIME_CPU_OBJECT_RUNTIMESYMBOLS_H

#include <span>
#include <string_view>

namespace tilewright::runtime::cpu {

struct RuntimeSymbol {
  std::string_view name;
  const void *address;
};

/// All functions, sorted by name. The list is fixed, instead of all symbols of the process, so that
/// an executable that loads here loads on every machine with this version, and a file cannot call
/// `system`.
std::span<const RuntimeSymbol> runtimeSymbols();

/// The address of a function, or null.
const void *findRuntimeSymbol(std::string_view name);

} // namespace tilewright::runtime::cpu

#endif // TILEWRIGHT_RUNTIME_CPU_OBJECT_RUNTIMESYMBOLS_H
