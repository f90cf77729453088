// Conversion: fast conversion of contiguous elements from one type to another.
#ifndef TILEWRIGHT_RUNTIME_CPU_MATMUL_CONVERSION_H
#define TILEWRIGHT_RUNTIME_CPU_MATMUL_CONVERSION_H

#include "tilewright/runtime/cpu/matmul/Kernels.h"

#include <cstddef>

namespace tilewright::runtime::cpu {

/// Converts contiguous elements from one type to another with the fastest available method.
class Conversion {
public:
  Conversion(const CpuFeatures &features, ElementType from, ElementType to);

  ElementType from() const { return source; }
  ElementType to() const { return target; }
  bool isIdentity() const { return source == target || isSameBits; }
  void run(const std::byte *from, std::byte *to, int64_t count) const;

private:
  ElementType source, target;
  bool isSameBits = false; // types that differ only in name: ui32 and i32 modulo 2^32
  ConvertRun kernel = nullptr;
  const std::byte *table = nullptr; // for a type with at most 256 values; never freed
};

} // namespace tilewright::runtime::cpu

#endif // TILEWRIGHT_RUNTIME_CPU_MATMUL_CONVERSION_H
