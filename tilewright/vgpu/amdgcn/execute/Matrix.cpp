// MFMA: the positions of the matrix elements, and the arithmetic that sums their products. EXEC is
// ignored.
//
// f32 and f64 are chains of fused multiply-adds in the order of k; integers wrap around. All other
// types on gfx942 are summed as on CDNA3. The arithmetic of gfx950 is not published: there the sum
// is exact and rounded once.
#include "tilewright/numerics/Float.h"
#include "tilewright/vgpu/amdgcn/execute/MatrixArithmetic.h"
#include "tilewright/vgpu/amdgcn/execute/Op.h"

#include <charconv>

namespace tilewright::vgpu::amdgcn {

using numerics::ElementType;

// -- Shapes

static std::optional<ElementType> elementOf(std::string_view name, Chip chip) {
  const bool isOcp = chip == Chip::gfx950;
  if (name == "f16")
    return ElementType::f16;
  if (name == "bf16")
    return ElementType::bf16;
  if (name == "f32")
    return ElementType::f32;
  if (name == "xf32") // as tf32, only the upper 19 bits count
    return ElementType::tf32;
  if (name == "f64")
    return ElementType::f64;
  if (name == "i8")
    return ElementType::i8;
  if (name == "i32")
    return ElementType::i32;
  if (name == "fp8")
    return isOcp ? ElementType::f8E4M3FN : ElementType::f8E4M3FNUZ;
  if (name == "bf8")
    return isOcp ? ElementType::f8E5M2 : ElementType::f8E5M2FNUZ;
  return std::nullopt;
}

/// Whether cbsz and blgp encode the formats of the factors.
static bool choosesFormats(const Instruction &instruction) {
  return instruction.row->name.ends_with("f8f6f4");
}
/// The formats that they choose.
static std::optional<ElementType> narrowElement(unsigned code) {
  constexpr ElementType types[] = {ElementType::f8E4M3FN, ElementType::f8E5M2,
                                   ElementType::f6E2M3FN, ElementType::f6E3M2FN,
                                   ElementType::f4E2M1FN};
  return code < std::size(types) ? std::optional(types[code]) : std::nullopt;
}

/// Removes the text before the next `separator` from `text` and returns it.
static std::string_view takeUntil(std::string_view &text, char separator) {
  const size_t end = std::min(text.find(separator), text.size());
  const std::string_view part = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return part;
}
static uint8_t takeNumber(std::string_view text) {
  uint8_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

/// The shape of v_mfma_RESULT_SIZExSIZExDEPTH[_BLOCKSb]_A[_B].
static std::optional<MatrixShape> shapeOf(const Instruction &instruction, Chip chip) {
  std::string_view text = instruction.row->name;
  if (!text.starts_with("v_mfma_"))
    return std::nullopt;
  text.remove_prefix(std::string_view("v_mfma_").size());
  MatrixShape shape;
  const auto result = elementOf(takeUntil(text, '_'), chip);
  shape.size = takeNumber(takeUntil(text, 'x'));
  takeUntil(text, 'x');
  shape.depth = takeNumber(takeUntil(text, '_'));
  std::string_view first = takeUntil(text, '_');
  if (first.ends_with('b')) {
    shape.blocks = takeNumber(first);
    first = takeUntil(text, '_');
  }
  const bool isNarrow = choosesFormats(instruction);
  const auto a = isNarrow ? narrowElement(instruction.cbsz) : elementOf(first, chip);
  const auto b =
      isNarrow ? narrowElement(instruction.blgp) : elementOf(text.empty() ? first : text, chip);
  if (!result || !a || !b)
    return std::nullopt;
  shape.result = *result;
  shape.factors = {*a, *b};
  return shape;
}

/// Whether products are summed as on CDNA3.
static bool isCdna3(const Op &op) {
  const ElementType type = op.matrix.factors[0];
  return op.chip == Chip::gfx942 && type != ElementType::f64 && type != ElementType::f32 &&
         type != ElementType::i8;
}

/// The modifiers that select other lanes exist only for instructions with several blocks.
static bool acceptsModifiers(const Instruction &instruction, const MatrixShape &shape) {
  if (choosesFormats(instruction))
    return true;
  if (instruction.row->has(flags::negates))
    return instruction.cbsz == 0 && instruction.abid == 0;
  if (shape.blocks == 1)
    return instruction.cbsz == 0 && instruction.abid == 0 && instruction.blgp == 0;
  return 1u << instruction.cbsz <= shape.blocks && instruction.abid < 1u << instruction.cbsz;
}

// -- Places

namespace {
/// Where an element of a matrix is.
struct Place {
  unsigned lane, element;
};
} // namespace

/// The position of the element in row `row` and column `k` of the first factor, or in column `row`
/// and row `k` of the second one.
static Place placeOfFactor(const Op &op, unsigned side, unsigned block, unsigned row, unsigned k) {
  const MatrixShape &shape = op.matrix;
  const unsigned lanes = shape.size * shape.blocks, perLane = shape.depth * lanes / laneCount;
  const Instruction &instruction = op.instruction;
  if (choosesFormats(instruction) && numerics::bitWidth(shape.factors[side]) == 8) {
    // A lane holds two runs of 16 bytes, half of the depth apart.
    const unsigned groups = laneCount / shape.size;
    return {row + shape.size * (k / 16 % groups), 16 * (k / (16 * groups)) + k % 16};
  }
  if (side == 0 && shape.blocks > 1)
    block = (block & ~((1u << instruction.cbsz) - 1)) + instruction.abid;
  unsigned lane = row + shape.size * block + lanes * (k / perLane);
  if (side == 1 && shape.blocks > 1) {
    const unsigned pattern = instruction.blgp;
    if (pattern == 1 || pattern == 2) // a half of the lanes for both halves
      lane = (lane & 31) + 32 * (pattern - 1);
    else if (pattern == 3) // rotated
      lane = (lane + 16) % laneCount;
    else if (pattern >= 4) // a quarter for all
      lane = (lane & 15) + 16 * (pattern - 4);
  }
  return {lane, k % perLane};
}

static Place placeOfResult(const MatrixShape &shape, unsigned block, unsigned row,
                           unsigned column) {
  const unsigned size = shape.size;
  if (shape.result == ElementType::f64)
    return size == 16 ? Place{column + 16 * (row % 4), row / 4}
                      : Place{column + 4 * block + 16 * row, 0};
  if (size == 4)
    return {column + 4 * block, row};
  if (size == 16)
    return {column + 16 * (row / 4), row % 4 + 4 * block};
  return {column + 32 * (row / 4 % 2), row % 4 + 4 * (row / 8) + 16 * block};
}

// -- Values

static f64 readFactor(const Wave &wave, const Slot &slot, ElementType type, Place place) {
  const unsigned width = numerics::bitWidth(type), bit = place.element * width;
  u64 bits = wave.vectors[slot.index + bit / 32].lanes[place.lane];
  if (bit % 32 + width > 32)
    bits |= u64(wave.vectors[slot.index + bit / 32 + 1].lanes[place.lane]) << 32;
  bits >>= bit % 32;
  if (type == ElementType::i8)
    return static_cast<int8_t>(bits);
  return numerics::decode(type, bits);
}

/// The scale for row `row` and the 32 elements of `k`: the byte of the lane that op_sel selects.
static f64 readScale(const Wave &wave, const Op &op, unsigned side, unsigned row, unsigned k) {
  const Slot &slot = op.sources[3 + side];
  const unsigned lane = row + op.matrix.size * (k / 32);
  const u32 dword = slot.kind == SlotKind::vector ? wave.vectors[slot.index].lanes[lane]
                                                  : static_cast<u32>(readScalar(wave, slot));
  const unsigned byte =
      (op.instruction.opSel >> side & 1) + 2 * (op.instruction.opSelHi >> side & 1);
  return numerics::decode(ElementType::f8E8M0FNU, dword >> (8 * byte) & 255);
}

static MatrixFactor readFactors(const Wave &wave, const Op &op, unsigned side, unsigned block) {
  const ElementType type = op.matrix.factors[side];
  const bool isNegated =
      op.instruction.row->has(flags::negates) && (op.instruction.blgp >> side & 1) != 0;
  MatrixFactor factor(type, op.matrix.depth, isCdna3(op));
  for (unsigned row = 0; row < op.matrix.size; ++row)
    for (unsigned k = 0; k < op.matrix.depth; ++k) {
      f64 value = readFactor(wave, op.sources[side], type, placeOfFactor(op, side, block, row, k));
      if (op.instruction.scaled)
        value *= readScale(wave, op, side, row, k);
      factor.add(isNegated ? -value : value);
    }
  return factor;
}

/// C: a constant, or registers of the same layout as the result.
static u64 readC(const Wave &wave, const Op &op, Place place) {
  const Slot &slot = op.sources[2];
  const bool isWide = op.matrix.result == ElementType::f64;
  if (slot.kind != SlotKind::vector)
    return isWide && slot.bits != 64 ? bitsOf(f64(fromBits<f32>(slot.value))) : slot.value;
  if (!isWide)
    return wave.vectors[slot.index + place.element].lanes[place.lane];
  const unsigned at = slot.index + 2 * place.element;
  const u64 bits = wave.vectors[at].lanes[place.lane] | u64(wave.vectors[at + 1].lanes[place.lane])
                                                            << 32;
  return (op.instruction.blgp & 4) != 0 ? bits ^ u64(1) << 63 : bits;
}

/// C plus the sum of products, as bits of the result's type.
static u64 product(const Op &op, const MatrixFactor &a, unsigned row, const MatrixFactor &b,
                   unsigned column, u64 c) {
  const auto left = a.row(row), right = b.row(column);
  switch (op.matrix.factors[0]) {
  case ElementType::f64:
    return bitsOf(addInOrder(left, right, fromBits<f64>(c)));
  case ElementType::f32:
    return bitsOf(addInOrder(left, right, fromBits<f32>(c)));
  case ElementType::i8: {
    i64 sum = 0;
    for (size_t k = 0; k < left.size(); ++k)
      sum += static_cast<i64>(left[k] * right[k]);
    return static_cast<u32>(c + static_cast<u64>(sum));
  }
  default:
    return bitsOf(isCdna3(op) ? addAsCdna3(a, row, b, column, fromBits<f32>(c))
                              : addExactly(left, right, fromBits<f32>(c)));
  }
}

static void runMatrix(Wave &wave, const Op &op) {
  const MatrixShape &shape = op.matrix;
  std::vector<std::pair<Place, u64>> results; // written at the end: D may overlap the factors
  for (unsigned block = 0; block < shape.blocks; ++block) {
    const MatrixFactor a = readFactors(wave, op, 0, block), b = readFactors(wave, op, 1, block);
    for (unsigned row = 0; row < shape.size; ++row)
      for (unsigned column = 0; column < shape.size; ++column) {
        const Place place = placeOfResult(shape, block, row, column);
        results.emplace_back(place, product(op, a, row, b, column, readC(wave, op, place)));
      }
  }
  const bool isWide = shape.result == ElementType::f64;
  for (const auto &[place, bits] : results) {
    const unsigned at = op.destination.index + place.element * (isWide ? 2 : 1);
    wave.vectors[at].lanes[place.lane] = static_cast<u32>(bits);
    if (isWide)
      wave.vectors[at + 1].lanes[place.lane] = static_cast<u32>(bits >> 32);
  }
}

bool chooseMatrix(Op &op) {
  const std::optional<MatrixShape> shape = shapeOf(op.instruction, op.chip);
  if (!shape || !acceptsModifiers(op.instruction, *shape))
    return false;
  op.matrix = *shape;
  op.run = runMatrix;
  return true;
}

} // namespace tilewright::vgpu::amdgcn
