// MFMA of one block: products of f16, bf16, f32, f64 and i8. EXEC is ignored.
//
// f32 and f64 are chains of fused operations in the order of k, as CDNA3 computes them; i8 is
// exact. Sums of f16 and bf16 products are taken in f64 and rounded once, which is not yet the
// arithmetic of CDNA3 (groups of products, truncated).
#include "tilewright/vgpu/amdgcn/execute/Op.h"
#include "tilewright/vgpu/amdgcn/execute/Types.h"

#include <vector>

namespace tilewright::vgpu::amdgcn {

namespace {
enum class Element : uint8_t { f16, bf16, f32, f64, i8 };
} // namespace

struct MatrixMeaning {
  std::string_view name;
  uint8_t size, depth; // size x size x depth
  Element element;

  unsigned bits() const {
    return element == Element::f64   ? 64
           : element == Element::f32 ? 32
           : element == Element::i8  ? 8
                                     : 16;
  }
  unsigned perLane() const { return depth * size / laneCount; }
};

static constexpr MatrixMeaning meanings[] = {
    {"v_mfma_f32_32x32x8_f16", 32, 8, Element::f16},
    {"v_mfma_f32_16x16x16_f16", 16, 16, Element::f16},
    {"v_mfma_f32_32x32x16_f16", 32, 16, Element::f16},
    {"v_mfma_f32_16x16x32_f16", 16, 32, Element::f16},
    {"v_mfma_f32_32x32x8_bf16", 32, 8, Element::bf16},
    {"v_mfma_f32_16x16x16_bf16", 16, 16, Element::bf16},
    {"v_mfma_f32_32x32x16_bf16", 32, 16, Element::bf16},
    {"v_mfma_f32_16x16x32_bf16", 16, 32, Element::bf16},
    {"v_mfma_f32_32x32x2_f32", 32, 2, Element::f32},
    {"v_mfma_f32_16x16x4_f32", 16, 4, Element::f32},
    {"v_mfma_f64_16x16x4_f64", 16, 4, Element::f64},
    {"v_mfma_i32_32x32x16_i8", 32, 16, Element::i8},
    {"v_mfma_i32_16x16x32_i8", 16, 32, Element::i8},
    {"v_mfma_i32_32x32x32_i8", 32, 32, Element::i8},
    {"v_mfma_i32_16x16x64_i8", 16, 64, Element::i8},
};

/// The element in row `row` and column `k` of the first factor, or in column `row` and row `k` of
/// the second one: lane = row + size * (k / perLane), then one element after the other.
static f64 factor(const Wave &wave, const Slot &slot, const MatrixMeaning &meaning, unsigned row,
                  unsigned k) {
  const unsigned lane = row + meaning.size * (k / meaning.perLane());
  const unsigned bit = k % meaning.perLane() * meaning.bits();
  const u32 dword = wave.vectors[slot.index + bit / 32].lanes[lane];
  switch (meaning.element) {
  case Element::f16:
    return fromBits<f16>(dword >> bit % 32);
  case Element::bf16:
    return fromBits<f32>(u64(dword >> bit % 32 & 0xffff) << 16);
  case Element::f32:
    return fromBits<f32>(dword);
  case Element::f64:
    return fromBits<f64>(dword | u64(wave.vectors[slot.index + 1u].lanes[lane]) << 32);
  case Element::i8:
    return static_cast<int8_t>(dword >> bit % 32);
  }
  return 0;
}

namespace {
/// The place of an element of the result.
struct ResultPlace {
  unsigned lane, element;
};
} // namespace

static ResultPlace placeOf(const MatrixMeaning &meaning, unsigned row, unsigned column) {
  if (meaning.element == Element::f64)
    return {column + 16 * (row % 4), row / 4};
  if (meaning.size == 16)
    return {column + 16 * (row / 4), row % 4};
  return {column + 32 * (row / 4 % 2), row % 4 + 4 * (row / 8)};
}

/// C: a constant, or registers of the same layout as the result.
static u64 readC(const Wave &wave, const Slot &slot, const MatrixMeaning &meaning,
                 ResultPlace place) {
  if (slot.kind != SlotKind::vector)
    return meaning.element == Element::f64 && slot.bits != 64
               ? bitsOf(f64(fromBits<f32>(slot.value)))
               : slot.value;
  if (meaning.element != Element::f64)
    return wave.vectors[slot.index + place.element].lanes[place.lane];
  const unsigned at = slot.index + 2 * place.element;
  return wave.vectors[at].lanes[place.lane] | u64(wave.vectors[at + 1].lanes[place.lane]) << 32;
}

/// C plus the sum of products, as bits of the result's type.
static u64 product(const MatrixMeaning &meaning, const f64 *a, const f64 *b, u64 c) {
  switch (meaning.element) {
  case Element::f64: {
    f64 sum = fromBits<f64>(c);
    for (unsigned k = 0; k < meaning.depth; ++k)
      sum = std::fma(a[k], b[k], sum);
    return bitsOf(sum);
  }
  case Element::f32: {
    f32 sum = fromBits<f32>(c);
    for (unsigned k = 0; k < meaning.depth; ++k)
      sum = std::fma(f32(a[k]), f32(b[k]), sum);
    return bitsOf(sum);
  }
  case Element::i8: {
    u32 sum = static_cast<u32>(c);
    for (unsigned k = 0; k < meaning.depth; ++k)
      sum += static_cast<u32>(static_cast<i32>(a[k] * b[k]));
    return sum;
  }
  default: {
    f64 sum = fromBits<f32>(c);
    for (unsigned k = 0; k < meaning.depth; ++k)
      sum += a[k] * b[k];
    return bitsOf(f32(sum));
  }
  }
}

static void runMatrix(Wave &wave, const Op &op) {
  const MatrixMeaning &meaning = *op.meaning.matrix;
  const unsigned size = meaning.size, depth = meaning.depth;
  std::vector<f64> factors[2];
  for (unsigned side = 0; side < 2; ++side)
    for (unsigned row = 0; row < size; ++row)
      for (unsigned k = 0; k < depth; ++k)
        factors[side].push_back(factor(wave, op.sources[side], meaning, row, k));
  std::vector<u64> results; // written at the end, because D may overlap the factors
  for (unsigned row = 0; row < size; ++row)
    for (unsigned column = 0; column < size; ++column)
      results.push_back(
          product(meaning, &factors[0][row * depth], &factors[1][column * depth],
                  readC(wave, op.sources[2], meaning, placeOf(meaning, row, column))));
  for (unsigned row = 0; row < size; ++row)
    for (unsigned column = 0; column < size; ++column) {
      const ResultPlace place = placeOf(meaning, row, column);
      const u64 bits = results[row * size + column];
      const bool isWide = meaning.element == Element::f64;
      const unsigned at = op.destination.index + place.element * (isWide ? 2 : 1);
      wave.vectors[at].lanes[place.lane] = static_cast<u32>(bits);
      if (isWide)
        wave.vectors[at + 1].lanes[place.lane] = static_cast<u32>(bits >> 32);
    }
}

bool chooseMatrix(Op &op) {
  const Instruction &instruction = op.instruction;
  if (instruction.cbsz != 0 || instruction.abid != 0 || instruction.blgp != 0 || instruction.scaled)
    return false;
  for (const MatrixMeaning &meaning : meanings)
    if (meaning.name == instruction.row->name) {
      op.meaning.matrix = &meaning;
      op.run = runMatrix;
      return true;
    }
  return false;
}

} // namespace tilewright::vgpu::amdgcn
