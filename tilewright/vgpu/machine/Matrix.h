// Matrix instructions: their forms, and the arithmetic they share.
#ifndef TILEWRIGHT_VGPU_MACHINE_MATRIX_H
#define TILEWRIGHT_VGPU_MACHINE_MATRIX_H

#include "tilewright/vgpu/machine/External.h"
#include "tilewright/vgpu/machine/MemoryForms.h"
#include "tilewright/vgpu/ptx/Modifier.h"

#include <vector>

namespace tilewright::vgpu::machine {

/// ldmatrix, stmatrix, movmatrix.
struct MatrixMoveForm {
  ExternalForm head;
  AddressForm address;
  bool transposed = false;
  std::vector<uint32_t> slots;
  uint32_t source = 0; // movmatrix
};

/// mma.sync and wgmma.
struct MatrixForm {
  ExternalForm head;
  unsigned m = 0, n = 0, k = 0;
  ptx::Modifier dType{}, aType{}, bType{}, cType{};
  std::vector<uint32_t> d, a, b, c; // slots
  bool saturates = false;           // .satfinite of integers
  bool isXor = false;               // .xor.popc of b1
  // wgmma only.
  bool aIsDescriptor = false, transposesA = false, transposesB = false;
  bool negatesA = false, negatesB = false;
  uint32_t bDescriptor = 0, aDescriptor = 0; // slots
  uint32_t scaleD = 0;                       // slot of a predicate
};

/// What a wgmma of one warp reads besides shared memory, and where its sums are.
struct MatrixOperands {
  std::byte *registers = nullptr; // the frame; D is read and written when it is performed
  uint64_t aDescriptor = 0, bDescriptor = 0;
  bool adds = true;
  const std::byte *a[4] = {}; // the registers of A, 32 lanes each
};
/// Computes one wgmma for the 16 rows of a warp. False after a fault.
bool performWgmma(Warp &warp, const Op *op, const MatrixOperands &operands, AsyncId id);

After runLdmatrix(Warp &, const Op *, std::byte *, uint32_t, uint32_t);
After runStmatrix(Warp &, const Op *, std::byte *, uint32_t, uint32_t);
After runMovmatrix(Warp &, const Op *, std::byte *, uint32_t, uint32_t);
After runMma(Warp &, const Op *, std::byte *, uint32_t, uint32_t);
After runWgmma(Warp &, const Op *, std::byte *, uint32_t, uint32_t);

/// The value of an element of a matrix; exact.
double elementValue(ptx::Modifier type, uint32_t bits);

/// The values of all patterns of a type of 8 or 16 bits; null for others.
const float *elementTable(ptx::Modifier type);

/// sums += a * b for row-major matrices of n columns, one rounding of doubles a step.
void multiplyAdd(unsigned m, unsigned n, unsigned k, const double *a, const double *b,
                 double *sums);

/// As the tensor cores of Hopper do it: products exact, all terms cut off at
/// 2^-fraction of the largest, summed, and cut off to f32.
float alignedSum(const double *products, unsigned count, double start, int fraction);
/// The bits kept below the largest term, by the factors' type.
int alignmentBits(ptx::Modifier type);

/// `value` as an element of D: rounded, saturated.
uint32_t roundElement(ptx::Modifier type, double value, bool saturates);

} // namespace tilewright::vgpu::machine

#endif // TILEWRIGHT_VGPU_MACHINE_MATRIX_H
