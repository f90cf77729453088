// Matrix instructions: their forms, and the arithmetic they share.
#ifndef TILEWRIGHT_VGPU_MACHINE_MATRIX_H
#define TILEWRIGHT_VGPU_MACHINE_MATRIX_H

#include "tilewright/vgpu/machine/External.h"
#include "tilewright/vgpu/machine/MemoryForms.h"
#include "tilewright/vgpu/machine/TileProduct.h"
#include "tilewright/vgpu/ptx/Modifier.h"

#include <span>
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

After runLdmatrix(Warp &, const Op *, std::byte *, uint32_t, uint32_t);
After runStmatrix(Warp &, const Op *, std::byte *, uint32_t, uint32_t);
After runMovmatrix(Warp &, const Op *, std::byte *, uint32_t, uint32_t);
After runMma(Warp &, const Op *, std::byte *, uint32_t, uint32_t);
After runWgmma(Warp &, const Op *, std::byte *, uint32_t, uint32_t);

/// What a wgmma reads when it is issued. Shared memory and the accumulators are read
/// when it is performed.
struct WgmmaIssue {
  uint64_t aDescriptor = 0, bDescriptor = 0;
  bool adds = false;
  /// Copies of the registers of A, and of sparse metadata behind it, 128 bytes each.
  /// Null: they are read in the frame.
  const std::byte *a = nullptr;
};
WgmmaIssue issueWgmma(const MatrixForm &form, const std::byte *registers, uint32_t active);
/// Does the part of one warp. False if it failed, which the launch has been told.
bool performWgmma(Warp &warp, const Op *op, std::byte *registers, const WgmmaIssue &issue,
                  AsyncId id);
using PerformMatrix = bool (*)(Warp &warp, const Op *op, std::byte *registers,
                               const WgmmaIssue &issue, AsyncId id);
/// Performs a wgmma now, or issues an operation that will, with copies of `copied` slots.
After issueMatrix(Warp &warp, const Op *op, std::byte *registers, uint32_t active,
                  const MatrixForm &form, std::span<const uint32_t> copied, PerformMatrix perform);

/// The value of an element of a matrix; exact.
double elementValue(ptx::Modifier type, uint32_t bits);

/// The values of all patterns of a type of 8 or 16 bits; null for others.
const float *elementTable(ptx::Modifier type);

/// Where the chunks of A lie whose fragments are registers, for TileProduct::readA.
void placeFragmentA(std::span<const uint32_t> slots, bool isTall, std::vector<uint32_t> &places);
/// Sums the product and, if it `adds`, C, and rounds to D; c and d are slots of fragments.
void accumulateProduct(TileProduct &product, const MatrixForm &form, bool isExact, bool adds,
                       std::byte *registers, std::span<const uint32_t> c,
                       std::span<const uint32_t> d);

/// As the tensor cores of Hopper do it: products exact, all terms cut off at
/// 2^-fraction of the largest, summed, and cut off to f32.
float alignedSum(const double *products, unsigned count, double start, int fraction);
/// The bits kept below the largest term, by the factors' type.
int alignmentBits(ptx::Modifier type);

/// `value` as an element of D: rounded, saturated.
uint32_t roundElement(ptx::Modifier type, double value, bool saturates);

} // namespace tilewright::vgpu::machine

#endif // TILEWRIGHT_VGPU_MACHINE_MATRIX_H
