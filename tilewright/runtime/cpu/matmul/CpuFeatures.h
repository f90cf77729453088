// CpuFeatures: the instruction sets of the host processor.
#ifndef TILEWRIGHT_RUNTIME_CPU_MATMUL_CPUFEATURES_H
#define TILEWRIGHT_RUNTIME_CPU_MATMUL_CPUFEATURES_H

#include <cstdint>
#include <string>

namespace tilewright::runtime::cpu {

/// The instruction sets that kernels need. A feature is true only if the operating system saves its
/// registers, so code may use every feature that is true.
struct CpuFeatures {
  bool avx2 = false;       // with FMA and F16C
  bool avx512 = false;     // F, BW, DQ, VL
  bool avx512Vnni = false; // 16-bit pairs into 32 bits
  bool avx512Vbmi = false; // lookups of bytes in tables
  bool avx512Bf16 = false;
  bool amxBf16 = false;
  bool amxInt8 = false;
  /// Whether dot products of bf16 pairs are faster than multiplying in f32. False for Intel
  /// processors, which execute them at half the rate.
  bool fastBf16Pairs = false;

  /// Whether products of bf16 are faster than those of f32.
  bool multipliesBf16() const { return amxBf16 || fastBf16Pairs; }

  int64_t level1Bytes = 32 << 10; // data cache of one core
  int64_t level2Bytes = 1 << 20;

  /// The features of the host. Requests the AMX tile registers from the operating system once.
  static const CpuFeatures &host();
  /// The baseline without any feature. Tests run every kernel by removing features of the host.
  static CpuFeatures portable();

  /// "avx512+vnni+amx-bf16+amx-int8", for autotuning records.
  std::string name() const;
  /// The processor's name as it states it: "Intel(R) Xeon(R) Platinum 8481C". Empty if unknown.
  static const std::string &modelOfHost();
};

} // namespace tilewright::runtime::cpu

#endif // TILEWRIGHT_RUNTIME_CPU_MATMUL_CPUFEATURES_H
