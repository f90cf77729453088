#include "tilewright/runtime/cpu/object/RuntimeSymbols.h"

#include "tilewright/runtime/cpu/object/CompilerCalls.h"
#include "tilewright/runtime/cpu/object/ScalarCalls.h"

#include <algorithm>
#include <cstring>
#include <math.h>
#include <vector>

namespace tilewright::runtime::cpu {

/// Takes the address of a C function. C++ overloads many of these names, so callers specify the
/// signature.
template <typename Function> static const void *addressOf(Function *function) {
  return reinterpret_cast<const void *>(function);
}

static std::vector<RuntimeSymbol> makeSymbols() {
  std::vector<RuntimeSymbol> symbols = {
      {"memcpy", addressOf<void *(void *, const void *, size_t)>(::memcpy)},
      {"memmove", addressOf<void *(void *, const void *, size_t)>(::memmove)},
      {"memset", addressOf<void *(void *, int, size_t)>(::memset)},
      {"memcmp", addressOf<int(const void *, const void *, size_t)>(::memcmp)},
      {"bcmp", addressOf<int(const void *, const void *, size_t)>(::memcmp)},
      {"ldexp", addressOf<double(double, int)>(::ldexp)},
      {"ldexpf", addressOf<float(float, int)>(::ldexpf)},
      {"frexp", addressOf<double(double, int *)>(::frexp)},
      {"frexpf", addressOf<float(float, int *)>(::frexpf)},
      {"sincos", addressOf<void(double, double *, double *)>(::sincos)},
      {"sincosf", addressOf<void(float, float *, float *)>(::sincosf)},
      {"fma", addressOf<double(double, double, double)>(::fma)},
      {"fmaf", addressOf<float(float, float, float)>(::fmaf)},
      {"tw_scalar_call", addressOf(tw_scalar_call)},
      {"tw_scalar_calls", addressOf(tw_scalar_calls)},
  };
#define TILEWRIGHT_UNARY(name)                                                                     \
  symbols.push_back({#name, addressOf<double(double)>(::name)});                                   \
  symbols.push_back({#name "f", addressOf<float(float)>(::name##f)});
#define TILEWRIGHT_BINARY(name)                                                                    \
  symbols.push_back({#name, addressOf<double(double, double)>(::name)});                           \
  symbols.push_back({#name "f", addressOf<float(float, float)>(::name##f)});
  TILEWRIGHT_UNARY(acos)
  TILEWRIGHT_UNARY(acosh)
  TILEWRIGHT_UNARY(asin)
  TILEWRIGHT_UNARY(asinh)
  TILEWRIGHT_UNARY(atan)
  TILEWRIGHT_UNARY(atanh)
  TILEWRIGHT_UNARY(cbrt)
  TILEWRIGHT_UNARY(ceil)
  TILEWRIGHT_UNARY(cos)
  TILEWRIGHT_UNARY(cosh)
  TILEWRIGHT_UNARY(erf)
  TILEWRIGHT_UNARY(erfc)
  TILEWRIGHT_UNARY(exp)
  TILEWRIGHT_UNARY(exp10)
  TILEWRIGHT_UNARY(exp2)
  TILEWRIGHT_UNARY(expm1)
  TILEWRIGHT_UNARY(fabs)
  TILEWRIGHT_UNARY(floor)
  TILEWRIGHT_UNARY(lgamma)
  TILEWRIGHT_UNARY(log)
  TILEWRIGHT_UNARY(log10)
  TILEWRIGHT_UNARY(log1p)
  TILEWRIGHT_UNARY(log2)
  TILEWRIGHT_UNARY(nearbyint)
  TILEWRIGHT_UNARY(rint)
  TILEWRIGHT_UNARY(round)
  TILEWRIGHT_UNARY(roundeven)
  TILEWRIGHT_UNARY(sin)
  TILEWRIGHT_UNARY(sinh)
  TILEWRIGHT_UNARY(sqrt)
  TILEWRIGHT_UNARY(tan)
  TILEWRIGHT_UNARY(tanh)
  TILEWRIGHT_UNARY(tgamma)
  TILEWRIGHT_UNARY(trunc)
  TILEWRIGHT_BINARY(atan2)
  TILEWRIGHT_BINARY(copysign)
  TILEWRIGHT_BINARY(fdim)
  TILEWRIGHT_BINARY(fmax)
  TILEWRIGHT_BINARY(fmin)
  TILEWRIGHT_BINARY(fmod)
  TILEWRIGHT_BINARY(hypot)
  TILEWRIGHT_BINARY(nextafter)
  TILEWRIGHT_BINARY(pow)
  TILEWRIGHT_BINARY(remainder)
#undef TILEWRIGHT_UNARY
#undef TILEWRIGHT_BINARY
  const std::span<const RuntimeSymbol> compilerCalls = compilerSymbols();
  symbols.insert(symbols.end(), compilerCalls.begin(), compilerCalls.end());
  std::sort(symbols.begin(), symbols.end(),
            [](const RuntimeSymbol &a, const RuntimeSymbol &b) { return a.name < b.name; });
  return symbols;
}

std::span<const RuntimeSymbol> runtimeSymbols() {
  static const std::vector<RuntimeSymbol> symbols = makeSymbols();
  return symbols;
}

const void *findRuntimeSymbol(std::string_view name) {
  const std::span<const RuntimeSymbol> symbols = runtimeSymbols();
  auto found = std::lower_bound(
      symbols.begin(), symbols.end(), name,
      [](const RuntimeSymbol &symbol, std::string_view name) { return symbol.name < name; });
  return found != symbols.end() && found->name == name ? found->address : nullptr;
}

} // namespace tilewright::runtime::cpu
