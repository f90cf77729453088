// Conversion: dense runs of elements from one type to another, fast.
#ifndef TILEWRIGHT_RUNTIME_CPU_MATMUL_CONVERSION_H
#define TILEWRIGHT_RUNTIME_CPU_MATMUL_CONVERSION_H

#include "tilewright/runtime/cpu/matmul/Kernels.h"

#include <cstddef>

namespace tilewright::runtime::cpu {

/// Dense runs of one type to another, by the fastest way that is known.
class Conversion {
public:
  Conversion(const Machine &machine, ElementType from, ElementType to);

  ElementType from() const { return source; }
  ElementType to() const { return target; }
  bool isIdentity() const { return source == target || isSameBits; }
  void run(const std::byte *from, std::byte *to, int64_t count) const;

private:
  ElementType source, target;
  bool isSameBits = false; // types that differ in name only: ui32 and i32 modulo 2^32
  ConvertRun kernel = nullptr;
  const std::byte *table = nullptr; // of a type with at most 256 values, kept for ever
};

} // namespace tilewright::runtime::cpu

#endif // TILEWRIGHT_RUNTIME_CPU_MATMUL_CONVERSION_H
