#include "tilewright/runtime/cpu/matmul/Kernels.h"

#include <array>

namespace tilewright::runtime::cpu {

/// The kernel sets that a machine can use, the best first.
static std::array<const KernelSet *, 6> setsOf(const CpuFeatures &features) {
  std::array<const KernelSet *, 6> sets = {};
  size_t count = 0;
#if defined(__x86_64__)
  if (features.amxBf16 && features.amxInt8)
    sets[count++] = &amxKernels();
  if (features.avx512Bf16)
    sets[count++] = &avx512Bf16Kernels();
  if (features.avx512Vnni)
    sets[count++] = &avx512VnniKernels();
  if (features.avx512)
    sets[count++] = &avx512Kernels();
  if (features.avx2)
    sets[count++] = &avx2Kernels();
#endif
  sets[count] = &portableKernels();
  return sets;
}

template <typename Row, typename Fits>
static const Row *find(const CpuFeatures &features, std::span<const Row> KernelSet::*rows,
                       Fits fits) {
  for (const KernelSet *set : setsOf(features))
    if (set)
      for (const Row &row : set->*rows)
        if (fits(row))
          return &row;
  return nullptr;
}

const PanelKernel *findPanelKernel(const CpuFeatures &features, ElementType lhs, ElementType rhs,
                                   ElementType sums) {
  return find(features, &KernelSet::panels, [&](const PanelKernel &row) {
    return row.lhsPacked == lhs && row.rhsPacked == rhs && row.sums == sums;
  });
}

const DirectKernel *findDirectKernel(const CpuFeatures &features, ElementType sums) {
  return find(features, &KernelSet::direct,
              [&](const DirectKernel &row) { return row.sums == sums; });
}

const VectorKernel *findVectorKernel(const CpuFeatures &features, ElementType lhs, ElementType rhs,
                                     ElementType sums) {
  return find(features, &KernelSet::vectors, [&](const VectorKernel &row) {
    return row.lhs == lhs && row.rhs == rhs && row.sums == sums;
  });
}

ConvertRun findConversion(const CpuFeatures &features, ElementType from, ElementType to) {
  const ConvertKernel *kernel =
      find(features, &KernelSet::conversions,
           [&](const ConvertKernel &row) { return row.from == from && row.to == to; });
  return kernel ? kernel->run : nullptr;
}

} // namespace tilewright::runtime::cpu
