#include "tilewright/dialect/sm/InstructionLayouts.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

using namespace tilewright::sm;

using Digits = Layout::Digits;

static Layout layout(std::initializer_list<Digits> dims) {
  return Layout(llvm::ArrayRef(dims.begin(), dims.size())).canonical();
}

/// The 16 rows of a fragment: row r < 8 is in lanes 4r to 4r + 3. Row r + 8 is in the same lanes,
/// in a register whose number is `perRegister` higher.
static Digits rowPairs(int64_t perRegister) {
  return {{2, Axis::reg, perRegister}, {8, Axis::lane, 4}};
}

Layout instruction::mmaA(int64_t bits, bool half) {
  if (bits == 64)
    return layout({{{8, Axis::lane, 4}}, {{4, Axis::lane, 1}}});
  const int64_t packed = 32 / bits;
  return layout(
      {rowPairs(packed),
       {{half ? 1 : 2, Axis::reg, 2 * packed}, {4, Axis::lane, 1}, {packed, Axis::reg, 1}}});
}

Layout instruction::mmaB(int64_t bits, bool half) {
  if (bits == 64)
    return layout({{{4, Axis::lane, 1}}, {{8, Axis::lane, 4}}});
  const int64_t packed = 32 / bits;
  return layout({{{half ? 1 : 2, Axis::reg, packed}, {4, Axis::lane, 1}, {packed, Axis::reg, 1}},
                 {{8, Axis::lane, 4}}});
}

Layout instruction::mmaC(int64_t bits) {
  const Digits columns = {{4, Axis::lane, 1}, {2, Axis::reg, 1}};
  return bits == 64 ? layout({{{8, Axis::lane, 4}}, columns}) : layout({rowPairs(2), columns});
}

/// The depth of an operand of MFMA: the lanes of a row hold 16 bytes each, which are consecutive,
/// or groups of four elements.
static Digits mfmaDepth(int64_t bits, instruction::MfmaDepth depth, int64_t size) {
  const int64_t held = 128 / bits, together = 4, lanes = 64 / size;
  if (depth == instruction::MfmaDepth::consecutive || held <= together)
    return {{lanes, Axis::lane, size}, {held, Axis::reg, 1}};
  return {
      {held / together, Axis::reg, together}, {lanes, Axis::lane, size}, {together, Axis::reg, 1}};
}

Layout instruction::mfmaA(int64_t bits, MfmaDepth depth, int64_t size) {
  return layout({{{size, Axis::lane, 1}}, mfmaDepth(bits, depth, size)});
}

Layout instruction::mfmaB(int64_t bits, MfmaDepth depth, int64_t size) {
  return layout({mfmaDepth(bits, depth, size), {{size, Axis::lane, 1}}});
}

Layout instruction::mfmaC(int64_t bits, int64_t size) {
  const Digits rows = {{size, Axis::lane, 1}};
  if (bits == 64)
    return layout({rows, {{4, Axis::reg, 1}, {4, Axis::lane, 16}}});
  if (size == 32)
    return layout({rows, {{4, Axis::reg, 4}, {2, Axis::lane, 32}, {4, Axis::reg, 1}}});
  return layout({rows, {{4, Axis::lane, 16}, {4, Axis::reg, 1}}});
}

Layout instruction::matrixFragment(bool transposed) {
  const Digits rows = {{8, Axis::lane, 4}}, columns = {{4, Axis::lane, 1}, {2, Axis::reg, 1}};
  return transposed ? layout({columns, rows}) : layout({rows, columns});
}

Layout instruction::matrixRows(int64_t matrices) {
  return Layout({Digits{{8 * matrices, Axis::lane, 1}}}, {{4 / matrices, Axis::lane, 8 * matrices}})
      .canonical();
}

static Digits groupRows(int64_t perRegister) {
  return {{4, Axis::warp, 1}, {2, Axis::reg, perRegister}, {8, Axis::lane, 4}};
}

Layout instruction::wgmmaAccumulator(int64_t n) {
  return layout({groupRows(2), {{n / 8, Axis::reg, 4}, {4, Axis::lane, 1}, {2, Axis::reg, 1}}});
}

Layout instruction::wgmmaA(int64_t bits) {
  const int64_t packed = 32 / bits;
  return layout({groupRows(packed),
                 {{2, Axis::reg, 2 * packed}, {4, Axis::lane, 1}, {packed, Axis::reg, 1}}});
}

std::optional<Layout> instruction::tmaBox(int64_t rows, int64_t columns, int64_t elementBytes,
                                          int64_t swizzleBytes) {
  if (swizzleBytes == 0)
    return Layout::packed({rows, columns}, {1, 0});
  if (columns * elementBytes != swizzleBytes)
    return std::nullopt;
  // The length of a row is the width of the swizzle. The pattern is CUTLASS's Swizzle<B, 4, 3> on
  // byte addresses.
  const int64_t shift = llvm::Log2_64(elementBytes), count = llvm::Log2_64(swizzleBytes / 16);
  const Digits rowDigits = {{rows, Axis::offset, swizzleBytes / elementBytes}},
               columnDigits = {{columns, Axis::offset, 1}};
  llvm::SmallVector<Flip> flips;
  for (int64_t bit = 0; bit < count; ++bit) {
    // The offsets of such a small box never have this bit set.
    if ((int64_t(1) << (7 + bit)) >= rows * swizzleBytes)
      continue;
    flips.push_back({Axis::offset, 7 + bit - shift, Axis::offset, 4 + bit - shift});
  }
  const Layout box({rowDigits, columnDigits}, {}, flips);
  if (!box.problem().empty())
    return std::nullopt;
  return box.canonical();
}

