// Elements of matrices as bits of their types, and what a product of them is.
#ifndef TEST_VGPU_FORMS_MATRIXREFERENCE_H
#define TEST_VGPU_FORMS_MATRIXREFERENCE_H

#include "test/vgpu/forms/FormKernel.h"

namespace tilewright::vgpu::forms {

/// Rows of whole numbers; floats hold them, and small sums of their products, exactly.
struct Matrix {
  unsigned rows = 0, columns = 0;
  std::vector<int64_t> values;
  Matrix(unsigned rows, unsigned columns)
      : rows(rows), columns(columns), values(size_t(rows) * columns) {}
  int64_t &at(unsigned r, unsigned c) { return values[size_t(r) * columns + c]; }
  int64_t at(unsigned r, unsigned c) const { return values[size_t(r) * columns + c]; }
};

/// Random elements that `type` holds; accumulators of integers may be near the end of their range.
Matrix randomMatrix(unsigned rows, unsigned columns, Modifier type, bool isAccumulator,
                    std::mt19937_64 &random);
uint64_t elementBits(Modifier type, int64_t value);
/// Bits of an element as a number; it must be whole.
int64_t elementNumber(Modifier type, uint64_t bits);

/// c + a * b; of b1 the number of equal (and) or different (xor) bits.
Matrix product(const Matrix &a, const Matrix &b, const Matrix &c, Modifier dType, Modifier aType,
               bool saturates, bool isXor);

/// What one lane holds as its `v`-th element of a matrix of mma.sync, from PTX's text.
struct Position {
  unsigned row, column;
};
Position mmaPosition(char matrix, unsigned m, Modifier type, unsigned lane, unsigned v);

/// Registers of 32 lanes: register r of lane l at [r * 32 + l]; packs elements of `type`.
std::vector<uint64_t> packFragment(const Matrix &matrix, char which, unsigned m, Modifier type,
                                   unsigned registers);

/// Which of its elements a sparse matrix keeps, and the metadata that says so.
struct Sparse {
  Matrix dense, kept;
  std::vector<unsigned> codes; // 4 bits for each chunk, by rows
  unsigned chunks = 0;         // of a row
};
Sparse randomSparse(unsigned rows, unsigned columns, Modifier type, std::mt19937_64 &random);
/// The register of metadata of each of 32 lanes for 16 rows from `firstRow` on.
std::vector<uint64_t> metadataOf(const Sparse &sparse, unsigned firstRow, Modifier type,
                                 unsigned selector, std::mt19937_64 &random);

} // namespace tilewright::vgpu::forms

#endif // TEST_VGPU_FORMS_MATRIXREFERENCE_H
