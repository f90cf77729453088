// Kernels: the innermost loops of a product, one row for each instruction set and type.
#ifndef TILEWRIGHT_RUNTIME_CPU_MATMUL_KERNELS_H
#define TILEWRIGHT_RUNTIME_CPU_MATMUL_KERNELS_H

#include "tilewright/numerics/ElementType.h"
#include "tilewright/runtime/cpu/matmul/Machine.h"

#include <cstdint>
#include <span>
#include <string_view>

namespace tilewright::runtime::cpu {

using numerics::ElementType;

/// Copies up to `width` lines of a matrix into a panel, in the order in which the kernel
/// will read it. Missing lines and the rest of the last group of summed elements become
/// zero. Strides are in elements. A line is a row of lhs or a column of rhs.
using PackPanel = void (*)(const void *from, int64_t lineStride, int64_t summedStride,
                           int64_t lines, int64_t summed, void *panel);

/// sums[rows][columns] = or += lhs panel * rhs panel. `summed` is a multiple of the
/// kernel's `depth`; rows and columns are at most its own.
using MultiplyPanels = void (*)(int64_t summed, const void *lhs, const void *rhs, void *sums,
                                int64_t stride, int64_t rows, int64_t columns, bool add);

/// A product in registers. Operands are packed first; this is where a problem of any
/// strides and types becomes one of few.
struct PanelKernel {
  std::string_view name;
  ElementType lhsPacked, rhsPacked; // what panels hold
  ElementType sums;                 // what is added up
  int64_t rows, columns;            // of the block in registers
  int64_t depth;                    // panels hold a multiple of so many summed elements
  PackPanel packLhs, packRhs;
  MultiplyPanels multiply;
  /// Around a series of calls on one thread; null if there is nothing to do.
  void (*enter)() = nullptr;
  void (*leave)() = nullptr;
};

/// A product without packing, for matrices that fit in the first cache and for few
/// rows: lhs has any strides, the columns of rhs and of the sums lie side by side. Both hold the
/// type of the sums.
using MultiplyDirect = void (*)(int64_t rows, int64_t columns, int64_t summed, const void *lhs,
                                int64_t lhsRowStride, int64_t lhsSummedStride, const void *rhs,
                                int64_t rhsStride, void *sums, int64_t stride);

/// A few rows times a matrix that is read once, in the order of memory. lhs and the sums hold the
/// type of the sums, rhs its own; lhs is dense, sums have `columns` elements in a row.
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
  ElementType rhs, sums;
  MultiplyRows addRows, transposed;
};

/// Dense conversions between the types that memory holds and those that are computed with.
/// Others go through numerics/Convert.h, one element at a time.
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

/// The best kernel of a machine, or null. Types are those of panels and sums.
const PanelKernel *findPanelKernel(const Machine &machine, ElementType lhs, ElementType rhs,
                                   ElementType sums);
const DirectKernel *findDirectKernel(const Machine &machine, ElementType sums);
const VectorKernel *findVectorKernel(const Machine &machine, ElementType rhs, ElementType sums);
ConvertRun findConversion(const Machine &machine, ElementType from, ElementType to);

} // namespace tilewright::runtime::cpu

#endif // TILEWRIGHT_RUNTIME_CPU_MATMUL_KERNELS_H
