#include "tilewright/vgpu/machine/matrix/WarpMatrix.h"

#include "tilewright/support/Concat.h"

#include <bit>
#include <cfenv>
#include <cmath>

namespace tilewright::vgpu::machine {

using ptx::Modifier;

void multiplyMatrices(Warp &warp, const MatrixForm &form, unsigned m, const double *a,
                      const double *b, double *sums) {
  const unsigned n = form.n, k = form.k;
  const bool isFloat = form.dType == Modifier::f32 || form.dType == Modifier::f16;
  if (isFloat && warp.block->group->grid->arithmetic == Arithmetic::hopper) {
    std::vector<double> products(k);
    for (unsigned i = 0; i < m; ++i)
      for (unsigned j = 0; j < n; ++j) {
        for (unsigned l = 0; l < k; ++l)
          products[l] = a[i * k + l] * b[size_t(l) * n + j];
        sums[i * n + j] =
            alignedSum(products.data(), k, sums[i * n + j], alignmentBits(form.aType));
      }
  } else if (form.isXor) {
    for (unsigned i = 0; i < m; ++i)
      for (unsigned l = 0; l < k; ++l)
        for (unsigned j = 0; j < n; ++j)
          sums[i * n + j] += a[i * k + l] != b[l * n + j];
  } else {
    for (unsigned i = 0; i < m; ++i)
      for (unsigned l = 0; l < k; ++l)
        for (unsigned j = 0; j < n; ++j)
          sums[i * n + j] = std::fma(a[i * k + l], b[size_t(l) * n + j], sums[i * n + j]);
  }
}

// Fragments in registers. A 32-bit register holds 32 / bits elements, starting with the lowest
// bits.

static double elementOf(Modifier type, const std::byte *registers,
                        const std::vector<uint32_t> &slots, unsigned lane, unsigned v) {
  if (type == Modifier::f64)
    return std::bit_cast<double>(longWord(registers, slots[v], lane));
  const unsigned bits = ptx::bitsOf(type), per = 32 / bits;
  return elementValue(type, word(registers, slots[v / per], lane) >> (v % per * bits));
}
static void setElement(Modifier type, std::byte *registers, const std::vector<uint32_t> &slots,
                       unsigned lane, unsigned v, double value, bool saturates) {
  if (type == Modifier::f64) {
    setLongWord(registers, slots[v], lane, std::bit_cast<uint64_t>(value));
    return;
  }
  const uint32_t rounded = roundElement(type, value, saturates);
  if (type != Modifier::f16) {
    setWord(registers, slots[v], lane, rounded);
    return;
  }
  const uint32_t shift = 16 * (v & 1), old = word(registers, slots[v / 2], lane);
  setWord(registers, slots[v / 2], lane, (old & ~(0xffffu << shift)) | rounded << shift);
}

unsigned WmmaFragment::element(unsigned lane, unsigned v) const {
  // Use the layout of two m16n8k16 products of mma.sync, because some programs rely on it.
  if (isAccumulator && rows == 16 && columns == 16)
    return (lane / 4 + 8 * (v >> 1 & 1)) * 16 + 2 * (lane % 4) + (v & 1) + 8 * (v >> 2);
  return (lane * perLane + v) % (rows * columns);
}

After runWmmaMove(Warp &warp, const Op *op, std::byte *registers, uint32_t, uint32_t active) {
  const auto &form = *static_cast<const WmmaMoveForm *>(op->extra);
  const WmmaFragment &fragment = form.fragment;
  // PTX requires the same address and stride in every lane.
  const auto first = static_cast<unsigned>(std::countr_zero(active));
  uint64_t base = form.address.bytes == 4 ? word(registers, form.address.slot, first)
                                          : longWord(registers, form.address.slot, first);
  base += static_cast<uint64_t>(form.address.offset);
  const unsigned lines = form.byColumns ? fragment.columns : fragment.rows;
  const unsigned length = form.byColumns ? fragment.rows : fragment.columns;
  const uint32_t stride = form.hasStride ? word(registers, form.stride, first) : length;
  const unsigned bits = ptx::bitsOf(fragment.type);
  const uint32_t bytes = length * bits / 8;
  std::vector<std::byte> memory(size_t(lines) * bytes);
  std::vector<std::byte *> addresses(lines);
  for (unsigned i = 0; i < lines; ++i) {
    const uint64_t address = base + uint64_t(i) * stride * bits / 8;
    // Rows or columns need not be aligned to their own length.
    const uint32_t unit = bits >= 32 ? bits / 8 : 4;
    addresses[i] = resolveRange(warp, op, form.address.space, address, first, bytes, unit);
    if (!addresses[i])
      return After::stop;
    observeRange(warp, op, first, form.address.space, address, bytes,
                 form.isStore ? AccessKind::write : AccessKind::read, Proxy::generic);
    if (!form.isStore)
      std::memcpy(memory.data() + size_t(i) * bytes, addresses[i], bytes);
  }
  // The index of an element in `memory`.
  auto at = [&](unsigned element) {
    const unsigned row = element / fragment.columns, column = element % fragment.columns;
    return form.byColumns ? column * length + row : row * length + column;
  };
  const unsigned per = bits == 64 ? 1 : 32 / bits;
  for (unsigned lane = 0; lane < 32; ++lane)
    for (unsigned r = 0; r < form.slots.size(); ++r) {
      if (bits == 64) {
        std::byte *in = memory.data() + size_t(at(fragment.element(lane, r))) * 8;
        std::byte *out = registers + form.slots[r] + size_t(lane) * 8;
        std::memcpy(form.isStore ? in : out, form.isStore ? out : in, 8);
        continue;
      }
      uint32_t value = form.isStore ? word(registers, form.slots[r], lane) : 0;
      for (unsigned e = 0; e < per; ++e) {
        const unsigned bit = at(fragment.element(lane, r * per + e)) * bits;
        const uint32_t ones = bits == 32 ? ~0u : (1u << bits) - 1;
        uint32_t cell;
        std::byte *where = memory.data() + bit / 32 * 4;
        std::memcpy(&cell, where, 4);
        if (form.isStore) {
          cell = (cell & ~(ones << bit % 32)) | (value >> (e * bits) & ones) << bit % 32;
          std::memcpy(where, &cell, 4);
        } else {
          value |= (cell >> bit % 32 & ones) << (e * bits);
        }
      }
      if (!form.isStore)
        setWord(registers, form.slots[r], lane, value);
    }
  if (form.isStore)
    for (unsigned i = 0; i < lines; ++i)
      std::memcpy(addresses[i], memory.data() + size_t(i) * bytes, bytes);
  return After::next;
}

/// Not inline, so that the compiler does not move arithmetic across the change of the rounding
/// mode.
[[gnu::noinline]] static void multiplyRounded(unsigned m, unsigned n, unsigned k, const double *a,
                                              const double *b, double *sums) {
  for (unsigned i = 0; i < m; ++i)
    for (unsigned j = 0; j < n; ++j)
      for (unsigned l = 0; l < k; ++l) {
        volatile double sum = __builtin_fma(a[i * k + l], b[l * n + j], sums[i * n + j]);
        sums[i * n + j] = sum;
      }
}
static void multiplyWithMode(int mode, unsigned m, unsigned n, unsigned k, const double *a,
                             const double *b, double *sums) {
  const int before = std::fegetround();
  std::fesetround(mode);
  multiplyRounded(m, n, k, a, b, sums);
  std::fesetround(before);
}

After runWmma(Warp &warp, const Op *op, std::byte *registers, uint32_t, uint32_t) {
  const auto &form = *static_cast<const WarpMatrixForm *>(op->extra);
  const MatrixForm &base = form.base;
  auto gather = [&](const WmmaFragment &fragment, const std::vector<uint32_t> &slots) {
    std::vector<double> values(size_t(fragment.rows) * fragment.columns);
    for (unsigned lane = 0; lane < 32; ++lane)
      for (unsigned v = 0; v < fragment.perLane; ++v)
        values[fragment.element(lane, v)] = elementOf(fragment.type, registers, slots, lane, v);
    return values;
  };
  const std::vector<double> a = gather(form.a, base.a), b = gather(form.b, base.b);
  std::vector<double> sums = gather(form.c, base.c);
  if (base.dType == Modifier::f64)
    multiplyWithMode(form.rounding, base.m, base.n, base.k, a.data(), b.data(), sums.data());
  else
    multiplyMatrices(warp, base, base.m, a.data(), b.data(), sums.data());
  for (unsigned lane = 0; lane < 32; ++lane)
    for (unsigned v = 0; v < form.d.perLane; ++v)
      setElement(form.d.type, registers, base.d, lane, v, sums[form.d.element(lane, v)],
                 base.saturates);
  return After::next;
}

After runRoundedMma(Warp &, const Op *op, std::byte *registers, uint32_t, uint32_t) {
  const auto &form = *static_cast<const WarpMatrixForm *>(op->extra);
  const MatrixForm &base = form.base;
  const unsigned m = base.m, n = base.n, k = base.k;
  std::vector<double> a(size_t(m) * k), b(size_t(k) * n), sums(size_t(m) * n);
  auto indexOf = [&](unsigned lane, unsigned v) {
    return (lane / 4 + 8 * (v >> 1)) * n + 2 * (lane % 4) + (v & 1);
  };
  for (unsigned lane = 0; lane < 32; ++lane) {
    const unsigned g = lane / 4, q = lane % 4;
    for (unsigned r = 0; r < base.a.size(); ++r) {
      const unsigned row = m == 16 ? g + 8 * (r & 1) : g;
      a[row * k + q + 4 * (m == 16 ? r >> 1 : r)] =
          std::bit_cast<double>(longWord(registers, base.a[r], lane));
    }
    for (unsigned r = 0; r < base.b.size(); ++r)
      b[(q + 4 * r) * n + g] = std::bit_cast<double>(longWord(registers, base.b[r], lane));
    for (unsigned v = 0; v < base.c.size(); ++v)
      sums[indexOf(lane, v)] = std::bit_cast<double>(longWord(registers, base.c[v], lane));
  }
  multiplyWithMode(form.rounding, m, n, k, a.data(), b.data(), sums.data());
  for (unsigned lane = 0; lane < 32; ++lane)
    for (unsigned v = 0; v < base.d.size(); ++v)
      setLongWord(registers, base.d[v], lane, std::bit_cast<uint64_t>(sums[indexOf(lane, v)]));
  return After::next;
}

// Four products of 8 × 8 × 4. Each is computed by the eight lanes with the same bits 2 and 3.

After runQuadMma(Warp &warp, const Op *op, std::byte *registers, uint32_t, uint32_t) {
  const auto &form = *static_cast<const WarpMatrixForm *>(op->extra);
  const MatrixForm &base = form.base;
  // The row and column of the i-th element of an accumulator.
  auto indexOf = [](Modifier type, unsigned lane, unsigned i) {
    const unsigned half = lane >= 16 ? 4 : 0;
    if (type == Modifier::f16)
      return (lane % 4 + half) * 8 + i;
    return ((lane & 1) + (i & 2) + half) * 8 + (i & 4) + (lane & 2) + (i & 1);
  };
  for (unsigned quad = 0; quad < 4; ++quad) {
    double a[32] = {}, b[32] = {}, sums[64] = {};
    for (unsigned member = 0; member < 8; ++member) {
      const unsigned lane = member % 4 + 4 * quad + (member < 4 ? 0 : 16);
      const unsigned half = member < 4 ? 0 : 4, at = lane % 4;
      for (unsigned i = 0; i < 4; ++i) {
        a[form.aByColumns ? (i + half) * 4 + at : (at + half) * 4 + i] =
            elementOf(Modifier::f16, registers, base.a, lane, i);
        b[form.bByColumns ? i * 8 + at + half : at * 8 + i + half] =
            elementOf(Modifier::f16, registers, base.b, lane, i);
      }
      for (unsigned i = 0; i < 8; ++i)
        sums[indexOf(base.cType, lane, i)] = elementOf(base.cType, registers, base.c, lane, i);
    }
    multiplyMatrices(warp, base, 8, a, b, sums);
    for (unsigned member = 0; member < 8; ++member) {
      const unsigned lane = member % 4 + 4 * quad + (member < 4 ? 0 : 16);
      for (unsigned i = 0; i < 8; ++i)
        setElement(base.dType, registers, base.d, lane, i, sums[indexOf(base.dType, lane, i)],
                   false);
    }
  }
  return After::next;
}

} // namespace tilewright::vgpu::machine
