#include "tilewright/runtime/cpu/matmul/Kernels.h"

#include <array>

namespace tilewright::runtime::cpu {

/// The sets that a machine may use, the best first.
static std::array<const KernelSet *, 6> setsOf(const Machine &machine) {
  std::array<const KernelSet *, 6> sets = {};
  size_t count = 0;
#if defined(__x86_64__)
  if (machine.amxBf16 && machine.amxInt8)
    sets[count++] = &amxKernels();
  if (machine.avx512Bf16)
    sets[count++] = &avx512Bf16Kernels();
  if (machine.avx512Vnni)
    sets[count++] = &avx512VnniKernels();
  if (machine.avx512)
    sets[count++] = &avx512Kernels();
  if (machine.avx2)
    sets[count++] = &avx2Kernels();
#endif
  sets[count] = &portableKernels();
  return sets;
}

template <typename Row, typename Fits>
static const Row *find(const Machine &machine, std::span<const Row> KernelSet::*rows, Fits fits) {
  for (const KernelSet *set : setsOf(machine))
    if (set)
      for (const Row &row : set->*rows)
        if (fits(row))
          return &row;
  return nullptr;
}

const PanelKernel *findPanelKernel(const Machine &machine, ElementType lhs, ElementType rhs,
                                   ElementType sums) {
  return find(machine, &KernelSet::panels, [&](const PanelKernel &row) {
    return row.lhsPacked == lhs && row.rhsPacked == rhs && row.sums == sums;
  });
}

const DirectKernel *findDirectKernel(const Machine &machine, ElementType sums) {
  return find(machine, &KernelSet::direct,
              [&](const DirectKernel &row) { return row.sums == sums; });
}

const VectorKernel *findVectorKernel(const Machine &machine, ElementType rhs, ElementType sums) {
  return find(machine, &KernelSet::vectors,
              [&](const VectorKernel &row) { return row.rhs == rhs && row.sums == sums; });
}

ConvertRun findConversion(const Machine &machine, ElementType from, ElementType to) {
  const ConvertKernel *kernel =
      find(machine, &KernelSet::conversions,
           [&](const ConvertKernel &row) { return row.from == from && row.to == to; });
  return kernel ? kernel->run : nullptr;
}

} // namespace tilewright::runtime::cpu
