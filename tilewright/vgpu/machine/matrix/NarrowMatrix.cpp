// mma.sync of 4-, 6- and 8-bit types (kind::f8f6f4) and with block scales.
#include "tilewright/vgpu/machine/matrix/BlockScales.h"
#include "tilewright/vgpu/machine/matrix/WarpMatrix.h"

#include "tilewright/support/Concat.h"

namespace tilewright::vgpu::machine {

using ptx::Modifier;

static int significandBitsOf(Modifier type) {
  switch (type) {
  case Modifier::e2m1:
    return 2;
  case Modifier::e3m2:
  case Modifier::e5m2:
    return 3;
  default: // e2m3, e4m3, ue4m3
    return 4;
  }
}

/// Element e of a register. An e2m1 that occupies a byte is in the middle of it.
static float elementAt(Modifier type, bool inBytes, uint32_t bits, unsigned e) {
  const float *table = elementTable(type);
  if (!inBytes)
    return table[bits >> 4 * e & 15];
  const uint32_t byte = bits >> 8 * e & 0xff;
  return table[type == Modifier::e2m1 ? byte >> 2 & 15 : byte];
}

// Lanes, registers and elements are laid out as in mma.sync of 8- or 4-bit integers (Matrix.cpp).

static void gatherA(const NarrowForm &form, const std::byte *registers, std::vector<float> &rows) {
  const unsigned k = form.base.k, each = form.inBytes ? 4 : 8;
  rows.resize(size_t(16) * k);
  for (unsigned r = 0; r < form.base.a.size(); ++r)
    for (unsigned lane = 0; lane < 32; ++lane) {
      const uint32_t bits = word(registers, form.base.a[r], lane);
      float *to =
          &rows[size_t(lane / 4 + 8 * (r & 1)) * k + each * (lane % 4) + 4 * each * (r >> 1)];
      for (unsigned e = 0; e < each; ++e)
        to[e] = elementAt(form.base.aType, form.inBytes, bits, e);
    }
}
static void gatherB(const NarrowForm &form, const std::byte *registers,
                    std::vector<float> &columns) {
  const unsigned k = form.base.k, each = form.inBytes ? 4 : 8;
  columns.resize(size_t(8) * k);
  for (unsigned r = 0; r < form.base.b.size(); ++r)
    for (unsigned lane = 0; lane < 32; ++lane) {
      const uint32_t bits = word(registers, form.base.b[r], lane);
      float *to = &columns[size_t(lane / 4) * k + each * (lane % 4) + 4 * each * r];
      for (unsigned e = 0; e < each; ++e)
        to[e] = elementAt(form.base.bType, form.inBytes, bits, e);
    }
}

/// The scales of `rows` rows (or columns): row i is in lane 4 * (i % 8) + thread + i / 8.
static void gatherScales(const NarrowForm &form, const std::byte *registers, uint32_t slot,
                         unsigned byte, unsigned thread, unsigned rows,
                         std::vector<float> &scales) {
  const unsigned count = form.base.k / form.block;
  scales.resize(size_t(rows) * count);
  for (unsigned i = 0; i < rows; ++i) {
    const uint32_t bits = word(registers, slot, 4 * (i % 8) + thread + i / 8);
    for (unsigned s = 0; s < count; ++s)
      scales[size_t(i) * count + s] =
          scaleValue(form.hasE8Scales, static_cast<uint8_t>(bits >> 8 * (byte + s)));
  }
}

/// The value of a 16-bit operand that must be the same in all lanes: it selects a byte or a thread
/// of scales.
static bool selector(Warp &warp, const Op *op, const std::byte *registers, uint32_t slot,
                     const char *name, unsigned most, unsigned step, unsigned &value) {
  uint16_t lanes[32];
  std::memcpy(lanes, registers + slot, sizeof(lanes));
  value = lanes[0];
  for (const uint16_t lane : lanes)
    if (lane != value) {
      fault(warp, op, Error::vgpuFault,
            concat("the ", name, " of mma must be the same in all threads, got ", value, " and ",
                   lane));
      return false;
    }
  if (value <= most && value % step == 0)
    return true;
  fault(warp, op, Error::vgpuFault,
        concat("the ", name, " of mma must be 0", step == 1 ? " to " : " or ", most, ", got ",
               value));
  return false;
}

/// Rounds each element by itself.
static void sumExtremes(const NarrowForm &form, std::byte *registers, const ScaledRows &a,
                        const ScaledRows &b) {
  uint32_t results[4][32];
  for (unsigned v = 0; v < 4; ++v)
    for (unsigned lane = 0; lane < 32; ++lane) {
      const double start = elementValue(Modifier::f32, word(registers, form.base.c[v], lane));
      const double sum =
          sumScaled(a, lane / 4 + 8 * (v >> 1), b, 2 * (lane % 4) + (v & 1), start, 1);
      results[v][lane] = roundElement(Modifier::f32, sum, false);
    }
  for (unsigned v = 0; v < 4; ++v)
    std::memcpy(registers + form.base.d[v], results[v], sizeof(results[v]));
}

After runNarrowMma(Warp &warp, const Op *op, std::byte *registers, uint32_t, uint32_t) {
  const auto &form = *static_cast<const NarrowForm *>(op->extra);
  const unsigned k = form.base.k;
  static thread_local ScaledRows a, b;
  static thread_local std::vector<float> scaledA, scaledB;
  gatherA(form, registers, a.values);
  gatherB(form, registers, b.values);
  int aBits = significandBitsOf(form.base.aType), bBits = significandBitsOf(form.base.bType);
  const std::vector<float> *rows = &a.values, *columns = &b.values;
  if (form.block != 0) {
    const unsigned count = k / form.block;
    unsigned byteA, byteB, threadA, threadB;
    if (!selector(warp, op, registers, form.byteA, "byte-id-a", 4 - count, count, byteA) ||
        !selector(warp, op, registers, form.threadA, "thread-id-a", 1, 1, threadA) ||
        !selector(warp, op, registers, form.byteB, "byte-id-b", 4 - count, count, byteB) ||
        !selector(warp, op, registers, form.threadB, "thread-id-b", 3, 1, threadB))
      return After::stop;
    a.k = b.k = k;
    a.block = b.block = form.block;
    gatherScales(form, registers, form.scaleA, byteA, 2 * threadA, 16, a.scales);
    gatherScales(form, registers, form.scaleB, byteB, threadB, 8, b.scales);
    const bool isExact = a.multiplied(scaledA) && b.multiplied(scaledB);
    if (!isExact) {
      sumExtremes(form, registers, a, b);
      return After::next;
    }
    rows = &scaledA, columns = &scaledB;
    if (!form.hasE8Scales) {
      aBits += significandBitsOf(Modifier::ue4m3);
      bBits += significandBitsOf(Modifier::ue4m3);
    }
  }
  const Arithmetic arithmetic = warp.block->group->grid->arithmetic;
  TileProduct &product = threadProduct();
  product.beginValues(aBits, bBits, 8, k, arithmetic == Arithmetic::fast);
  product.readAValues(rows->data(), false);
  product.readBValues(columns->data());
  accumulateFragments(product, form.base, arithmetic, registers);
  return After::next;
}

} // namespace tilewright::vgpu::machine
