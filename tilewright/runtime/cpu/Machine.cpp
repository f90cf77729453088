#include "tilewright/runtime/cpu/Machine.h"

#include "tilewright/support/Concat.h"

#include <algorithm>
#include <cpuid.h>
#include <string>
#include <sys/syscall.h>
#include <unistd.h>
#include <vector>

namespace tilewright::runtime::cpu {
namespace {

enum Register { eax, ebx, ecx, edx };

/// The register state that the operating system must save and restore, as bits of XCR0.
enum : uint64_t { noState = 0, avxState = 0x6, avx512State = 0xE6, tileState = 0x60000 };

/// The CPUID bit that reports a feature.
struct FeatureRow {
  std::string_view name;
  uint32_t leaf, subleaf;
  Register place;
  int bit;
  uint64_t state;
};

constexpr FeatureRow rows[] = {
    {"cx8", 1, 0, edx, 8, noState},
    {"cmov", 1, 0, edx, 15, noState},
    {"mmx", 1, 0, edx, 23, noState},
    {"fxsr", 1, 0, edx, 24, noState},
    {"sse", 1, 0, edx, 25, noState},
    {"sse2", 1, 0, edx, 26, noState},
    {"sse3", 1, 0, ecx, 0, noState},
    {"pclmul", 1, 0, ecx, 1, noState},
    {"ssse3", 1, 0, ecx, 9, noState},
    {"fma", 1, 0, ecx, 12, avxState},
    {"cx16", 1, 0, ecx, 13, noState},
    {"sse4.1", 1, 0, ecx, 19, noState},
    {"sse4.2", 1, 0, ecx, 20, noState},
    {"crc32", 1, 0, ecx, 20, noState},
    {"movbe", 1, 0, ecx, 22, noState},
    {"popcnt", 1, 0, ecx, 23, noState},
    {"aes", 1, 0, ecx, 25, noState},
    {"xsave", 1, 0, ecx, 27, noState},
    {"avx", 1, 0, ecx, 28, avxState},
    {"f16c", 1, 0, ecx, 29, avxState},
    {"rdrnd", 1, 0, ecx, 30, noState},
    {"fsgsbase", 7, 0, ebx, 0, noState},
    {"bmi", 7, 0, ebx, 3, noState},
    {"avx2", 7, 0, ebx, 5, avxState},
    {"bmi2", 7, 0, ebx, 8, noState},
    {"avx512f", 7, 0, ebx, 16, avx512State},
    {"avx512dq", 7, 0, ebx, 17, avx512State},
    {"rdseed", 7, 0, ebx, 18, noState},
    {"adx", 7, 0, ebx, 19, noState},
    {"avx512ifma", 7, 0, ebx, 21, avx512State},
    {"clflushopt", 7, 0, ebx, 23, noState},
    {"clwb", 7, 0, ebx, 24, noState},
    {"avx512cd", 7, 0, ebx, 28, avx512State},
    {"sha", 7, 0, ebx, 29, noState},
    {"avx512bw", 7, 0, ebx, 30, avx512State},
    {"avx512vl", 7, 0, ebx, 31, avx512State},
    {"avx512vbmi", 7, 0, ecx, 1, avx512State},
    {"avx512vbmi2", 7, 0, ecx, 6, avx512State},
    {"gfni", 7, 0, ecx, 8, noState},
    {"vaes", 7, 0, ecx, 9, avxState},
    {"vpclmulqdq", 7, 0, ecx, 10, avxState},
    {"avx512vnni", 7, 0, ecx, 11, avx512State},
    {"avx512bitalg", 7, 0, ecx, 12, avx512State},
    {"avx512vpopcntdq", 7, 0, ecx, 14, avx512State},
    {"amx-bf16", 7, 0, edx, 22, tileState},
    {"avx512fp16", 7, 0, edx, 23, avx512State},
    {"amx-tile", 7, 0, edx, 24, tileState},
    {"amx-int8", 7, 0, edx, 25, tileState},
    {"avxvnni", 7, 1, eax, 4, avxState},
    {"avx512bf16", 7, 1, eax, 5, avx512State},
    {"amx-fp16", 7, 1, eax, 21, tileState},
    {"avxifma", 7, 1, eax, 23, avxState},
    {"avxvnniint8", 7, 1, edx, 4, avxState},
    {"avxneconvert", 7, 1, edx, 5, avxState},
    {"avxvnniint16", 7, 1, edx, 10, avxState},
    {"sahf", 0x80000001, 0, ecx, 0, noState},
    {"lzcnt", 0x80000001, 0, ecx, 5, noState},
    {"prfchw", 0x80000001, 0, ecx, 8, noState},
};

uint64_t savedState() {
  unsigned registers[4];
  if (!__get_cpuid(1, &registers[eax], &registers[ebx], &registers[ecx], &registers[edx]) ||
      !(registers[ecx] >> 27 & 1))
    return 0;
  uint32_t low = 0, high = 0;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return uint64_t(high) << 32 | low;
}

std::vector<MachineFeature> detect() {
  const uint64_t saved = savedState();
  std::vector<MachineFeature> features;
  for (const FeatureRow &row : rows) {
    unsigned registers[4] = {};
    const bool isKnown = __get_cpuid_count(row.leaf, row.subleaf, &registers[eax], &registers[ebx],
                                           &registers[ecx], &registers[edx]);
    features.push_back({row.name, isKnown && (registers[row.place] >> row.bit & 1) &&
                                      (saved & row.state) == row.state});
  }
  return features;
}

/// Linux grants the AMX tile registers only to processes that request them.
bool mayUseTiles() {
  constexpr long requestPermission = 0x1023, tileData = 18; // ARCH_REQ_XCOMP_PERM
  static const bool isGranted = ::syscall(SYS_arch_prctl, requestPermission, tileData) == 0;
  return isGranted;
}

} // namespace

std::span<const MachineFeature> machineFeatures() {
  static const std::vector<MachineFeature> features = detect();
  return features;
}

Status checkMachine(const artifact::Target &target) {
  auto fail = [&](const auto &...parts) {
    return Status(Error::machineFeature,
                  concat("the executable was compiled for ", target.triple, " ", target.cpu,
                         parts..., "; compile the program for this machine"));
  };
  if (!target.triple.starts_with("x86_64"))
    return fail(", but this machine is x86_64");
  std::string missing;
  for (std::string_view name : target.features) {
    if (name.starts_with('-') || name.empty())
      continue;
    if (name.starts_with('+'))
      name.remove_prefix(1);
    const std::span<const MachineFeature> features = machineFeatures();
    auto found = std::find_if(features.begin(), features.end(),
                              [&](const MachineFeature &each) { return each.name == name; });
    if (found == features.end())
      return fail(" with feature '", name, "', which this runtime does not know");
    if (!found->isThere || (name.starts_with("amx") && !mayUseTiles()))
      missing += concat(missing.empty() ? "" : ", ", name);
  }
  if (!missing.empty())
    return fail(", but this machine lacks ", missing);
  return Status();
}

} // namespace tilewright::runtime::cpu
