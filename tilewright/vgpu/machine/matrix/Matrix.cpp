#include "tilewright/vgpu/machine/matrix/Matrix.h"

#include "tilewright/vgpu/machine/Conversion.h"
#include "tilewright/vgpu/machine/async/AsyncQueue.h"

#include <array>
#include <bit>
#include <cmath>
#include <memory>

namespace tilewright::vgpu::machine {

using ptx::Modifier;

// Elements.

template <size_t size> static std::unique_ptr<float[]> tableOf(Modifier type) {
  auto table = std::make_unique<float[]>(size);
  for (size_t i = 0; i < size; ++i)
    table[i] = static_cast<float>(valueOf(type, i & ((size_t(1) << ptx::bitsOf(type)) - 1)));
  return table;
}

const float *elementTable(Modifier type) {
  static const std::unique_ptr<float[]> half = tableOf<65536>(Modifier::f16);
  static const std::unique_ptr<float[]> brain = tableOf<65536>(Modifier::bf16);
  static const std::unique_ptr<float[]> e4m3 = tableOf<256>(Modifier::e4m3);
  static const std::unique_ptr<float[]> e5m2 = tableOf<256>(Modifier::e5m2);
  static const std::unique_ptr<float[]> e2m3 = tableOf<256>(Modifier::e2m3);
  static const std::unique_ptr<float[]> e3m2 = tableOf<256>(Modifier::e3m2);
  static const std::unique_ptr<float[]> e2m1 = tableOf<256>(Modifier::e2m1);
  switch (type) {
  case Modifier::f16:
    return half.get();
  case Modifier::bf16:
    return brain.get();
  case Modifier::e4m3:
    return e4m3.get();
  case Modifier::e5m2:
    return e5m2.get();
  case Modifier::e2m3:
    return e2m3.get();
  case Modifier::e3m2:
    return e3m2.get();
  case Modifier::e2m1:
    return e2m1.get();
  default:
    return nullptr;
  }
}

double elementValue(Modifier type, uint32_t bits) {
  switch (type) {
  case Modifier::f16:
    return elementTable(type)[bits & 0xffff];
  case Modifier::bf16:
    return std::bit_cast<float>(bits << 16);
  case Modifier::tf32:
    return std::bit_cast<float>(bits & 0xffffe000u);
  case Modifier::f32:
    return std::bit_cast<float>(bits);
  case Modifier::e4m3:
  case Modifier::e5m2:
    return elementTable(type)[bits & 0xff];
  case Modifier::s32:
    return static_cast<int32_t>(bits);
  case Modifier::u8:
    return bits & 0xff;
  case Modifier::s8:
    return static_cast<int8_t>(bits);
  case Modifier::u4:
    return bits & 15;
  case Modifier::s4:
    return static_cast<int8_t>(bits << 4) >> 4;
  default:
    return bits & 1; // b1
  }
}

uint32_t roundElement(Modifier type, double value, bool saturates) {
  switch (type) {
  case Modifier::f32: {
    const auto rounded = static_cast<float>(value);
    return std::isnan(rounded) ? 0x7fffffffu : std::bit_cast<uint32_t>(rounded);
  }
  case Modifier::f16: {
    ConversionForm form;
    form.from = Modifier::f64;
    form.to = Modifier::f16;
    return static_cast<uint32_t>(convert(form, std::bit_cast<uint64_t>(value)));
  }
  default: {
    if (saturates)
      value = std::min(std::max(value, -2147483648.0), 2147483647.0);
    return static_cast<uint32_t>(static_cast<int64_t>(value));
  }
  }
}

// Sums.

int alignmentBits(Modifier type) {
  return type == Modifier::e4m3 || type == Modifier::e5m2 ? 13 : 25;
}

float alignedSum(const double *products, unsigned count, double start, int fraction) {
  int top = -10000;
  bool isFinite = std::isfinite(start);
  if (start != 0)
    top = std::ilogb(start);
  for (unsigned i = 0; i < count; ++i) {
    isFinite = isFinite && std::isfinite(products[i]);
    if (products[i] != 0)
      top = std::max(top, std::ilogb(products[i]));
  }
  if (!isFinite) {
    double sum = start;
    for (unsigned i = 0; i < count; ++i)
      sum += products[i];
    return static_cast<float>(sum);
  }
  if (top == -10000)
    return 0;
  auto aligned = [&](double term) {
    return static_cast<int64_t>(std::trunc(std::ldexp(term, fraction - top)));
  };
  int64_t sum = aligned(start);
  for (unsigned i = 0; i < count; ++i)
    sum += aligned(products[i]);
  const uint64_t bits =
      roundToFloat(Modifier::f32, Rounding::zero, false, sum < 0,
                   sum < 0 ? uint64_t(0) - static_cast<uint64_t>(sum) : static_cast<uint64_t>(sum),
                   top - fraction);
  return std::bit_cast<float>(static_cast<uint32_t>(bits));
}

// Transfers between shared memory and registers.

uint64_t rowAddress(const std::byte *registers, const AddressForm &form, unsigned lane) {
  if (form.bytes == 4)
    return static_cast<uint32_t>(word(registers, form.slot, lane) + uint32_t(form.offset));
  return longWord(registers, form.slot, lane) + static_cast<uint64_t>(form.offset);
}
std::byte *rowOf(Warp &warp, const Op *op, const std::byte *registers, const AddressForm &form,
                 unsigned lane) {
  return resolve(warp, op, form.space, rowAddress(registers, form, lane), lane, 16);
}

/// Notifies the observer that each lane that provides an address accesses one row. `stored` holds
/// the rows that a store writes.
static void observeMove(Warp &warp, const Op *op, const std::byte *registers,
                        const MatrixMoveForm &form, AccessKind kind,
                        const uint16_t (*stored)[64] = nullptr) {
  AccessTeller teller(warp, op, kind, Proxy::generic, 0);
  if (teller)
    for (unsigned lane = 0; lane < 8 * form.slots.size(); ++lane)
      teller.lane(
          lane, flatAddress(warp, form.address.space, rowAddress(registers, form.address, lane)),
          16,
          stored ? reinterpret_cast<const std::byte *>(&stored[lane / 8][lane % 8 * 8]) : nullptr);
}

/// words[4 * g + q] = rows 2 * q and 2 * q + 1 of column g.
static void transpose(const uint16_t (&matrix)[8][8], uint32_t (&words)[32]) {
  typedef uint16_t Row __attribute__((ext_vector_type(8)));
  typedef uint32_t Four __attribute__((ext_vector_type(4)));
  auto rowAt = [&](unsigned i) {
    Row row;
    std::memcpy(&row, matrix[i], sizeof(row));
    return row;
  };
  for (unsigned half = 0; half < 2; ++half) {
    // Interleaves four columns of each pair of rows, then transposes 4 x 4 blocks.
    Four pairs[4];
    for (unsigned q = 0; q < 4; ++q) {
      const Row even = rowAt(2 * q), odd = rowAt(2 * q + 1);
      pairs[q] =
          std::bit_cast<Four>(half ? __builtin_shufflevector(even, odd, 4, 12, 5, 13, 6, 14, 7, 15)
                                   : __builtin_shufflevector(even, odd, 0, 8, 1, 9, 2, 10, 3, 11));
    }
    const Four a = __builtin_shufflevector(pairs[0], pairs[1], 0, 4, 1, 5),
               b = __builtin_shufflevector(pairs[2], pairs[3], 0, 4, 1, 5),
               c = __builtin_shufflevector(pairs[0], pairs[1], 2, 6, 3, 7),
               d = __builtin_shufflevector(pairs[2], pairs[3], 2, 6, 3, 7);
    const Four columns[4] = {
        __builtin_shufflevector(a, b, 0, 1, 4, 5), __builtin_shufflevector(a, b, 2, 3, 6, 7),
        __builtin_shufflevector(c, d, 0, 1, 4, 5), __builtin_shufflevector(c, d, 2, 3, 6, 7)};
    std::memcpy(words + 16 * half, columns, sizeof(columns));
  }
}

After runLdmatrix(Warp &warp, const Op *op, std::byte *registers, uint32_t, uint32_t active) {
  const auto &form = *static_cast<const MatrixMoveForm *>(op->extra);
  const unsigned rows = 8 * static_cast<unsigned>(form.slots.size());
  // Read all rows first: the destination may be the address register.
  alignas(64) uint16_t matrices[4][8][8];
  observeMove(warp, op, registers, form, AccessKind::read);
  // Fast path: most rows are aligned and in the block's own memory.
  uint64_t addresses[32], highest = 0, wrong = form.address.space == Space::shared ? 0 : 1;
  for (unsigned i = 0; i < rows; ++i) {
    addresses[i] = rowAddress(registers, form.address, i);
    wrong |= addresses[i] % 16;
    highest = std::max(highest, addresses[i]);
  }
  const bool isPlain = wrong == 0 && highest + 16 <= warp.sharedBytes;
  for (unsigned i = 0; i < rows; ++i) {
    const std::byte *from =
        isPlain ? warp.shared + addresses[i] : rowOf(warp, op, registers, form.address, i);
    if (!from)
      return After::stop;
    std::memcpy(matrices[i / 8][i % 8], from, 16);
  }
  for (unsigned i = 0; i < form.slots.size(); ++i) {
    alignas(64) uint32_t words[32];
    if (form.transposed)
      transpose(matrices[i], words);
    else
      std::memcpy(words, matrices[i], sizeof(words));
    if (active == ~0u)
      std::memcpy(registers + form.slots[i], words, sizeof(words));
    else
      for (unsigned lane = 0; lane < 32; ++lane)
        if (active >> lane & 1)
          setWord(registers, form.slots[i], lane, words[lane]);
  }
  return After::next;
}

After runStmatrix(Warp &warp, const Op *op, std::byte *registers, uint32_t, uint32_t) {
  const auto &form = *static_cast<const MatrixMoveForm *>(op->extra);
  uint16_t matrices[4][64];
  for (unsigned i = 0; i < form.slots.size(); ++i) {
    uint16_t *matrix = matrices[i];
    for (unsigned lane = 0; lane < 32; ++lane) {
      const unsigned g = lane / 4, q = 2 * (lane % 4);
      const uint32_t value = word(registers, form.slots[i], lane);
      matrix[form.transposed ? 8 * q + g : 8 * g + q] = static_cast<uint16_t>(value);
      matrix[form.transposed ? 8 * (q + 1) + g : 8 * g + q + 1] =
          static_cast<uint16_t>(value >> 16);
    }
  }
  observeMove(warp, op, registers, form, AccessKind::write, matrices);
  for (unsigned row = 0; row < 8 * form.slots.size(); ++row) {
    std::byte *to = rowOf(warp, op, registers, form.address, row);
    if (!to)
      return After::stop;
    std::memcpy(to, &matrices[row / 8][row % 8 * 8], 16);
  }
  return After::next;
}

After runMovmatrix(Warp &, const Op *op, std::byte *registers, uint32_t, uint32_t) {
  const auto &form = *static_cast<const MatrixMoveForm *>(op->extra);
  uint16_t matrix[8][8];
  for (unsigned lane = 0; lane < 32; ++lane) {
    const uint32_t value = word(registers, form.source, lane);
    matrix[lane / 4][2 * (lane % 4)] = static_cast<uint16_t>(value);
    matrix[lane / 4][2 * (lane % 4) + 1] = static_cast<uint16_t>(value >> 16);
  }
  for (unsigned lane = 0; lane < 32; ++lane) {
    const unsigned q = 2 * (lane % 4), g = lane / 4;
    setWord(registers, form.slots[0], lane, matrix[q][g] | uint32_t(matrix[q + 1][g]) << 16);
  }
  return After::next;
}

// mma.sync. With g = lane / 4, q = lane % 4 and E elements per register, register r holds:
//   A  rows g + 8 * (r & 1) (M = 8: g), columns E * q + e + 4 * E * (r >> 1) (M = 8: r)
//   B  rows E * q + e + 4 * E * r, column g
//   C  element v: row g + 8 * (v >> 1), column 2 * q + (v & 1)
// So a register of A or B is eight chunks of 16 bytes, one for each row or column.

void locateFragmentA(std::span<const uint32_t> slots, bool isTall, std::vector<uint32_t> &offsets) {
  offsets.clear();
  const unsigned across = isTall ? 2 : 1;
  for (unsigned row = 0; row < 8 * across; ++row)
    for (size_t r = row / 8; r < slots.size(); r += across)
      offsets.push_back(slots[r] + 16 * (row % 8));
}

/// Computes each element with `sumOf(row, column, start)`.
template <typename SumOf>
static void sumElements(unsigned octet, const double *start, double *results, SumOf sumOf) {
  for (unsigned i = 0; i < 128; ++i)
    results[i] = sumOf(i % 32 / 4 + 8 * (i / 64), 8 * octet + 2 * (i % 4) + i / 32 % 2, start[i]);
}

bool isFastProduct(const MatrixForm &form, Arithmetic arithmetic) {
  // The number of bits that differ is not a product.
  return arithmetic == Arithmetic::fast && !form.isXor;
}

void accumulateProduct(TileProduct &product, const MatrixForm &form, Arithmetic arithmetic,
                       bool adds, std::byte *registers, std::span<const uint32_t> c,
                       std::span<const uint32_t> d) {
  const unsigned cPer = form.cType == Modifier::f16 ? 2 : 1;
  const unsigned dPer = form.dType == Modifier::f16 ? 2 : 1;
  const bool isFloat = form.dType == Modifier::f32 || form.dType == Modifier::f16;
  const bool isTruncated = isFloat && arithmetic == Arithmetic::hopper;
  if (form.dType == Modifier::f32 && form.cType == Modifier::f32 && !isTruncated &&
      (c.data() == d.data() || !adds)) {
    float *accumulators[128];
    for (size_t i = 0; i < d.size(); ++i)
      accumulators[i] = reinterpret_cast<float *>(registers + d[i]);
    product.accumulate(accumulators, adds);
    return;
  }
  const unsigned values = form.m == 8 ? 2 : 4; // per lane in an octet
  alignas(64) double start[128] = {}, results[128];
  for (unsigned octet = 0; octet < form.n / 8; ++octet) {
    if (adds)
      for (unsigned v = 0; v < values; ++v) {
        const uint32_t slot = c[(octet * values + v) / cPer];
        for (unsigned lane = 0; lane < 32; ++lane)
          start[32 * v + lane] =
              elementValue(form.cType, word(registers, slot, lane) >> (16 * (v % cPer)));
      }
    if (form.isXor)
      sumElements(octet, start, results, [&](unsigned row, unsigned column, double sum) {
        for (unsigned l = 0; l < form.k; ++l)
          sum += product.a(row, l) != product.b(l, column);
        return sum;
      });
    else if (isTruncated)
      sumElements(octet, start, results, [&](unsigned row, unsigned column, double sum) {
        double products[256];
        for (unsigned l = 0; l < form.k; ++l)
          products[l] = product.a(row, l) * product.b(l, column);
        return alignedSum(products, form.k, sum, alignmentBits(form.aType));
      });
    else
      product.sums(octet, start, results);
    for (unsigned v = 0; v < values; v += dPer) {
      const uint32_t slot = d[(octet * values + v) / dPer];
      for (unsigned lane = 0; lane < 32; ++lane) {
        uint32_t bits = roundElement(form.dType, results[32 * v + lane], form.saturates);
        if (dPer == 2)
          bits |= roundElement(form.dType, results[32 * (v + 1) + lane], form.saturates) << 16;
        setWord(registers, slot, lane, bits);
      }
    }
  }
}

/// f64 uses a chain of fused multiply-adds, from the first column of A to the last.
static void multiplyF64(const MatrixForm &form, std::byte *registers) {
  const unsigned m = form.m, k = form.k;
  double a[16][16], b[16][8], sums[16][8];
  auto read = [&](uint32_t slot, unsigned lane) {
    return std::bit_cast<double>(longWord(registers, slot, lane));
  };
  for (unsigned lane = 0; lane < 32; ++lane) {
    const unsigned g = lane / 4, q = lane % 4;
    for (unsigned r = 0; r < form.a.size(); ++r)
      a[m == 16 ? g + 8 * (r & 1) : g][q + 4 * (m == 16 ? r >> 1 : r)] = read(form.a[r], lane);
    for (unsigned r = 0; r < form.b.size(); ++r)
      b[q + 4 * r][g] = read(form.b[r], lane);
    for (unsigned v = 0; v < form.c.size(); ++v)
      sums[g + 8 * (v >> 1)][2 * q + (v & 1)] = read(form.c[v], lane);
  }
  for (unsigned i = 0; i < m; ++i)
    for (unsigned l = 0; l < k; ++l)
      for (unsigned j = 0; j < 8; ++j)
        sums[i][j] = __builtin_fma(a[i][l], b[l][j], sums[i][j]);
  for (unsigned lane = 0; lane < 32; ++lane)
    for (unsigned v = 0; v < form.d.size(); ++v)
      setLongWord(registers, form.d[v], lane,
                  std::bit_cast<uint64_t>(sums[lane / 4 + 8 * (v >> 1)][2 * (lane % 4) + (v & 1)]));
}

/// Computes a fast product without moving the fragments. Returns false if it must be computed like
/// the others.
static bool multiplyFast(const MatrixForm &form, std::byte *registers) {
  if (form.m != 16 || form.dType != Modifier::f32 || form.cType != Modifier::f32 ||
      ptx::bitsOf(form.aType) < 8)
    return false;
  const float *c[4];
  float *d[4];
  for (unsigned i = 0; i < 4; ++i) {
    c[i] = reinterpret_cast<const float *>(registers + form.c[i]);
    d[i] = reinterpret_cast<float *>(registers + form.d[i]);
  }
  auto operandOf = [](Modifier type, const std::vector<uint32_t> &slots) {
    return FragmentOperand{tileElementOf(type), elementTable(type), slots.data(),
                           static_cast<unsigned>(slots.size())};
  };
  static const TileKernels &kernels = tileKernels();
  kernels.multiplyFragments(operandOf(form.aType, form.a), operandOf(form.bType, form.b), registers,
                            c, d);
  return true;
}

void accumulateFragments(TileProduct &product, const MatrixForm &form, Arithmetic arithmetic,
                         std::byte *registers) {
  if (form.dType != Modifier::f32 || form.cType != Modifier::f32 || form.m != 16)
    return accumulateProduct(product, form, arithmetic, true, registers, form.c, form.d);
  // D may use the registers of C in a different order, so accumulate in a copy.
  alignas(64) float sums[4][32];
  for (unsigned i = 0; i < 4; ++i)
    std::memcpy(sums[i], registers + form.c[i], sizeof(sums[i]));
  static constexpr uint32_t slots[4] = {0, 128, 256, 384};
  accumulateProduct(product, form, arithmetic, true, reinterpret_cast<std::byte *>(sums), slots,
                    slots);
  for (unsigned i = 0; i < 4; ++i)
    std::memcpy(registers + form.d[i], sums[i], sizeof(sums[i]));
}

After runMma(Warp &warp, const Op *op, std::byte *registers, uint32_t, uint32_t) {
  const auto &form = *static_cast<const MatrixForm *>(op->extra);
  if (form.dType == Modifier::f64) {
    multiplyF64(form, registers);
    return After::next;
  }
  const Arithmetic arithmetic = warp.block->group->grid->arithmetic;
  if (isFastProduct(form, arithmetic) && multiplyFast(form, registers))
    return After::next;
  static thread_local std::vector<uint32_t> offsets;
  TileProduct &product = threadProduct();
  product.begin(form.aType, form.bType, form.n, form.k, isFastProduct(form, arithmetic));
  locateFragmentA(form.a, form.m == 16, offsets);
  product.readA(registers, offsets, false, false);
  offsets.clear();
  for (unsigned column = 0; column < 8; ++column)
    for (uint32_t slot : form.b)
      offsets.push_back(slot + 16 * column);
  product.readB(registers, offsets, false);
  accumulateFragments(product, form, arithmetic, registers);
  return After::next;
}

} // namespace tilewright::vgpu::machine
