#include "tilewright/runtime/cpu/library/Isa.h"

#include <algorithm>
#include <cstdlib>
#include <string_view>

namespace tilewright::runtime::cpu {

static Isa detect() {
  Isa best = Isa::baseline;
#if defined(__x86_64__)
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
      __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("f16c"))
    best = Isa::avx2;
  if (best == Isa::avx2 && __builtin_cpu_supports("avx512f") &&
      __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
      __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512cd"))
    best = Isa::avx512;
#endif
  if (const char *text = std::getenv("TILEWRIGHT_CPU_ISA")) {
    const std::string_view name = text;
    if (name == "baseline")
      best = Isa::baseline;
    else if (name == "avx2")
      best = std::min(best, Isa::avx2);
  }
  return best;
}

Isa isaOfMachine() {
  static const Isa isa = detect();
  return isa;
}

} // namespace tilewright::runtime::cpu
