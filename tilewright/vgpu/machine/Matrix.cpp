#include "tilewright/vgpu/machine/Matrix.h"

#include "tilewright/vgpu/machine/AsyncQueue.h"
#include "tilewright/vgpu/machine/Conversion.h"

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
    table[i] = static_cast<float>(valueOf(type, i));
  return table;
}

const float *elementTable(Modifier type) {
  static const std::unique_ptr<float[]> half = tableOf<65536>(Modifier::f16);
  static const std::unique_ptr<float[]> brain = tableOf<65536>(Modifier::bf16);
  static const std::unique_ptr<float[]> e4m3 = tableOf<256>(Modifier::e4m3);
  static const std::unique_ptr<float[]> e5m2 = tableOf<256>(Modifier::e5m2);
  switch (type) {
  case Modifier::f16:
    return half.get();
  case Modifier::bf16:
    return brain.get();
  case Modifier::e4m3:
    return e4m3.get();
  case Modifier::e5m2:
    return e5m2.get();
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

[[gnu::always_inline]] static inline void multiplyAddBody(unsigned m, unsigned n, unsigned k,
                                                          const double *a, const double *b,
                                                          double *sums) {
  for (unsigned i = 0; i < m; ++i)
    for (unsigned l = 0; l < k; ++l) {
      const double factor = a[i * k + l];
      const double *row = b + size_t(l) * n;
      double *sum = sums + size_t(i) * n;
      for (unsigned j = 0; j < n; ++j)
        sum[j] = __builtin_fma(factor, row[j], sum[j]);
    }
}
#if defined(__x86_64__)
__attribute__((target("arch=x86-64-v4"))) static void
multiplyAddV4(unsigned m, unsigned n, unsigned k, const double *a, const double *b, double *sums) {
  multiplyAddBody(m, n, k, a, b, sums);
}
__attribute__((target("arch=x86-64-v3"))) static void
multiplyAddV3(unsigned m, unsigned n, unsigned k, const double *a, const double *b, double *sums) {
  multiplyAddBody(m, n, k, a, b, sums);
}
void multiplyAdd(unsigned m, unsigned n, unsigned k, const double *a, const double *b,
                 double *sums) {
  static const bool hasV4 = __builtin_cpu_supports("x86-64-v4");
  if (hasV4)
    multiplyAddV4(m, n, k, a, b, sums);
  else
    multiplyAddV3(m, n, k, a, b, sums);
}
#else
void multiplyAdd(unsigned m, unsigned n, unsigned k, const double *a, const double *b,
                 double *sums) {
  multiplyAddBody(m, n, k, a, b, sums);
}
#endif

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

// Between shared memory and registers.

/// The address of row `row` of matrix `index`, which lane 8 * index + row has.
static uint64_t rowAddress(const std::byte *registers, const AddressForm &form, unsigned lane) {
  if (form.bytes == 4)
    return static_cast<uint32_t>(word(registers, form.slot, lane) + uint32_t(form.offset));
  return longWord(registers, form.slot, lane) + static_cast<uint64_t>(form.offset);
}
static std::byte *rowOf(Warp &warp, const Op *op, const std::byte *registers,
                        const AddressForm &form, unsigned lane) {
  return resolve(warp, op, form.space, rowAddress(registers, form, lane), lane, 16);
}

/// The lanes that hold addresses access a row each.
static void observeMove(Warp &warp, const Op *op, const std::byte *registers,
                        const MatrixMoveForm &form, AccessKind kind) {
  AccessTeller teller(warp, op, kind, Proxy::generic, 0);
  if (teller)
    for (unsigned lane = 0; lane < 8 * form.slots.size(); ++lane)
      teller.lane(lane,
                  flatAddress(warp, form.address.space, rowAddress(registers, form.address, lane)),
                  16);
}

After runLdmatrix(Warp &warp, const Op *op, std::byte *registers, uint32_t, uint32_t active) {
  const auto &form = *static_cast<const MatrixMoveForm *>(op->extra);
  observeMove(warp, op, registers, form, AccessKind::read);
  std::vector<std::array<uint16_t, 64>> matrices(form.slots.size());
  for (unsigned i = 0; i < matrices.size(); ++i)
    for (unsigned row = 0; row < 8; ++row) {
      const std::byte *from = rowOf(warp, op, registers, form.address, 8 * i + row);
      if (!from)
        return After::stop;
      std::memcpy(&matrices[i][8 * row], from, 16);
    }
  for (unsigned i = 0; i < matrices.size(); ++i)
    for (unsigned lane = 0; lane < 32; ++lane) {
      if (!(active >> lane & 1))
        continue;
      const unsigned g = lane / 4, q = 2 * (lane % 4);
      const uint32_t low = form.transposed ? matrices[i][8 * q + g] : matrices[i][8 * g + q];
      const uint32_t high =
          form.transposed ? matrices[i][8 * (q + 1) + g] : matrices[i][8 * g + q + 1];
      setWord(registers, form.slots[i], lane, low | high << 16);
    }
  return After::next;
}

After runStmatrix(Warp &warp, const Op *op, std::byte *registers, uint32_t, uint32_t) {
  const auto &form = *static_cast<const MatrixMoveForm *>(op->extra);
  observeMove(warp, op, registers, form, AccessKind::write);
  for (unsigned i = 0; i < form.slots.size(); ++i) {
    uint16_t matrix[64];
    for (unsigned lane = 0; lane < 32; ++lane) {
      const unsigned g = lane / 4, q = 2 * (lane % 4);
      const uint32_t value = word(registers, form.slots[i], lane);
      matrix[form.transposed ? 8 * q + g : 8 * g + q] = static_cast<uint16_t>(value);
      matrix[form.transposed ? 8 * (q + 1) + g : 8 * g + q + 1] =
          static_cast<uint16_t>(value >> 16);
    }
    for (unsigned row = 0; row < 8; ++row) {
      std::byte *to = rowOf(warp, op, registers, form.address, 8 * i + row);
      if (!to)
        return After::stop;
      std::memcpy(to, &matrix[8 * row], 16);
    }
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

// mma.sync. With g = lane / 4, q = lane % 4 and E elements to a register,
// register r holds of
//   A  rows g + 8 * (r & 1) (of M = 8: g), columns E * q + e + 4 * E * (r >> 1) (of M = 8: r)
//   B  rows E * q + e + 4 * E * r, column g
//   C  element v: row g + 8 * (v >> 1), column 2 * q + (v & 1)

static unsigned elementsPerRegister(Modifier type) {
  return type == Modifier::f64 ? 1 : 32 / ptx::bitsOf(type);
}
static double registerElement(Modifier type, const std::byte *registers, uint32_t slot,
                              unsigned lane, unsigned e) {
  if (type == Modifier::f64)
    return std::bit_cast<double>(longWord(registers, slot, lane));
  return elementValue(type, word(registers, slot, lane) >> (e * ptx::bitsOf(type)));
}

After runMma(Warp &warp, const Op *op, std::byte *registers, uint32_t, uint32_t) {
  const auto &form = *static_cast<const MatrixForm *>(op->extra);
  const unsigned m = form.m, n = form.n, k = form.k;
  static thread_local std::vector<double> a, b, sums;
  a.assign(size_t(m) * k, 0);
  b.assign(size_t(k) * n, 0);
  sums.assign(size_t(m) * n, 0);
  const unsigned aPer = elementsPerRegister(form.aType), bPer = elementsPerRegister(form.bType);
  const bool isTall = m == 16;
  for (unsigned lane = 0; lane < 32; ++lane) {
    const unsigned g = lane / 4, q = lane % 4;
    for (unsigned r = 0; r < form.a.size(); ++r)
      for (unsigned e = 0; e < aPer; ++e) {
        const unsigned row = isTall ? g + 8 * (r & 1) : g;
        const unsigned column = aPer * q + e + 4 * aPer * (isTall ? r >> 1 : r);
        a[row * k + column] = registerElement(form.aType, registers, form.a[r], lane, e);
      }
    for (unsigned r = 0; r < form.b.size(); ++r)
      for (unsigned e = 0; e < bPer; ++e)
        b[(bPer * q + e + 4 * bPer * r) * n + g] =
            registerElement(form.bType, registers, form.b[r], lane, e);
  }
  const unsigned cPer = form.cType == Modifier::f16 ? 2 : 1;
  const unsigned dPer = form.dType == Modifier::f16 ? 2 : 1;
  auto place = [&](unsigned lane, unsigned v) {
    return (lane / 4 + 8 * (v >> 1)) * n + 2 * (lane % 4) + (v & 1);
  };
  for (unsigned lane = 0; lane < 32; ++lane)
    for (unsigned v = 0; v < form.c.size() * cPer; ++v)
      sums[place(lane, v)] =
          registerElement(form.cType, registers, form.c[v / cPer], lane, v % cPer);

  const bool isFloat = form.dType == Modifier::f32 || form.dType == Modifier::f16;
  if (isFloat && !warp.block->group->grid->exactTensor) {
    std::vector<double> products(k);
    for (unsigned i = 0; i < m; ++i)
      for (unsigned j = 0; j < n; ++j) {
        for (unsigned l = 0; l < k; ++l)
          products[l] = a[i * k + l] * b[l * n + j];
        sums[i * n + j] =
            alignedSum(products.data(), k, sums[i * n + j], alignmentBits(form.aType));
      }
  } else if (form.isXor) {
    for (unsigned i = 0; i < m; ++i)
      for (unsigned l = 0; l < k; ++l)
        for (unsigned j = 0; j < n; ++j)
          sums[i * n + j] += a[i * k + l] != b[l * n + j];
  } else {
    multiplyAdd(m, n, k, a.data(), b.data(), sums.data());
  }

  for (unsigned lane = 0; lane < 32; ++lane)
    for (unsigned r = 0; r < form.d.size(); ++r) {
      if (form.dType == Modifier::f64) {
        setLongWord(registers, form.d[r], lane, std::bit_cast<uint64_t>(sums[place(lane, r)]));
        continue;
      }
      uint32_t value = 0;
      for (unsigned e = 0; e < dPer; ++e)
        value |= roundElement(form.dType, sums[place(lane, r * dPer + e)], form.saturates)
                 << (16 * e);
      setWord(registers, form.d[r], lane, value);
    }
  return After::next;
}

} // namespace tilewright::vgpu::machine
