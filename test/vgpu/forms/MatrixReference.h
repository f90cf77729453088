// Matrix elements as bits of their types, and the reference for matrix products.
#ifndef TEST_VGPU_FORMS_MATRIXREFERENCE_H
#define TEST_VGPU_FORMS_MATRIXREFERENCE_H

#include "test/vgpu/forms/FormKernel.h"

namespace tilewright::vgpu::forms {

/// A matrix of integers; floats represent them, and small sums of their products, exactly.
struct Matrix {
  unsigned rows = 0, columns = 0;
  std::vector<int64_t> values;
  Matrix(unsigned rows, unsigned columns)
      : rows(rows), columns(columns), values(size_t(rows) * columns) {}
  int64_t &at(unsigned r, unsigned c) { return values[size_t(r) * columns + c]; }
  int64_t at(unsigned r, unsigned c) const { return values[size_t(r) * columns + c]; }
};

/// Random elements that `type` represents; integer accumulators may be near the limits of their
/// range.
Matrix randomMatrix(unsigned rows, unsigned columns, Modifier type, bool isAccumulator,
                    std::mt19937_64 &random);
uint64_t elementBits(Modifier type, int64_t value);
/// Decodes the bits of an element, which must be an integer.
int64_t elementNumber(Modifier type, uint64_t bits);

/// c + a * b; for b1 counts the bits that are set in both (and) or differ (xor).
Matrix product(const Matrix &a, const Matrix &b, const Matrix &c, Modifier dType, Modifier aType,
               bool saturates, bool isXor);

/// The position of a lane's `v`-th element in a matrix of mma.sync, from PTX's specification.
struct Position {
  unsigned row, column;
};
Position mmaPosition(char matrix, unsigned m, Modifier type, unsigned lane, unsigned v);

/// Registers of 32 lanes, with elements of `type` packed: register r of lane l is at [r * 32 + l].
std::vector<uint64_t> packFragment(const Matrix &matrix, char which, unsigned m, Modifier type,
                                   unsigned registers);

/// The elements that a sparse matrix keeps, and the metadata that says which.
struct Sparse {
  Matrix dense, kept;
  std::vector<unsigned> codes; // 4 bits for each chunk, by rows
  unsigned chunks = 0;         // of a row
};
Sparse randomSparse(unsigned rows, unsigned columns, Modifier type, std::mt19937_64 &random);
/// The metadata register of each of 32 lanes for 16 rows from `firstRow` on.
std::vector<uint64_t> metadataOf(const Sparse &sparse, unsigned firstRow, Modifier type,
                                 unsigned selector, std::mt19937_64 &random);

} // namespace tilewright::vgpu::forms

#endif // TEST_VGPU_FORMS_MATRIXREFERENCE_H
