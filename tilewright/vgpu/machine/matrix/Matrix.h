// Matrix instructions: their forms, and their shared arithmetic.
#ifndef TILEWRIGHT_VGPU_MACHINE_MATRIX_MATRIX_H
#define TILEWRIGHT_VGPU_MACHINE_MATRIX_MATRIX_H

#include "tilewright/vgpu/machine/External.h"
#include "tilewright/vgpu/machine/decode/MemoryForms.h"
#include "tilewright/vgpu/machine/matrix/TileProduct.h"
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
  uint32_t source = 0; // for movmatrix
  // For matrices of bytes.
  bool isTall = false;     // 16 rows of a matrix instead of 8
  unsigned paddedBits = 0; // elements of 4 or 6 bits in rows of 16 bytes; 0 for others
};

/// The address of a matrix row, which is in the register of `lane`, and the row's 16 bytes; null
/// after a fault.
uint64_t rowAddress(const std::byte *registers, const AddressForm &form, unsigned lane);
std::byte *rowOf(Warp &warp, const Op *op, const std::byte *registers, const AddressForm &form,
                 unsigned lane);

/// mma.sync and wgmma.
struct MatrixForm {
  ExternalForm head;
  unsigned m = 0, n = 0, k = 0;
  ptx::Modifier dType{}, aType{}, bType{}, cType{};
  std::vector<uint32_t> d, a, b, c; // slots
  bool saturates = false;           // .satfinite for integers
  bool isXor = false;               // .xor.popc for b1
  // For wgmma only.
  bool aIsDescriptor = false, transposesA = false, transposesB = false;
  bool negatesA = false, negatesB = false;
  uint32_t bDescriptor = 0, aDescriptor = 0; // slots
  uint32_t scaleD = 0;                       // slot of a predicate
};

After runLdmatrix(Warp &, const Op *, std::byte *, uint32_t, uint32_t);
After runStmatrix(Warp &, const Op *, std::byte *, uint32_t, uint32_t);
After runLdmatrixBytes(Warp &, const Op *, std::byte *, uint32_t, uint32_t);
After runStmatrixBytes(Warp &, const Op *, std::byte *, uint32_t, uint32_t);
After runMovmatrix(Warp &, const Op *, std::byte *, uint32_t, uint32_t);
After runMma(Warp &, const Op *, std::byte *, uint32_t, uint32_t);
After runWgmma(Warp &, const Op *, std::byte *, uint32_t, uint32_t);

/// The operands that a wgmma reads at issue. It reads shared memory and the accumulators when it is
/// performed.
struct WgmmaIssue {
  uint64_t aDescriptor = 0, bDescriptor = 0;
  bool adds = false;
  uint64_t number = 0; // of the warp's wgmma, from 1
  /// Copies of the registers of A, followed by sparse metadata, 128 bytes per register. Null: read
  /// them from the frame.
  const std::byte *a = nullptr;
};
WgmmaIssue issueWgmma(const MatrixForm &form, const std::byte *registers, uint32_t active);
/// Performs one warp's part of a wgmma. Returns false after a fault.
bool performWgmma(Warp &warp, const Op *op, std::byte *registers, const WgmmaIssue &issue,
                  AsyncId id);
using PerformMatrix = bool (*)(Warp &warp, const Op *op, std::byte *registers,
                               const WgmmaIssue &issue, AsyncId id);
/// Performs a wgmma now, or issues an operation for it with copies of the `copied` slots.
After issueMatrix(Warp &warp, const Op *op, std::byte *registers, uint32_t active,
                  const MatrixForm &form, std::span<const uint32_t> copied, PerformMatrix perform);

/// Reports to the observer the 16-byte chunks of shared memory that an operation reads in the block
/// with this rank, in ranges of up to 128 bytes.
void observeChunks(Warp &warp, const Op *op, uint32_t rank, AsyncId id,
                   std::span<const uint32_t> offsets);

/// The exact value of an element of a matrix.
double elementValue(ptx::Modifier type, uint32_t bits);

/// The values of all bit patterns of an 8-bit or 16-bit type; null for other types.
const float *elementTable(ptx::Modifier type);

/// The offsets of the chunks of A if its fragments are in registers, for TileProduct::readA.
void locateFragmentA(std::span<const uint32_t> slots, bool isTall, std::vector<uint32_t> &offsets);
/// Whether an instruction computes a fast product in this arithmetic.
bool isFastProduct(const MatrixForm &form, Arithmetic arithmetic);
/// Computes the product, adds C if `adds`, and rounds to D; `c` and `d` are the slots of the
/// fragments.
void accumulateProduct(TileProduct &product, const MatrixForm &form, Arithmetic arithmetic,
                       bool adds, std::byte *registers, std::span<const uint32_t> c,
                       std::span<const uint32_t> d);

/// D = C + product for the fragments of an mma with 16 rows and 8 columns; D may use the registers
/// of C in a different order.
void accumulateFragments(TileProduct &product, const MatrixForm &form, Arithmetic arithmetic,
                         std::byte *registers);

/// Sums as Hopper's tensor cores do: products are exact, all terms are truncated at 2^-fraction of
/// the largest, and their sum is truncated to f32.
float alignedSum(const double *products, unsigned count, double start, int fraction);
/// The number of bits kept below the largest term, by the type of the factors.
int alignmentBits(ptx::Modifier type);

/// `value` rounded and saturated to an element of D.
uint32_t roundElement(ptx::Modifier type, double value, bool saturates);

} // namespace tilewright::vgpu::machine

#endif // TILEWRIGHT_VGPU_MACHINE_MATRIX_MATRIX_H
