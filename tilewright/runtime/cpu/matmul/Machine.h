// Machine: what the processor that runs this can do.
#ifndef TILEWRIGHT_RUNTIME_CPU_MATMUL_MACHINE_H
#define TILEWRIGHT_RUNTIME_CPU_MATMUL_MACHINE_H

#include <cstdint>
#include <string>

namespace tilewright::runtime::cpu {

/// The instruction sets that kernels ask for. A feature is true only if the
/// operating system keeps its registers, so whoever sees it may use it.
struct Machine {
  bool avx2 = false;       // with FMA and F16C
  bool avx512 = false;     // F, BW, DQ, VL
  bool avx512Vnni = false; // 16-bit pairs into 32 bits
  bool avx512Bf16 = false;
  bool amxBf16 = false;
  bool amxInt8 = false;
  /// Dot products of bf16 pairs are faster than multiplying in f32. Not so on
  /// Intel's, which take them at half the rate.
  bool fastBf16Pairs = false;

  int64_t level1Bytes = 32 << 10; // data cache of one core
  int64_t level2Bytes = 1 << 20;

  /// The machine under our feet. Asks the kernel for the matrix registers once.
  static const Machine &host();
  /// One that has nothing but the baseline: tests run every kernel by taking
  /// features away from the host.
  static Machine portable();

  /// "avx512+vnni+amx-bf16+amx-int8", for records of what was measured.
  std::string name() const;
};

} // namespace tilewright::runtime::cpu

#endif // TILEWRIGHT_RUNTIME_CPU_MATMUL_MACHINE_H
