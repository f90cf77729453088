// Kernels: the innermost loops of a product, one table row for each instruction set and type.
#ifndef TILEWRIGHT_RUNTIME_CPU_MATMUL_KERNELS_H
#define TILEWRIGHT_RUNTIME_CPU_MATMUL_KERNELS_H

#include "tilewright/numerics/ElementType.h"
#include "tilewright/runtime/cpu/matmul/CpuFeatures.h"

#include <cstdint>
#include <span>
#include <string_view>

namespace tilewright::runtime::cpu {

using numerics::ElementType;

/// Copies up to `width` lines of a matrix into a panel, in the order in which the kernel will read
/// it. Fills missing lines and the rest of the last group of summed elements with zeros. Strides
/// are in elements. A line is a row of lhs or a column of rhs.
using PackPanel = void (*)(const void *from, int64_t lineStride, int64_t summedStride,
                           int64_t lines, int64_t summed, void *panel);

/// sums[rows][columns] = or += lhs panel * rhs panel. `summed` is a multiple of the kernel's
/// `depth`; rows and columns are at most the kernel's.
using MultiplyPanels = void (*)(int64_t summed, const void *lhs, const void *rhs, void *sums,
                                int64_t stride, int64_t rows, int64_t columns, bool add);

/// A register-blocked product. Its operands are packed first, which reduces problems of any strides
/// and types to a few cases.
struct PanelKernel {
  std::string_view name;
  ElementType lhsPacked, rhsPacked; // element types of the panels
  ElementType sums;                 // accumulation type
  int64_t rows, columns;            // of the register block
  int64_t depth;                    // the summed size of a panel is a multiple of this
  PackPanel packLhs, packRhs;
  MultiplyPanels multiply;
  /// Called before and after a series of calls on a thread; null if not needed.
  void (*enter)() = nullptr;
  void (*leave)() = nullptr;
};

/// A product without packing, for matrices that fit in L1 and for few rows. lhs may have any
/// strides; the columns of rhs and of the sums are contiguous. lhs and rhs have the type of the
/// sums.
using MultiplyDirect = void (*)(int64_t rows, int64_t columns, int64_t summed, const void *lhs,
                                int64_t lhsRowStride, int64_t lhsSummedStride, const void *rhs,
                                int64_t rhsStride, void *sums, int64_t stride);

/// Multiplies a few rows by a matrix that is read once, in memory order. Each side has the type
/// that the kernel states; lhs is dense, and the sums have `columns` elements per row.
///
///   addRows:    sums[rows][columns] += lhs[rows][summed] * rhs[summed][columns]
///   transposed: sums[rows][columns] = lhs[rows][summed] * rhs[columns][summed]
using MultiplyRows = void (*)(int64_t rows, int64_t columns, int64_t summed, const void *lhs,
                              const void *rhs, int64_t rhsStride, void *sums);

struct DirectKernel {
  ElementType sums;
  MultiplyDirect multiply;
};
struct VectorKernel {
  ElementType lhs, rhs, sums;
  MultiplyRows addRows, transposed;
};

/// Conversions of contiguous elements between the types in memory and the types of computation.
/// Other conversions use numerics/Convert.h, one element at a time.
using ConvertRun = void (*)(const void *from, void *to, int64_t count);
struct ConvertKernel {
  ElementType from, to;
  ConvertRun run;
};

/// The kernels of one instruction set.
struct KernelSet {
  std::span<const PanelKernel> panels;
  std::span<const DirectKernel> direct;
  std::span<const VectorKernel> vectors;
  std::span<const ConvertKernel> conversions;
};
const KernelSet &portableKernels();
#if defined(__x86_64__)
const KernelSet &avx2Kernels();
const KernelSet &avx512Kernels();
const KernelSet &avx512VnniKernels();
const KernelSet &avx512Bf16Kernels();
const KernelSet &amxKernels();
#endif

/// The best kernel of a machine, or null. The types are the element types of the panels and of the
/// sums.
const PanelKernel *findPanelKernel(const CpuFeatures &features, ElementType lhs, ElementType rhs,
                                   ElementType sums);
const DirectKernel *findDirectKernel(const CpuFeatures &features, ElementType sums);
const VectorKernel *findVectorKernel(const CpuFeatures &features, ElementType lhs, ElementType rhs,
                                     ElementType sums);
ConvertRun findConversion(const CpuFeatures &features, ElementType from, ElementType to);

} // namespace tilewright::runtime::cpu

#endif // TILEWRIGHT_RUNTIME_CPU_MATMUL_KERNELS_H
