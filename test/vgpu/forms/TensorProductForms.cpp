// tcgen05.mma of every kind: matrices along K and along M and N in every swizzle, A in tensor
// memory, one and two blocks, scales. The layouts are written as PTX's figures show them: chunks of
// 16 bytes exchanged by the number of their row. The reference sums exactly and rounds once.
#include "test/vgpu/forms/TensorKernel.h"

#include "tilewright/numerics/ExactSum.h"
#include "tilewright/numerics/Float.h"
#include "tilewright/support/Concat.h"

#include <bit>
#include <cmath>
#include <cstring>

namespace tilewright::vgpu::forms {

using numerics::ElementType;

/// The value of an element, a float or an integer.
static double numberOf(ElementType type, uint32_t bits) {
  if (type == ElementType::ui8)
    return bits;
  return type == ElementType::i8 ? static_cast<int8_t>(bits) : numerics::decode(type, bits);
}

namespace {
/// An element type of A or B: its code in the descriptor, its bits, and elements in 16 bytes.
struct FactorType {
  ElementType type;
  unsigned code, bits, perChunk;
};

/// A matrix of element bits: rows of k.
struct Factor {
  FactorType type;
  unsigned rows, k;
  std::vector<uint32_t> bits;
  uint32_t at(unsigned row, unsigned l) const { return bits[size_t(row) * k + l]; }
  double value(unsigned row, unsigned l) const { return numberOf(type.type, at(row, l)); }
};

/// A matrix in shared memory with its descriptor, without the address.
struct SharedTile {
  std::vector<uint8_t> bytes;
  uint64_t descriptor = 0;
};

constexpr FactorType f16{ElementType::f16, 0, 16, 8}, bf16{ElementType::bf16, 1, 16, 8},
    tf32{ElementType::f32, 2, 32, 4}, e4m3{ElementType::f8E4M3FN, 0, 8, 16},
    e5m2{ElementType::f8E5M2, 1, 8, 16}, e2m3{ElementType::f6E2M3FN, 3, 6, 16},
    e3m2{ElementType::f6E3M2FN, 4, 6, 16}, e2m1{ElementType::f4E2M1FN, 5, 4, 16},
    dense4{ElementType::f4E2M1FN, 1, 4, 32}, u8{ElementType::ui8, 0, 8, 16},
    s8{ElementType::i8, 1, 8, 16};
} // namespace

static std::vector<FactorType> typesOf(Modifier kind) {
  switch (kind) {
  case Modifier::kindF16:
    return {f16, bf16};
  case Modifier::kindTf32:
    return {tf32};
  case Modifier::kindI8:
    return {u8, s8};
  case Modifier::kindMxf4:
  case Modifier::kindMxf4nvf4:
    return {dense4};
  default:
    return {e4m3, e5m2, e2m3, e3m2, e2m1};
  }
}

static Factor randomFactor(const FactorType &type, unsigned rows, unsigned k,
                           std::mt19937_64 &random) {
  Factor factor{type, rows, k, std::vector<uint32_t>(size_t(rows) * k)};
  for (uint32_t &bits : factor.bits) {
    bits = static_cast<uint32_t>(random()) & (type.bits == 32 ? ~0u : (1u << type.bits) - 1);
    if (type.bits == 32) // tf32 near 1, without the bits that it ignores
      bits = (bits & 0x807fe000u) | uint32_t(120 + random() % 14) << 23;
    if (type.type == ElementType::bf16)
      bits = (bits & 0x807fu) | uint32_t(120 + random() % 14) << 7;
    if (!std::isfinite(numberOf(type.type, bits)))
      bits = 0;
  }
  return factor;
}

/// Puts an element into the chunk of 16 bytes at `chunk`: dense, or padded to 16 elements.
static void putElement(uint8_t *chunk, const FactorType &type, unsigned index, uint32_t bits) {
  const unsigned at = index * type.bits;
  for (unsigned i = 0; i < type.bits; ++i)
    if (bits >> i & 1)
      chunk[(at + i) / 8] = static_cast<uint8_t>(chunk[(at + i) / 8] | 1u << (at + i) % 8);
}

/// `swizzle` is 0, 1 (128 bytes in atoms of 32), 2 (128), 4 (64) or 6 (32).
static SharedTile tileOf(const Factor &factor, bool isTransposed, unsigned swizzle) {
  const unsigned per = factor.type.perChunk, rows = factor.rows, k = factor.k;
  const unsigned span = swizzle == 0 ? 16 : swizzle == 4 ? 64 : swizzle == 6 ? 32 : 128;
  SharedTile tile;
  unsigned leading, stride;
  if (!isTransposed) {
    leading = 128;
    stride = swizzle == 0 ? 128 * (k / per) : 8 * span;
    tile.bytes.resize(size_t((rows + 7) / 8) * stride);
  } else if (swizzle == 0) {
    leading = 128;
    stride = 128 * (k / 8);
    tile.bytes.resize(size_t((rows + per - 1) / per) * stride);
  } else {
    const unsigned deep = swizzle == 1 ? 4 : 8; // elements of k in an atom
    stride = deep * span;
    leading = stride * (k / deep);
    tile.bytes.resize(size_t((rows * 16 / per + span - 1) / span) * leading);
  }
  auto exchanged = [&](unsigned chunk, unsigned line) {
    switch (swizzle) {
    case 1:
      return chunk ^ (line % 4) << 1;
    case 2:
      return chunk ^ line % 8;
    case 4:
      return chunk ^ line % 8 / 2;
    case 6:
      return chunk ^ line % 8 / 4;
    default:
      return chunk;
    }
  };
  for (unsigned r = 0; r < rows; ++r)
    for (unsigned l = 0; l < k; ++l) {
      const unsigned along = isTransposed ? r : l, line = isTransposed ? l : r;
      const unsigned chunk = along / per, wide = span / 16;
      size_t at;
      if (swizzle == 0)
        at = isTransposed ? size_t(chunk) * stride + line / 8 * leading + line % 8 * 16
                          : size_t(line / 8) * stride + line % 8 * 16 + chunk * leading;
      else if (!isTransposed)
        at = size_t(line / 8) * stride + line % 8 * span + exchanged(chunk, line) * 16;
      else if (swizzle == 1)
        at = size_t(chunk / wide) * leading + line / 4 * stride + line % 4 * span +
             exchanged(chunk % wide, line) * 16;
      else
        at = size_t(chunk / wide) * leading + line / 8 * stride + line % 8 * span +
             exchanged(chunk % wide, line) * 16;
      putElement(tile.bytes.data() + at, factor.type, along % per, factor.at(r, l));
    }
  tile.descriptor = uint64_t(leading >> 4) << 16 | uint64_t(stride >> 4) << 32 | uint64_t(1) << 46 |
                    uint64_t(swizzle) << 61;
  return tile;
}

namespace {
/// One product: its shape, its operands, and where they are.
struct Case {
  const Form &form;
  Modifier kind;
  bool isPair, isStationary, isScaled;
  unsigned m = 0, n = 0, k = 0;
  FactorType aType, bType;
  bool transA = false, transB = false, negA = false, negB = false, aInTensor = false;
  unsigned swizzleA = 0, swizzleB = 0;
  unsigned dCode = 1; // 0 f16, 1 f32, 2 s32
  bool saturates = false, adds = false, isShifted = false;
  unsigned scaleD = 0;
  std::vector<uint32_t> disabled; // 4 for each block
  uint64_t zeroMask = 0;
  // Scales: of blocks along k.
  unsigned block = 0, idA = 0, idB = 0;
  bool isE8 = false;
  std::vector<uint8_t> scaleA, scaleB; // by row, then block
};

constexpr uint32_t dColumn = 0, aColumn = 256, scaleAColumn = 320, scaleBColumn = 352;
} // namespace

static double scaleOf(bool isE8, uint8_t bits) {
  return numerics::decode(isE8 ? ElementType::f8E8M0FNU : ElementType::f8E4M3FN, bits);
}

/// The lane and column of element (m, n) of D, and the block that has it.
struct Cell {
  unsigned block, lane, column;
};
static Cell cellOfD(const Case &c, unsigned m, unsigned n) {
  if (c.isPair) {
    if (c.m == 256)
      return {m / 128, m % 128, n};
    return {m / 64, m % 64 + (n >= c.n / 2 ? 64 : 0), n % (c.n / 2)};
  }
  if (c.m == 128)
    return {0, m, n};
  if (c.isStationary)
    return c.m == 64 ? Cell{0, m + (n >= c.n / 2 ? 64 : 0), n % (c.n / 2)}
                     : Cell{0, m + 32 * (n / (c.n / 4)), n % (c.n / 4)};
  return {0, 32 * (m / 16) + m % 16, n};
}

static std::vector<bool> zeroed(const Case &c) {
  std::vector<bool> zero(c.n, false);
  if (!(c.zeroMask >> 39 & 1))
    return zero;
  const unsigned parts = 128 / c.m;
  const unsigned skip = (c.zeroMask >> 40 & 255) + 1, use = (c.zeroMask >> 48 & 255) + 1;
  for (unsigned part = 0; part < parts; ++part) {
    // The columns alternate between `use` columns that count and `skip` that do not, or, if the
    // first span is one to skip, the other way round; the pattern starts at the start count.
    const bool skipsFirst = c.zeroMask >> (32 + part) & 1;
    std::vector<bool> pattern;
    pattern.insert(pattern.end(), skipsFirst ? skip : use, skipsFirst);
    pattern.insert(pattern.end(), skipsFirst ? use : skip, !skipsFirst);
    size_t at = (c.zeroMask >> (8 * part) & 255) % pattern.size();
    for (unsigned j = 0; j < c.n / parts; ++j, at = (at + 1) % pattern.size())
      zero[part * (c.n / parts) + j] = pattern[at];
  }
  return zero;
}

static uint32_t descriptorOf(const Case &c) {
  uint32_t bits = uint32_t(c.aType.code) << 7 | uint32_t(c.bType.code) << 10 |
                  uint32_t(c.negA) << 13 | uint32_t(c.negB) << 14 | uint32_t(c.transA) << 15 |
                  uint32_t(c.transB) << 16 | uint32_t(c.n / 8) << 17;
  if (c.isScaled)
    return bits | c.idB << 4 | uint32_t(c.isE8) << 23 | uint32_t(c.m / 128) << 27 | c.idA << 29;
  return bits | uint32_t(c.saturates) << 3 | c.dCode << 4 | uint32_t(c.m / 16) << 24;
}

static uint32_t randomD(const Case &c, std::mt19937_64 &random) {
  if (c.dCode == 2)
    return static_cast<uint32_t>(random()) >> random() % 8;
  if (c.dCode == 0)
    return static_cast<uint32_t>(0x3000 + random() % 0x1800) | uint32_t(random() & 1) << 15;
  return static_cast<uint32_t>(random() & 0x807fffffu) | uint32_t(118 + random() % 18) << 23;
}

static std::string instructionOf(const Case &c, uint64_t aDescriptor, uint64_t bDescriptor) {
  // Addresses of tiles are relative to %s.
  std::string text = concat("shr.u32 %r0, %s, 4; cvt.u64.u32 %d0, %r0; add.u64 %d1, %d0, ",
                            bDescriptor, "; add.u64 %d0, %d0, ", aDescriptor, ";\n");
  text += concat("mov.b32 %r1, ", descriptorOf(c), "; setp.ne.u32 %p0, ", c.adds ? 1 : 0, ", 0;\n");
  text += concat(c.form.name(), " [%t+", dColumn, "], ",
                 c.aInTensor ? concat("[%t+", aColumn, "]") : std::string("%d0"), ", %d1, %r1");
  std::string before;
  if (c.isScaled)
    text += concat(", [%t+", scaleAColumn, "], [%t+", scaleBColumn, "]");
  if (!c.disabled.empty()) {
    text += ", {";
    for (size_t i = 0; i < c.disabled.size(); ++i) {
      before += concat("mov.b32 %r", 10 + i, ", ", c.disabled[i], ";\n");
      text += concat(i ? ", " : "", "%r", 10 + i);
    }
    text += "}";
  }
  text += ", %p0";
  if (c.scaleD)
    text += concat(", ", c.scaleD);
  if (c.zeroMask) {
    before += concat("mov.b64 %d5, ", c.zeroMask, ";\n");
    text += ", %d5";
  }
  return before + text + ";\n";
}

static void runCase(Session &session, Case c) {
  std::mt19937_64 &random = session.random;
  const unsigned blocks = c.isPair ? 2 : 1;
  const Factor a = randomFactor(c.aType, c.m, c.k, random),
               b = randomFactor(c.bType, c.n, c.k, random);
  auto rowsOf = [](const Factor &factor, unsigned first, unsigned count) {
    Factor part{factor.type, count, factor.k, {}};
    part.bits.assign(factor.bits.begin() + ptrdiff_t(first) * factor.k,
                     factor.bits.begin() + ptrdiff_t(first + count) * factor.k);
    return part;
  };
  TensorSetup setup;
  setup.tensor.resize(blocks);
  for (TensorImage &image : setup.tensor)
    for (uint32_t lane = 0; lane < 128; ++lane)
      for (uint32_t column = 0; column < 256; ++column)
        image.at(lane, column) = randomD(c, random);
  uint64_t aDescriptor = 0, bDescriptor = 0;
  const unsigned rowsEach = c.m / blocks, columnsEach = c.n / blocks;
  for (unsigned block = 0; block < blocks; ++block) {
    const Factor own = rowsOf(a, block * rowsEach, rowsEach);
    const SharedTile tileA = tileOf(own, c.transA, c.swizzleA);
    const SharedTile tileB =
        tileOf(rowsOf(b, block * columnsEach, columnsEach), c.transB, c.swizzleB);
    std::vector<uint8_t> shared = tileA.bytes;
    shared.resize((shared.size() + 1023) / 1024 * 1024);
    aDescriptor = tileA.descriptor;
    bDescriptor = tileB.descriptor | shared.size() >> 4;
    shared.insert(shared.end(), tileB.bytes.begin(), tileB.bytes.end());
    shared.resize((shared.size() + 3) / 4 * 4);
    setup.shared.push_back(std::move(shared));
    TensorImage &image = setup.tensor[block];
    // A: elements of fewer than 8 bits have a byte each, 4 bits in its middle, unless all are of 4.
    for (unsigned row = 0; c.aInTensor && row < rowsEach; ++row)
      for (unsigned l = 0; l < c.k; ++l) {
        const bool isDense = c.aType.bits >= 8 || c.aType.perChunk == 32;
        const unsigned width = isDense ? c.aType.bits : 8, bit = l * width;
        const uint32_t value = own.at(row, l) << (!isDense && c.aType.bits == 4 ? 2 : 0);
        const unsigned lane = cellOfD(c, row + block * rowsEach, 0).lane;
        image.at(lane, aColumn + bit / 32) |= value << bit % 32;
      }
    for (unsigned i = 0; c.isScaled && i < rowsEach; ++i)
      for (unsigned s = 0; s < c.k / c.block; ++s)
        for (unsigned copy = 0; copy < 4; ++copy)
          image.setByte(i % 32 + 32 * copy, scaleAColumn + i / 32, c.idA + s,
                        c.scaleA[(block * rowsEach + i) * (c.k / c.block) + s]);
    const bool isHalved = c.isPair && c.m == 128;
    for (unsigned i = 0; c.isScaled && i < c.n; ++i)
      for (unsigned s = 0; s < c.k / c.block; ++s)
        for (unsigned copy = 0; copy < (isHalved ? 2u : 4u); ++copy) {
          const unsigned j = isHalved ? i % (c.n / 2) : i;
          image.setByte(j % 32 + 32 * copy + (isHalved && i >= c.n / 2 ? 64 : 0),
                        scaleBColumn + j / 32, c.idB + s, c.scaleB[i * (c.k / c.block) + s]);
        }
  }
  setup.instructions = instructionOf(c, aDescriptor, bDescriptor);
  const std::vector<TensorImage> got = runOnTensor(session, c.form, setup);
  if (got.empty())
    return;
  std::vector<TensorImage> expected = setup.tensor;
  const std::vector<bool> zero = zeroed(c);
  const ElementType dType = c.dCode == 0   ? ElementType::f16
                            : c.dCode == 1 ? ElementType::f32
                                           : ElementType::i32;
  const double sign = c.negA != c.negB ? -1 : 1;
  for (unsigned i = 0; i < c.m; ++i)
    for (unsigned j = 0; j < c.n; ++j) {
      const Cell cell = cellOfD(c, i, j);
      if (!c.disabled.empty() &&
          (c.disabled[4 * cell.block + cell.lane / 32] >> cell.lane % 32 & 1))
        continue;
      uint32_t &word = expected[cell.block].at(cell.lane, dColumn + cell.column);
      numerics::ExactSum sum;
      double whole = 0; // of integers
      const double old = c.dCode == 2
                             ? double(static_cast<int32_t>(word))
                             : numerics::decode(dType, c.dCode == 0 ? word & 0xffff : word);
      if (c.adds) {
        sum.add(std::ldexp(old, -int(c.scaleD)));
        whole += old;
      }
      for (unsigned l = 0; l < c.k && !zero[j]; ++l) {
        const unsigned row = c.isShifted && i % rowsEach > 0 ? i - 1 : i;
        double x = sign * a.value(row, l), y = b.value(j, l);
        if (c.isScaled) {
          x *= scaleOf(c.isE8, c.scaleA[i * (c.k / c.block) + l / c.block]);
          y *= scaleOf(c.isE8, c.scaleB[j * (c.k / c.block) + l / c.block]);
        }
        sum.addProduct(x, y);
        whole += x * y;
      }
      if (c.dCode == 2) {
        if (c.saturates)
          whole = std::min(std::max(whole, -2147483648.0), 2147483647.0);
        word = static_cast<uint32_t>(static_cast<int64_t>(whole));
      } else {
        word = static_cast<uint32_t>(sum.round(dType));
      }
    }
  auto valueOf = [&](uint32_t word) {
    return numerics::decode(dType, c.dCode == 0 ? word & 0xffff : word);
  };
  for (unsigned block = 0; block < blocks; ++block)
    for (unsigned lane = 0; lane < 128; ++lane)
      for (unsigned column = 0; column < 512; ++column) {
        ++session.values;
        const uint32_t is = got[block].at(lane, column), wanted = expected[block].at(lane, column);
        if (is == wanted)
          continue;
        // A NaN is any NaN, a zero any zero.
        if (c.dCode != 2 && column < 256 &&
            ((std::isnan(valueOf(is)) && std::isnan(valueOf(wanted))) ||
             (valueOf(is) == 0 && valueOf(wanted) == 0)))
          continue;
        session.fail(c.form, concat("M ", c.m, " N ", c.n, " A ", c.aType.code, c.transA ? "T" : "",
                                    c.aInTensor ? " in tensor memory" : "", " swizzle ", c.swizzleA,
                                    " B ", c.bType.code, c.transB ? "T" : "", " swizzle ",
                                    c.swizzleB, ": block ", block, " lane ", lane, " column ",
                                    column, " is ", is, ", expected ", wanted));
        return;
      }
}

static void randomScales(Case &c, std::mt19937_64 &random) {
  auto fill = [&](std::vector<uint8_t> &scales, unsigned rows) {
    scales.resize(size_t(rows) * (c.k / c.block));
    const bool isExtreme = random() % 4 == 0;
    for (uint8_t &scale : scales)
      scale = static_cast<uint8_t>(!c.isE8     ? random() % (isExtreme ? 0x80 : 0x7f)
                                   : isExtreme ? random()
                                               : 120 + random() % 14);
  };
  fill(c.scaleA, c.m);
  fill(c.scaleB, c.n);
}

static void runForm(Session &session, const Form &form) {
  std::mt19937_64 &random = session.random;
  const Instruction &instruction = form.instruction;
  Case c{form, instruction.find(ModifierKind::product), instruction.has(Modifier::ctaGroup2),
         form.row->opcode == "tcgen05.mma.ws", instruction.has(Modifier::blockScale)};
  const std::vector<FactorType> types = typesOf(c.kind);
  c.aType = types[random() % types.size()], c.bType = types[random() % types.size()];
  c.k = c.kind == Modifier::kindTf32                                       ? 8
        : c.kind == Modifier::kindF16                                      ? 16
        : c.kind == Modifier::kindMxf4 || c.kind == Modifier::kindMxf4nvf4 ? 64
                                                                           : 32;
  const bool isInteger = c.kind == Modifier::kindI8;
  if (c.isStationary) {
    c.m = 32u << random() % 3, c.n = 64u << random() % 3;
  } else if (c.isPair) {
    c.m = random() & 1 ? 256 : 128;
    c.n = isInteger ? 32 * (1 + random() % 8) : 16 * (1 + random() % 16);
  } else {
    c.m = c.isScaled || random() & 1 ? 128 : 64;
    c.n = isInteger ? 16 * (1 + random() % 16) : 8 * (1 + random() % 32);
  }
  c.isShifted = instruction.has(Modifier::ashift);
  if (c.isShifted && c.m < 128)
    c.m = 128;
  c.aInTensor = c.isShifted || random() & 1;
  c.negA = !isInteger && random() & 1, c.negB = !isInteger && random() & 1;
  // Elements of 4 and 6 bits are along K here.
  const bool isWide = c.kind != Modifier::kindMxf4 && c.kind != Modifier::kindMxf4nvf4;
  c.transA = isWide && !c.aInTensor && c.aType.bits >= 8 && random() & 1;
  c.transB = isWide && c.bType.bits >= 8 && random() & 1;
  auto swizzleOf = [&](bool isTransposed, unsigned rows, const FactorType &type) -> unsigned {
    if (isTransposed && type.bits == 32)
      return 1;
    static constexpr unsigned all[] = {0, 2, 4, 6};
    const unsigned swizzle = all[random() % 4];
    const unsigned span = swizzle == 2 ? 128 : swizzle == 4 ? 64 : swizzle == 6 ? 32 : 16;
    return isTransposed && rows * 16 / type.perChunk < span ? 0 : swizzle;
  };
  if (c.transB) // chunks along N are whole
    c.n = (c.n + 31) / 32 * 32;
  if (c.transB && c.bType.bits == 32)
    c.n = (c.n + 63) / 64 * 64;
  c.swizzleA = swizzleOf(c.transA, c.m / (c.isPair ? 2 : 1), c.aType);
  c.swizzleB = swizzleOf(c.transB, c.n / (c.isPair ? 2 : 1), c.bType);
  c.adds = random() & 3;
  c.saturates = isInteger && random() & 1;
  c.dCode = isInteger ? 2 : c.isScaled || c.kind == Modifier::kindTf32 ? 1 : random() % 2;
  if (!c.isScaled && !c.isStationary) {
    if (random() & 1)
      for (unsigned i = 0; i < (c.isPair ? 8u : 4u); ++i)
        c.disabled.push_back(random() & 1 ? 0 : static_cast<uint32_t>(random()));
    if ((c.kind == Modifier::kindF16 || c.kind == Modifier::kindTf32) && random() & 1)
      c.scaleD = random() % 16;
  }
  if (c.isStationary && random() & 1)
    c.zeroMask = (random() & 0x001f'1f0f'ffff'ffffu) | uint64_t(1) << 39;
  if (c.isScaled) {
    const Modifier vector = instruction.find(ModifierKind::scaleVector);
    c.block = vector == Modifier::scaleVec4 || vector == Modifier::block16 ? 16 : 32;
    c.isE8 = c.kind != Modifier::kindMxf4nvf4 || random() & 1;
    const unsigned step = c.k / c.block;
    c.idA = step * (random() % (4 / step)), c.idB = step * (random() % (4 / step));
    randomScales(c, random);
  }
  runCase(session, c);
}

void runTensorProducts(Session &session) {
  for (const InstructionRow &row : ptx::instructionTable())
    if (row.handler == Handler::tcgenMma)
      for (const Form &form : formsOf(row, std::max<size_t>(session.perRow / 3, 8), session.random))
        runForm(session, form);
}

} // namespace tilewright::vgpu::forms
