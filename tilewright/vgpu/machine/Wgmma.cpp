// wgmma: a warp computes its 16 of the 64 rows when it executes the instruction,
// so the four warps of a group need not wait for each other.
#include "tilewright/vgpu/machine/Matrix.h"

#include "tilewright/support/Concat.h"
#include "tilewright/vgpu/machine/AsyncQueue.h"

#include <bit>

namespace tilewright::vgpu::machine {

using ptx::Modifier;

namespace {
/// A matrix in shared memory, as its descriptor says.
struct Descriptor {
  explicit Descriptor(uint64_t bits)
      : start(static_cast<uint32_t>(bits & 0x3fff) << 4),
        leading(static_cast<uint32_t>(bits >> 16 & 0x3fff) << 4),
        stride(static_cast<uint32_t>(bits >> 32 & 0x3fff) << 4),
        baseOffset(static_cast<uint32_t>(bits >> 49 & 7)),
        swizzle(static_cast<uint32_t>(bits >> 62)) {}

  uint32_t start, leading, stride, baseOffset;
  uint32_t swizzle; // 0 none, 1 of 128 bytes, 2 of 64, 3 of 32

  uint32_t span() const { return swizzle == 1 ? 128 : swizzle == 2 ? 64 : swizzle == 3 ? 32 : 16; }
  uint32_t swizzled(uint32_t address) const {
    const uint32_t bits = swizzle == 1 ? 0x70 : swizzle == 2 ? 0x30 : swizzle == 3 ? 0x10 : 0;
    return address ^ ((address >> 3) & bits);
  }
  /// Where element (row, k) lies; `bytes` is an element's size.
  uint32_t place(uint32_t row, uint32_t k, uint32_t bytes, bool isTransposed) const {
    const uint32_t per = 16 / bytes;
    if (!isTransposed) {
      const uint32_t chunk = k / per, rest = (k % per) * bytes;
      if (swizzle == 0)
        return start + row / 8 * stride + row % 8 * 16 + chunk * leading + rest;
      return swizzled(start + row / 8 * stride + row % 8 * span() + chunk * 16 + rest);
    }
    const uint32_t chunk = row / per, rest = (row % per) * bytes, wide = span() / 16;
    if (swizzle == 0)
      return start + chunk * stride + k % 8 * 16 + k / 8 * leading + rest;
    return swizzled(start + chunk / wide * leading + chunk % wide * 16 + k % 8 * span() +
                    k / 8 * stride + rest);
  }
};
} // namespace

/// Reads `rows` rows from `first` on into `to`, element (r, k) at r * rowStep + k * kStep.
static bool readMatrix(Warp &warp, const Op *op, uint64_t bits, Modifier type, bool isTransposed,
                       unsigned first, unsigned rows, unsigned k, double sign, double *to,
                       size_t rowStep, size_t kStep) {
  const Descriptor descriptor(bits);
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

/// Tells the observer which bytes of a matrix are read, in pieces of up to 128.
static void observeMatrix(Warp &warp, const Op *op, AsyncId id, uint64_t bits, Modifier type,
                          bool isTransposed, unsigned first, unsigned rows, unsigned k) {
  AccessTeller teller(warp, op, AccessKind::read, Proxy::async, id);
  if (!teller)
    return;
  const Descriptor descriptor(bits);
  const uint32_t elementBits = ptx::bitsOf(type);
  const uint32_t per = 128 / elementBits, bytes = std::max(elementBits / 8, 1u);
  const unsigned rowStride = isTransposed ? per : 1, kStride = isTransposed ? 1 : per;
  // One bit for each 16 bytes, so that pieces come out sorted and joined.
  constexpr uint32_t chunks = (1u << 18) / 16;
  static thread_local std::vector<uint64_t> used(chunks / 64);
  uint32_t low = chunks, high = 0;
  for (unsigned r = 0; r < rows; r += rowStride)
    for (unsigned l = 0; l < k; l += kStride) {
      const uint32_t chunk =
          descriptor.place(first + r, elementBits == 1 ? l / 8 : l, bytes, isTransposed) / 16 %
          chunks;
      used[chunk / 64] |= uint64_t(1) << (chunk % 64);
      low = std::min(low, chunk);
      high = std::max(high, chunk);
    }
  auto isUsed = [&](uint32_t chunk) { return used[chunk / 64] >> (chunk % 64) & 1; };
  for (uint32_t chunk = low; chunk <= high;) {
    if (!isUsed(chunk)) {
      ++chunk;
      continue;
    }
    uint32_t end = chunk + 1;
    while (end <= high && end % 8 != 0 && isUsed(end))
      ++end;
    teller.range(flatAddress(warp, Space::shared, uint64_t(chunk) * 16), (end - chunk) * 16);
    chunk = end;
  }
  std::fill(used.begin() + low / 64, used.begin() + high / 64 + 1, 0);
}

After runWgmma(Warp &warp, const Op *op, std::byte *registers, uint32_t, uint32_t active) {
  const auto &form = *static_cast<const MatrixForm *>(op->extra);
  const auto lane = static_cast<unsigned>(std::countr_zero(active));
  MatrixOperands operands;
  operands.registers = registers;
  if (form.aIsDescriptor)
    operands.aDescriptor = longWord(registers, form.aDescriptor, lane);
  operands.bDescriptor = longWord(registers, form.bDescriptor, lane);
  operands.adds = predicateOf(registers, form.scaleD) >> lane & 1;
  for (size_t r = 0; r < form.a.size(); ++r)
    operands.a[r] = registers + form.a[r];
  AsyncQueue *queue = warp.block->group->async.get();
  if (!queue)
    return performWgmma(warp, op, operands, 0) ? After::next : After::stop;

  auto operation = std::make_unique<AsyncOperation>();
  operation->warp = &warp;
  operation->op = op;
  operation->mask = active;
  operation->group = GroupKind::matrix;
  operation->matrixA.resize(form.a.size() * 128);
  for (size_t r = 0; r < form.a.size(); ++r) {
    std::memcpy(operation->matrixA.data() + 128 * r, operands.a[r], 128);
    operands.a[r] = operation->matrixA.data() + 128 * r;
  }
  operation->matrix = operands;
  if (!queue->issue(std::move(operation)))
    return After::stop;
  if (warp.block->group->grid->observer)
    checkMatrixRegisters(warp, op, registers, active);
  return After::next;
}

bool performWgmma(Warp &warp, const Op *op, const MatrixOperands &operands, AsyncId id) {
  const auto &form = *static_cast<const MatrixForm *>(op->extra);
  const unsigned n = form.n, k = form.k;
  static thread_local std::vector<double> a, b, sums;
  a.assign(size_t(16) * k, 0);
  b.resize(size_t(k) * n);
  sums.assign(size_t(16) * n, 0);
  std::byte *registers = operands.registers;
  const double signA = form.negatesA ? -1 : 1, signB = form.negatesB ? -1 : 1;
  const unsigned firstRow = 16 * (warp.index % 4);

  if (form.aIsDescriptor) {
    observeMatrix(warp, op, id, operands.aDescriptor, form.aType, form.transposesA, firstRow, 16,
                  k);
    if (!readMatrix(warp, op, operands.aDescriptor, form.aType, form.transposesA, firstRow, 16, k,
                    signA, a.data(), k, 1))
      return false;
  } else {
    const unsigned per = 32 / ptx::bitsOf(form.aType);
    for (unsigned lane = 0; lane < 32; ++lane)
      for (unsigned r = 0; r < form.a.size(); ++r)
        for (unsigned e = 0; e < per; ++e)
          a[(lane / 4 + 8 * (r & 1)) * k + per * (lane % 4) + e + 4 * per * (r >> 1)] =
              signA * elementValue(form.aType,
                                   word(operands.a[r], 0, lane) >> (e * ptx::bitsOf(form.aType)));
  }
  observeMatrix(warp, op, id, operands.bDescriptor, form.bType, form.transposesB, 0, n, k);
  if (!readMatrix(warp, op, operands.bDescriptor, form.bType, form.transposesB, 0, n, k, signB,
                  b.data(), 1, n))
    return false;

  const unsigned per = form.dType == Modifier::f16 ? 2 : 1;
  auto place = [&](unsigned lane, unsigned v) {
    return (lane / 4 + 8 * (v >> 1 & 1)) * n + 8 * (v >> 2) + 2 * (lane % 4) + (v & 1);
  };
  const bool adds = operands.adds;
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
    return true;
  }
  for (unsigned r = 0; r < form.d.size(); ++r)
    for (unsigned lane = 0; lane < 32; ++lane) {
      uint32_t value = 0;
      for (unsigned e = 0; e < per; ++e)
        value |= roundElement(form.dType, sums[place(lane, r * per + e)], form.saturates)
                 << (16 * e);
      setWord(registers, form.d[r], lane, value);
    }
  return true;
}

} // namespace tilewright::vgpu::machine
