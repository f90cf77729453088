// A product of block-scaled matrices, as work of a stream of the virtual GPU.
#ifndef TILEWRIGHT_VGPU_LIBRARIES_PRODUCT_H
#define TILEWRIGHT_VGPU_LIBRARIES_PRODUCT_H

#include "tilewright/numerics/ElementType.h"

#include <cstdint>
#include <string>

namespace tilewright::vgpu::libraries {

using numerics::ElementType;

/// One operand: `lines` rows of `depth` elements, contiguous; 4-bit elements are packed. Scales are
/// in groups of 128 rows and 4 blocks, 512 bytes each, along the depth first.
struct Side {
  const std::byte *elements = nullptr;
  const std::byte *scales = nullptr;
  ElementType type = ElementType::f8E4M3FN;
  int64_t lines = 0;
  int64_t elementBytes(int64_t depth) const;
  int64_t scaleBytes(int64_t depth, int64_t block) const;
};

/// `result[b, m, n] = factor * sum over k of lhs[b, m, k] * rhs[b, n, k]`, each element times its
/// scale; row-major. The sum is exact to the bits of an f64, then rounded to f32, multiplied by the
/// factor, and rounded to the result's type.
struct Product {
  std::string library; // for faults and the record
  Side lhs, rhs;
  ElementType scaleType = ElementType::f8E8M0FNU, resultType = ElementType::f32;
  int64_t block = 32, batch = 1, depth = 0;
  float factor = 1;
  const float *factorOnDevice = nullptr; // in place of `factor`
  std::byte *result = nullptr;
  std::byte *workspace = nullptr;
  int64_t workspaceBytes = 0;
  uint64_t number = 0; // the how-manieth product of the library in this process

  int64_t resultBytes() const;
  /// The fields of the record.
  std::string json() const;
};

/// Why the arguments of a product are not in the form that NVIDIA documents; empty if they are.
std::string whyInvalid(const Product &product);

/// Queues the product on a stream (CUstream). Returns a CUresult.
int submit(Product product, void *stream);

/// Counts the products of a library in this process, from 1.
uint64_t nextNumber(const std::string &library);

} // namespace tilewright::vgpu::libraries

#endif // TILEWRIGHT_VGPU_LIBRARIES_PRODUCT_H