std::optional<Layout> instruction::tensorAccumulator(int64_t m, int64_t n, int64_t ctas) {
  const Digits columns = {{n, Axis::tmemColumn, 1}};
  if (ctas == 1 && m == 128)
    return layout({{{128, Axis::tmemLane, 1}}, columns});
  if (ctas == 1 && m == 64)
    return layout({{{4, Axis::tmemLane, 32}, {16, Axis::tmemLane, 1}}, columns});
  if (ctas == 2 && m == 256)
    return layout({{{2, Axis::cta, 1}, {128, Axis::tmemLane, 1}}, columns});
  if (ctas == 2 && m == 128)
    return layout({{{2, Axis::cta, 1}, {64, Axis::tmemLane, 1}},
                   {{2, Axis::tmemLane, 64}, {n / 2, Axis::tmemColumn, 1}}});
  return std::nullopt;
}

/// The digits of a coordinate (`coordinate`, most significant first) that `digit` selects. The
/// first of these has no upper bound.
static void appendDigits(const Digit &digit, llvm::ArrayRef<Digit> coordinate, Digits &digits) {
  Digits found;
  int64_t step = 1; // of the coordinate's digit
  for (auto [index, part] : llvm::enumerate(llvm::reverse(coordinate))) {
    const bool isLast = index + 1 == coordinate.size();
    const int64_t from = std::max(step, digit.stride), end = digit.size * digit.stride,
                  to = isLast ? end : std::min(step * part.size, end);
    if (from < to)
      found.push_back({to / from, part.axis, part.stride * (from / step)});
    step *= part.size;
  }
  digits.append(found.rbegin(), found.rend());
}

std::optional<Layout> instruction::tensorOperand(int64_t m, int64_t k, int64_t ctas) {
  // A pair with 64 rows in each CTA would read two copies of each row.
  if (ctas == 2 && m != 256)
    return std::nullopt;
  return tensorAccumulator(m, k, ctas);
}

Layout instruction::withPairedRows(const Layout &layout) {
  llvm::SmallVector<Digits> dims(layout.getDims());
  // The last digit of the rows is a multiple of 16 lanes.
  const Digit lanes = dims[0].pop_back_val();
  if (lanes.size > 16)
    dims[0].push_back({lanes.size / 16, Axis::tmemLane, 16 * lanes.stride});
  dims[0].append({{8, Axis::tmemLane, lanes.stride}, {2, Axis::tmemLane, 8 * lanes.stride}});
  return Layout(dims).canonical();
}

Layout instruction::tensorRegisters(const Layout &tile, int64_t groups, int64_t bits) {
  const int64_t columns = tile.extent(Axis::tmemColumn), packed = 32 / bits;
  Layout access = tensorLoad(TensorLoad::x16b256, columns / 8);
  if (packed > 1)
    access = layout({rowPairs(packed),
                     {{columns / (4 * packed), Axis::reg, 2 * packed},
                      {4, Axis::lane, 1},
                      {packed, Axis::reg, 1}}});
  // A lane number consists of a quarter, one of its halves, and a row of the instruction.
  Digits lane{{4, Axis::warp, 1}, {2, Axis::reg, access.extent(Axis::reg)}};
  if (groups == 2)
    lane[1] = {2, Axis::group, 1};
  lane.append(access.getDims()[0].begin(), access.getDims()[0].end());
  llvm::SmallVector<Digits> dims;
  for (const Digits &old : tile.getDims()) {
    Digits &digits = dims.emplace_back();
    for (const Digit &digit : old)
      if (digit.axis == Axis::tmemLane)
        appendDigits(digit, lane, digits);
      else if (digit.axis == Axis::tmemColumn)
        appendDigits(digit, access.getDims()[1], digits);
      else
        digits.push_back(digit);
  }
  return Layout(dims).canonical();
}

Layout instruction::tensorRows(int64_t columns, int64_t groups) {
  Digits rows;
  if (groups > 1)
    rows.push_back({groups, Axis::group, 1});
  rows.append({{4, Axis::warp, 1}, {32, Axis::lane, 1}});
  return layout({rows, {{columns, Axis::reg, 1}}});
}

Layout instruction::tensorLoad(TensorLoad shape, int64_t count) {
  switch (shape) {
  case TensorLoad::x32b32:
    return layout({{{32, Axis::lane, 1}}, {{count, Axis::reg, 1}}});
  case TensorLoad::x16b64:
    return layout(
        {{{2, Axis::lane, 1}, {8, Axis::lane, 4}}, {{count, Axis::reg, 1}, {2, Axis::lane, 2}}});
  case TensorLoad::x16b128:
    return layout(
        {{{2, Axis::reg, 1}, {8, Axis::lane, 4}}, {{count, Axis::reg, 2}, {4, Axis::lane, 1}}});
  case TensorLoad::x16b256:
    return layout({{{2, Axis::reg, 2}, {8, Axis::lane, 4}},
                   {{count, Axis::reg, 4}, {4, Axis::lane, 1}, {2, Axis::reg, 1}}});
  }
  return Layout();
}
