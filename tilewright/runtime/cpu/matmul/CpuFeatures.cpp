#include "tilewright/runtime/cpu/matmul/CpuFeatures.h"

#include <algorithm>
#include <string_view>

#include <unistd.h>
#if defined(__x86_64__)
#include <cpuid.h>
#include <sys/syscall.h>
#endif

namespace tilewright::runtime::cpu {

#if defined(__x86_64__)

/// The register state that the operating system saves, one bit for each kind.
static uint64_t savedState() {
  uint32_t low = 0, high = 0;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return low | uint64_t(high) << 32;
}

/// Linux enables the AMX tile registers on request, for the whole process.
static bool requestMatrixRegisters() {
#if defined(__linux__)
  constexpr long requestPermission = 0x1023, tileData = 18;
  return syscall(SYS_arch_prctl, requestPermission, tileData) == 0;
#else
  return false;
#endif
}

static CpuFeatures detect() {
  CpuFeatures features;
  uint32_t a = 0, b = 0, c = 0, d = 0;
  if (!__get_cpuid_count(1, 0, &a, &b, &c, &d))
    return features;
  const bool osSaves = c >> 27 & 1, avx = c >> 28 & 1, fma = c >> 12 & 1, f16c = c >> 29 & 1;
  const uint64_t saved = osSaves ? savedState() : 0;
  const bool savesAvx = (saved & 0x6) == 0x6, savesAvx512 = (saved & 0xe6) == 0xe6;
  const bool savesTiles = (saved & 0x60000) == 0x60000;

  if (__get_cpuid_count(7, 0, &a, &b, &c, &d)) {
    features.avx2 = avx && fma && f16c && (b >> 5 & 1) && savesAvx;
    const bool foundation = b >> 16 & 1, dq = b >> 17 & 1, bw = b >> 30 & 1, vl = b >> 31 & 1;
    features.avx512 = features.avx2 && foundation && dq && bw && vl && savesAvx512;
    features.avx512Vnni = features.avx512 && (c >> 11 & 1);
    features.avx512Vbmi = features.avx512 && (c >> 1 & 1);
    const bool tiles = (d >> 24 & 1) && savesTiles && features.avx512;
    const bool bf16 = d >> 22 & 1, int8 = d >> 25 & 1;
    if (tiles && (bf16 || int8) && requestMatrixRegisters()) {
      features.amxBf16 = bf16;
      features.amxInt8 = int8;
    }
    if (__get_cpuid_count(7, 1, &a, &b, &c, &d))
      features.avx512Bf16 = features.avx512 && (a >> 5 & 1);
  }
  if (__get_cpuid_count(0, 0, &a, &b, &c, &d))
    features.fastBf16Pairs = features.avx512Bf16 && b == 0x68747541; // "Auth"enticAMD
  return features;
}

static std::string detectModel() {
  constexpr uint32_t firstLeaf = 0x80000002, leaves = 3;
  uint32_t words[4 * leaves + 1] = {};
  for (uint32_t i = 0; i < leaves; ++i)
    if (uint32_t *at = words + 4 * i; !__get_cpuid(firstLeaf + i, at, at + 1, at + 2, at + 3))
      return "";
  const std::string_view text = reinterpret_cast<const char *>(words);
  const size_t begin = text.find_first_not_of(' ');
  if (begin == std::string_view::npos)
    return "";
  return std::string(text.substr(begin, text.find_last_not_of(' ') + 1 - begin));
}

#else

static CpuFeatures detect() { return {}; }
static std::string detectModel() { return ""; }

#endif

const std::string &CpuFeatures::modelOfHost() {
  static const std::string model = detectModel();
  return model;
}

const CpuFeatures &CpuFeatures::host() {
  static const CpuFeatures features = [] {
    CpuFeatures found = detect();
#if defined(_SC_LEVEL1_DCACHE_SIZE)
    found.level1Bytes = std::max<int64_t>(found.level1Bytes, sysconf(_SC_LEVEL1_DCACHE_SIZE));
    found.level2Bytes = std::max<int64_t>(found.level2Bytes, sysconf(_SC_LEVEL2_CACHE_SIZE));
#endif
    return found;
  }();
  return features;
}

CpuFeatures CpuFeatures::portable() { return {}; }

std::string CpuFeatures::name() const {
  std::string name = avx512 ? "avx512" : avx2 ? "avx2" : "portable";
  if (avx512Vnni)
    name += "+vnni";
  if (avx512Bf16)
    name += "+bf16";
  if (amxBf16)
    name += "+amx-bf16";
  if (amxInt8)
    name += "+amx-int8";
  return name;
}

} // namespace tilewright::runtime::cpu
