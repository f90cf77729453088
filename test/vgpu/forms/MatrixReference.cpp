#include "test/vgpu/forms/MatrixReference.h"

#include "test/vgpu/forms/Reference.h"

namespace tilewright::vgpu::forms {

static bool isFloat(Modifier type) {
  switch (type) {
  case Modifier::f16:
  case Modifier::bf16:
  case Modifier::tf32:
  case Modifier::f32:
  case Modifier::f64:
  case Modifier::e4m3:
  case Modifier::e5m2:
    return true;
  default:
    return false;
  }
}

Matrix randomMatrix(unsigned rows, unsigned columns, Modifier type, bool isAccumulator,
                    std::mt19937_64 &random) {
  Matrix matrix(rows, columns);
  const unsigned bits = ptx::bitsOf(type);
  for (int64_t &value : matrix.values) {
    const auto any = static_cast<int64_t>(random());
    if (isFloat(type)) {
      value = any % 4; // -3 … 3: every type represents them, and f16 their sums
      continue;
    }
    if (isAccumulator) {
      // A few values near the limits, so that sums overflow.
      value = any % 5 == 0 ? 0x7ffffff0 : any % 5 == 1 ? -0x7ffffff0 : any % 100000;
      continue;
    }
    const bool isSigned = ptx::categoryOf(type) == ptx::TypeCategory::signedInteger ||
                          type == Modifier::s4 || type == Modifier::s8;
    const int64_t range = int64_t(1) << bits;
    value = (any % range + range) % range;
    if (isSigned && value >= range / 2)
      value -= range;
  }
  return matrix;
}

uint64_t elementBits(Modifier type, int64_t value) {
  if (isFloat(type))
    return roundTo(type, static_cast<long double>(value), Mode::nearest);
  const unsigned bits = ptx::bitsOf(type);
  return static_cast<uint64_t>(value) & ((uint64_t(1) << bits) - 1);
}
int64_t elementNumber(Modifier type, uint64_t bits) {
  if (isFloat(type))
    return static_cast<int64_t>(valueOf(type, bits));
  return static_cast<int32_t>(bits);
}

Matrix product(const Matrix &a, const Matrix &b, const Matrix &c, Modifier dType, Modifier aType,
               bool saturates, bool isXor) {
  Matrix d = c;
  for (unsigned i = 0; i < a.rows; ++i)
    for (unsigned j = 0; j < b.columns; ++j) {
      int64_t sum = c.at(i, j);
      for (unsigned k = 0; k < a.columns; ++k)
        sum += aType == Modifier::b1 && isXor ? a.at(i, k) ^ b.at(k, j) : a.at(i, k) * b.at(k, j);
      if (dType == Modifier::s32)
        sum = saturates ? std::min<int64_t>(std::max<int64_t>(sum, INT32_MIN), INT32_MAX)
                        : static_cast<int32_t>(static_cast<uint32_t>(sum));
      d.at(i, j) = sum;
    }
  return d;
}

Position mmaPosition(char matrix, unsigned m, Modifier type, unsigned lane, unsigned v) {
  const unsigned group = lane >> 2, inGroup = lane % 4;
  if (matrix == 'C')
    return {group + (v < 2 ? 0 : 8), inGroup * 2 + (v & 1)};
  const unsigned bits = ptx::bitsOf(type), per = bits >= 32 ? 1 : 32 / bits;
  const unsigned r = v / per, e = v % per;
  if (matrix == 'B')
    return {inGroup * per + e + r * 4 * per, group};
  if (m == 8)
    return {group, inGroup * per + e + r * 4 * per};
  return {group + (r % 2 == 0 ? 0 : 8), inGroup * per + e + (r / 2) * 4 * per};
}

std::vector<uint64_t> packFragment(const Matrix &matrix, char which, unsigned m, Modifier type,
                                   unsigned registers) {
  std::vector<uint64_t> result(size_t(registers) * 32);
  const unsigned bits = ptx::bitsOf(type), per = bits >= 32 ? 1 : 32 / bits;
  for (unsigned lane = 0; lane < 32; ++lane)
    for (unsigned v = 0; v < registers * per; ++v) {
      const Position at = mmaPosition(which, m, type, lane, v);
      result[v / per * 32 + lane] |= elementBits(type, matrix.at(at.row, at.column))
                                     << (v % per * bits);
    }
  return result;
}

Sparse randomSparse(unsigned rows, unsigned columns, Modifier type, std::mt19937_64 &random) {
  Sparse sparse{Matrix(rows, columns), Matrix(rows, columns / 2), {}, 0};
  const Matrix values = randomMatrix(rows, columns / 2, type, false, random);
  const unsigned width = type == Modifier::tf32 ? 2 : ptx::bitsOf(type) == 4 ? 8 : 4;
  sparse.chunks = columns / width;
  sparse.kept = values;
  for (unsigned row = 0; row < rows; ++row)
    for (unsigned chunk = 0; chunk < sparse.chunks; ++chunk) {
      unsigned code;
      if (type == Modifier::tf32) {
        const bool isSecond = random() & 1;
        code = isSecond ? 0b1110 : 0b0100;
        sparse.dense.at(row, 2 * chunk + isSecond) = values.at(row, chunk);
      } else {
        static constexpr unsigned codes[] = {0b0100, 0b1000, 0b1001, 0b1100, 0b1101, 0b1110};
        code = codes[random() % 6];
        const unsigned first = code & 3, second = code >> 2, part = width / 4;
        for (unsigned i = 0; i < part; ++i) {
          sparse.dense.at(row, width * chunk + part * first + i) =
              values.at(row, 2 * part * chunk + i);
          sparse.dense.at(row, width * chunk + part * second + i) =
              values.at(row, 2 * part * chunk + part + i);
        }
      }
      sparse.codes.push_back(code);
    }
  return sparse;
}

std::vector<uint64_t> metadataOf(const Sparse &sparse, unsigned firstRow, Modifier type,
                                 unsigned selector, std::mt19937_64 &random) {
  // Lanes that are not selected contain arbitrary values.
  std::vector<uint64_t> result(32);
  for (uint64_t &one : result)
    one = random() & 0xffffffff;
  const bool isNarrow = ptx::bitsOf(type) < 16;
  for (unsigned group = 0; group < 8; ++group)
    for (unsigned inGroup = 0; inGroup < 4; ++inGroup) {
      uint32_t bits = 0;
      bool isSelected = true;
      for (unsigned nibble = 0; nibble < 8; ++nibble) {
        unsigned row, chunk;
        if (sparse.chunks <= 4) { // one lane has all
          isSelected = inGroup == selector;
          row = nibble / 4, chunk = nibble % 4;
        } else if (!isNarrow) { // a pair of lanes, each with half of the columns
          isSelected = inGroup / 2 == selector;
          row = nibble / 4, chunk = inGroup % 2 * 4 + nibble % 4;
        } else if (sparse.chunks == 8) { // a pair of lanes, each with one row
          isSelected = inGroup / 2 == selector;
          row = inGroup % 2, chunk = nibble;
        } else { // all four lanes
          row = inGroup % 2, chunk = inGroup / 2 * 8 + nibble;
        }
        if (chunk < sparse.chunks)
          bits |= sparse.codes[(firstRow + group + 8 * row) * sparse.chunks + chunk]
                  << (4 * nibble);
      }
      if (isSelected)
        result[4 * group + inGroup] = bits;
    }
  return result;
}

} // namespace tilewright::vgpu::forms
