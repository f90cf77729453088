// wgmma: a warp computes its 16 of the 64 rows when it executes the instruction,
// so the four warps of a group need not wait for each other.
#include "tilewright/vgpu/machine/Matrix.h"

#include "tilewright/support/Concat.h"
#include "tilewright/vgpu/machine/MatrixDescriptor.h"

#include <bit>

namespace tilewright::vgpu::machine {

using ptx::Modifier;

/// Reads `rows` rows from `first` on into `to`, element (r, k) at r * rowStep + k * kStep.
static bool readMatrix(Warp &warp, const Op *op, uint64_t bits, Modifier type, bool isTransposed,
                       unsigned first, unsigned rows, unsigned k, double sign, double *to,
                       size_t rowStep, size_t kStep) {
  const MatrixDescriptor descriptor(bits);
  if (descriptor.baseOffset != 0) {
    fault(warp, op, Error::vgpuFault,
          "a matrix descriptor has a base offset, whose meaning is not modelled");
    return false;
  }
  // 16 bytes at a time: elements along k, or along rows where the matrix is transposed.
  const uint32_t elementBits = ptx::bitsOf(type);
  const float *table = elementTable(type);
  const uint32_t per = 128 / elementBits, bytes = std::max(elementBits / 8, 1u);
  const unsigned rowStride = isTransposed ? per : 1, kStride = isTransposed ? 1 : per;
  for (unsigned r = 0; r < rows; r += rowStride)
    for (unsigned l = 0; l < k; l += kStride) {
      // b1: eight elements to a byte.
      const uint32_t place =
          descriptor.place(first + r, elementBits == 1 ? l / 8 : l, bytes, isTransposed);
      if (uint64_t(place) + 16 > warp.sharedBytes) {
        fault(warp, op, Error::vgpuAccess,
              concat("a matrix descriptor leads to byte ", place, " of ", warp.sharedBytes,
                     " bytes of shared memory"));
        return false;
      }
      uint32_t words[4];
      std::memcpy(words, warp.shared + place, 16);
      observeRange(warp, op, 0, Space::shared, place, 16, AccessKind::read, Proxy::async);
      double *out = to + r * rowStep + l * kStep;
      const size_t step = isTransposed ? rowStep : kStep;
      if (table && per == 8) {
        uint16_t halves[8];
        std::memcpy(halves, words, 16);
        for (unsigned e = 0; e < 8; ++e)
          out[e * step] = sign * table[halves[e]];
        continue;
      }
      for (unsigned e = 0; e < per; ++e, out += step)
        *out = sign * elementValue(type, words[e * elementBits / 32] >> (e * elementBits % 32));
    }
  return true;
}

After runWgmma(Warp &warp, const Op *op, std::byte *registers, uint32_t, uint32_t active) {
  const auto &form = *static_cast<const MatrixForm *>(op->extra);
  const unsigned n = form.n, k = form.k;
  static thread_local std::vector<double> a, b, sums;
  a.assign(size_t(16) * k, 0);
  b.resize(size_t(k) * n);
  sums.assign(size_t(16) * n, 0);
  const unsigned lane0 = static_cast<unsigned>(std::countr_zero(active));
  const double signA = form.negatesA ? -1 : 1, signB = form.negatesB ? -1 : 1;
  const unsigned firstRow = 16 * (warp.index % 4);

  if (form.aIsDescriptor) {
    if (!readMatrix(warp, op, longWord(registers, form.aDescriptor, lane0), form.aType,
                    form.transposesA, firstRow, 16, k, signA, a.data(), k, 1))
      return After::stop;
  } else {
    const unsigned per = 32 / ptx::bitsOf(form.aType);
    for (unsigned lane = 0; lane < 32; ++lane)
      for (unsigned r = 0; r < form.a.size(); ++r)
        for (unsigned e = 0; e < per; ++e)
          a[(lane / 4 + 8 * (r & 1)) * k + per * (lane % 4) + e + 4 * per * (r >> 1)] =
              signA * elementValue(form.aType, word(registers, form.a[r], lane) >>
                                                   (e * ptx::bitsOf(form.aType)));
  }
  if (!readMatrix(warp, op, longWord(registers, form.bDescriptor, lane0), form.bType,
                  form.transposesB, 0, n, k, signB, b.data(), 1, n))
    return After::stop;

  const unsigned per = form.dType == Modifier::f16 ? 2 : 1;
  auto place = [&](unsigned lane, unsigned v) {
    return (lane / 4 + 8 * (v >> 1 & 1)) * n + 8 * (v >> 2) + 2 * (lane % 4) + (v & 1);
  };
  const bool adds = predicateOf(registers, form.scaleD) >> lane0 & 1;
  const bool isSingle = form.dType == Modifier::f32;
  if (adds && isSingle)
    for (unsigned v = 0; v < form.d.size(); ++v) {
      const auto *lanes = reinterpret_cast<const float *>(registers + form.d[v]);
      for (unsigned lane = 0; lane < 32; ++lane)
        sums[place(lane, v)] = lanes[lane];
    }
  else if (adds)
    for (unsigned r = 0; r < form.d.size(); ++r)
      for (unsigned lane = 0; lane < 32; ++lane) {
        const uint32_t bits = word(registers, form.d[r], lane);
        for (unsigned e = 0; e < per; ++e)
          sums[place(lane, r * per + e)] = elementValue(form.dType, bits >> (16 * e));
      }
  const bool isFloat = form.dType == Modifier::f32 || form.dType == Modifier::f16;
  if (isFloat && !warp.block->group->grid->exactTensor) {
    std::vector<double> products(k);
    for (unsigned i = 0; i < 16; ++i)
      for (unsigned j = 0; j < n; ++j) {
        for (unsigned l = 0; l < k; ++l)
          products[l] = a[i * k + l] * b[size_t(l) * n + j];
        sums[i * n + j] =
            alignedSum(products.data(), k, sums[i * n + j], alignmentBits(form.aType));
      }
  } else {
    multiplyAdd(16, n, k, a.data(), b.data(), sums.data());
  }
  if (isSingle) {
    for (unsigned v = 0; v < form.d.size(); ++v) {
      auto *lanes = reinterpret_cast<float *>(registers + form.d[v]);
      for (unsigned lane = 0; lane < 32; ++lane) {
        const auto sum = static_cast<float>(sums[place(lane, v)]);
        lanes[lane] = sum == sum ? sum : std::bit_cast<float>(0x7fffffffu);
      }
    }
    return After::next;
  }
  for (unsigned r = 0; r < form.d.size(); ++r)
    for (unsigned lane = 0; lane < 32; ++lane) {
      uint32_t value = 0;
      for (unsigned e = 0; e < per; ++e)
        value |= roundElement(form.dType, sums[place(lane, r * per + e)], form.saturates)
                 << (16 * e);
      setWord(registers, form.d[r], lane, value);
    }
  return After::next;
}

} // namespace tilewright::vgpu::machine
