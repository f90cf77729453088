// A product of mma.sync whose fragments stay in registers, in f32.
//
// A register of 32 lanes holds E elements in each lane; element e of all lanes is a plane. With g =
// lane / 4 and q = lane % 4, plane e of register r holds:
//   A  row g + 8 * (r & 1), column E * q + e + 4 * E * (r >> 1)
//   B  row E * q + e + 4 * E * r, column g
// So a column of A is every fourth lane of two planes, and a row of B every fourth lane of one
// plane.
#include "tilewright/vgpu/machine/matrix/TileKernels.h"

#include "tilewright/vgpu/machine/handlers/Vectors.h"

namespace tilewright::vgpu::machine::VGPU_ISA {

typedef float Float16 __attribute__((ext_vector_type(16)));
typedef uint32_t Word16 __attribute__((ext_vector_type(16)));
typedef int32_t Int16 __attribute__((ext_vector_type(16)));
typedef uint16_t Short16 __attribute__((ext_vector_type(16)));
typedef _Float16 Half16 __attribute__((ext_vector_type(16)));

VGPU_INLINE unsigned elementsIn(TileElement element) {
  switch (element) {
  case TileElement::f16:
  case TileElement::bf16:
    return 2;
  case TileElement::tf32:
    return 1;
  default:
    return 4;
  }
}

VGPU_INLINE Float16 halfOf(Word16 words, unsigned e) {
  const Short16 bits = __builtin_convertvector(words >> (16 * e), Short16);
  return __builtin_convertvector(std::bit_cast<Half16>(bits), Float16);
}

/// Writes the planes of one register, 32 floats each.
static void widenRegister(const FragmentOperand &operand, const std::byte *lanes, float *planes) {
  for (unsigned half = 0; half < 32; half += 16) {
    const auto words = loadAs<Word16>(lanes + 4 * half);
    float *to = planes + half;
    switch (operand.element) {
    case TileElement::f16:
      storeAs(to, halfOf(words, 0));
      storeAs(to + 32, halfOf(words, 1));
      break;
    case TileElement::bf16:
      storeAs(to, words << 16u);
      storeAs(to + 32, words & 0xffff0000u);
      break;
    case TileElement::tf32:
      storeAs(to, words & 0xffffe000u);
      break;
    case TileElement::u8:
      for (unsigned e = 0; e < 4; ++e)
        storeAs(to + 32 * e, __builtin_convertvector(words >> (8 * e) & 0xffu, Float16));
      break;
    case TileElement::s8:
      for (unsigned e = 0; e < 4; ++e)
        storeAs(to + 32 * e, __builtin_convertvector(
                                 std::bit_cast<Int16>(words << (24 - 8 * e)) >> 24, Float16));
      break;
    default:
      for (unsigned e = 0; e < 4; ++e)
        for (unsigned lane = 0; lane < 16; ++lane)
          to[32 * e + lane] = operand.table[words[lane] >> (8 * e) & 0xff];
      break;
    }
  }
}

/// The sums of an octet: vector 2 * i + parity has rows 4 * i to 4 * i + 3.
struct Sums {
  Float16 vectors[8];
};

/// Adds the product of column `q` of the planes of A and row `q` of the plane of B.
template <int q>
VGPU_INLINE void addProducts(const Float16 (&a)[4], Float16 low, Float16 high, Sums &sums) {
  const Float16 even =
      __builtin_shufflevector(low, high, q, q + 8, q + 16, q + 24, q, q + 8, q + 16, q + 24, q,
                              q + 8, q + 16, q + 24, q, q + 8, q + 16, q + 24);
  const Float16 odd =
      __builtin_shufflevector(low, high, q + 4, q + 12, q + 20, q + 28, q + 4, q + 12, q + 20,
                              q + 28, q + 4, q + 12, q + 20, q + 28, q + 4, q + 12, q + 20, q + 28);
#pragma clang loop unroll(full)
  for (unsigned i = 0; i < 4; ++i) {
    const Float16 row =
        __builtin_shufflevector(a[i], a[i], q, q, q, q, q + 4, q + 4, q + 4, q + 4, q + 8, q + 8,
                                q + 8, q + 8, q + 12, q + 12, q + 12, q + 12);
    sums.vectors[2 * i] = __builtin_elementwise_fma(row, even, sums.vectors[2 * i]);
    sums.vectors[2 * i + 1] = __builtin_elementwise_fma(row, odd, sums.vectors[2 * i + 1]);
  }
}

/// Adds the products of every fourth lane, for all planes, in the order of A's columns.
template <int q>
VGPU_INLINE void addPlanes(const float *a, const float *b, unsigned planes, Sums &sums) {
  for (unsigned e = 0; e < planes; ++e) {
    const float *upper = a + 32 * e, *lower = upper + 32 * planes, *row = b + 32 * e;
    const Float16 rows[4] = {loadAs<Float16>(upper), loadAs<Float16>(upper + 16),
                             loadAs<Float16>(lower), loadAs<Float16>(lower + 16)};
    addProducts<q>(rows, loadAs<Float16>(row), loadAs<Float16>(row + 16), sums);
  }
}

void multiplyFragments(const FragmentOperand &a, const FragmentOperand &b, const std::byte *base,
                       const float *const *c, float *const *d) {
  const unsigned planes = elementsIn(a.element);
  alignas(64) float aPlanes[4 * 4 * 32], bPlanes[2 * 4 * 32];
  for (unsigned r = 0; r < a.count; ++r)
    widenRegister(a, base + a.slots[r], aPlanes + 32 * planes * r);
  for (unsigned r = 0; r < b.count; ++r)
    widenRegister(b, base + b.slots[r], bPlanes + 32 * planes * r);
  Sums sums;
#pragma clang loop unroll(full)
  for (unsigned i = 0; i < 8; ++i)
    sums.vectors[i] = loadAs<Float16>(c[i / 4 * 2 + i % 2] + 16 * (i / 2 % 2));
  for (unsigned r = 0; r < b.count; ++r) {
    const float *left = aPlanes + 2 * 32 * planes * r, *right = bPlanes + 32 * planes * r;
    addPlanes<0>(left, right, planes, sums);
    addPlanes<1>(left, right, planes, sums);
    addPlanes<2>(left, right, planes, sums);
    addPlanes<3>(left, right, planes, sums);
  }
#pragma clang loop unroll(full)
  for (unsigned i = 0; i < 8; ++i) {
    const Float16 sum = sums.vectors[i];
    storeAs(d[i / 4 * 2 + i % 2] + 16 * (i / 2 % 2),
            sum == sum ? sum : Float16(std::bit_cast<float>(0x7fffffffu)));
  }
}

} // namespace tilewright::vgpu::machine::VGPU_ISA
