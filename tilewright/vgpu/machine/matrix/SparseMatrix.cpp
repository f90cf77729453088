// Products with a structured-sparse A: mma.sp and wgmma.mma_async.sp. A metadata register gives the
// positions of the kept elements, 4 bits for each chunk of a row:
//   2:4    two of four elements are kept, at two indices of 2 bits
//   1:2    (tf32) one of two is kept; 0b0100 is the first, 0b1110 the second
//   4:8    (4-bit integers) like 2:4, with pairs of elements
// With g = lane / 4 and q = lane % 4, lane 4 * g + q has chunks of rows g and g + 8:
//   up to 4 chunks a row    q = selector: row g in the low half, row g + 8 in the high
//   8 of 16 or 32 bits      q / 2 = selector: likewise, q % 2 is the half of the row
//   8 of 8 or 4 bits        q / 2 = selector: q % 2 is the row
//   16                      q % 2 is the row, q / 2 the half of it
#include "tilewright/vgpu/machine/matrix/WarpMatrix.h"

#include "tilewright/support/Concat.h"
#include "tilewright/vgpu/machine/async/AsyncQueue.h"
#include "tilewright/vgpu/machine/matrix/MatrixDescriptor.h"

#include <bit>

namespace tilewright::vgpu::machine {

using ptx::Modifier;

namespace {

class Metadata {
public:
  Metadata(const SparseForm &form, const std::byte *registers)
      : slot(form.metadata), selector(form.selector), type(form.base.aType),
        chunks(form.base.k / elements()), registers(registers) {}

  /// Elements of A in a chunk.
  unsigned elements() const { return type == Modifier::tf32 ? 2 : ptx::bitsOf(type) == 4 ? 8 : 4; }
  /// The column of the kept element `kept` of a row; -1 if the metadata is not valid.
  int column(unsigned row, unsigned kept) const {
    const unsigned perChunk = elements() / 2, chunk = kept / perChunk, index = kept % perChunk;
    const unsigned code = bits(row, chunk);
    if (type == Modifier::tf32)
      return code == 4 ? int(2 * chunk) : code == 14 ? int(2 * chunk + 1) : -1;
    const unsigned first = code & 3, second = code >> 2;
    if (first == second)
      return -1;
    if (ptx::bitsOf(type) == 4)
      return static_cast<int>(8 * chunk + 2 * (index < 2 ? first : second) + index % 2);
    return static_cast<int>(4 * chunk + (index == 0 ? first : second));
  }
  unsigned bits(unsigned row, unsigned chunk) const {
    const unsigned high = row / 8; // 0: row g, 1: row g + 8
    unsigned q, shift;
    if (chunks <= 4) {
      q = selector & 3;
      shift = 16 * high + 4 * chunk;
    } else if (chunks == 8 && ptx::bitsOf(type) >= 16) {
      q = 2 * (selector & 1) + chunk / 4;
      shift = 16 * high + 4 * (chunk % 4);
    } else if (chunks == 8) {
      q = 2 * (selector & 1) + high;
      shift = 4 * chunk;
    } else {
      q = high + 2 * (chunk / 8);
      shift = 4 * (chunk % 8);
    }
    return word(registers, slot, 4 * (row % 8) + q) >> shift & 15;
  }

private:
  uint32_t slot;
  unsigned selector;
  Modifier type;
  unsigned chunks; // per row
  const std::byte *registers;
};

} // namespace

/// Expands 16 rows of k / 2 kept elements to rows of k elements. Returns false after a fault.
static bool spread(Warp &warp, const Op *op, const SparseForm &form, const std::byte *registers,
                   const double *kept, double *a) {
  const unsigned k = form.base.k;
  const Metadata metadata(form, registers);
  for (unsigned row = 0; row < 16; ++row)
    for (unsigned i = 0; i < k / 2; ++i) {
      const int column = metadata.column(row, i);
      if (column < 0) {
        const unsigned chunk = i / (metadata.elements() / 2);
        fault(warp, op, Error::vgpuFault,
              concat("the metadata of row ", row, ", chunk ", chunk, " of a sparse matrix is ",
                     metadata.bits(row, chunk),
                     form.base.aType == Modifier::tf32 ? ", but must be 4 or 14"
                                                       : ", which has two equal indices"));
        return false;
      }
      a[row * k + static_cast<unsigned>(column)] = kept[row * (k / 2) + i];
    }
  return true;
}

/// Reads the kept elements from registers, in the layout of a dense A with k / 2 columns.
static void readKept(const MatrixForm &form, const std::byte *registers, double sign,
                     double *kept) {
  const unsigned bits = ptx::bitsOf(form.aType), per = 32 / bits, columns = form.k / 2;
  for (unsigned lane = 0; lane < 32; ++lane)
    for (unsigned r = 0; r < form.a.size(); ++r)
      for (unsigned e = 0; e < per; ++e)
        kept[(lane / 4 + 8 * (r & 1)) * columns + per * (lane % 4) + e + 4 * per * (r >> 1)] =
            sign * elementValue(form.aType, word(registers, form.a[r], lane) >> (e * bits));
}

/// The row-major index of a lane's `v`-th element of C or D, which have 16 rows of `n` columns.
static unsigned accumulatorIndex(unsigned n, unsigned lane, unsigned v) {
  return (lane / 4 + 8 * (v >> 1 & 1)) * n + 8 * (v >> 2) + 2 * (lane % 4) + (v & 1);
}
static void readAccumulators(Modifier type, std::span<const uint32_t> slots, unsigned n,
                             const std::byte *registers, double *sums) {
  const unsigned per = type == Modifier::f16 ? 2 : 1;
  for (unsigned lane = 0; lane < 32; ++lane)
    for (unsigned v = 0; v < slots.size() * per; ++v)
      sums[accumulatorIndex(n, lane, v)] =
          elementValue(type, word(registers, slots[v / per], lane) >> (16 * (v % per)));
}
/// Rounds the sums to D.
static void writeAccumulators(const MatrixForm &form, std::byte *registers, const double *sums) {
  const unsigned per = form.dType == Modifier::f16 ? 2 : 1;
  for (unsigned lane = 0; lane < 32; ++lane)
    for (unsigned r = 0; r < form.d.size(); ++r) {
      uint32_t value = 0;
      for (unsigned e = 0; e < per; ++e) {
        const double sum = sums[accumulatorIndex(form.n, lane, r * per + e)];
        value |= roundElement(form.dType, sum, form.saturates) << (16 * e);
      }
      setWord(registers, form.d[r], lane, value);
    }
}

After runSparseMma(Warp &warp, const Op *op, std::byte *registers, uint32_t, uint32_t) {
  const auto &form = *static_cast<const SparseForm *>(op->extra);
  const MatrixForm &base = form.base;
  const unsigned n = base.n, k = base.k;
  std::vector<double> kept(size_t(16) * k / 2), a(size_t(16) * k), b(size_t(k) * n),
      sums(size_t(16) * n);
  readKept(base, registers, 1, kept.data());
  if (!spread(warp, op, form, registers, kept.data(), a.data()))
    return After::stop;
  const unsigned bits = ptx::bitsOf(base.bType), per = 32 / bits;
  for (unsigned lane = 0; lane < 32; ++lane)
    for (unsigned r = 0; r < base.b.size(); ++r)
      for (unsigned e = 0; e < per; ++e)
        b[(per * (lane % 4) + e + 4 * per * r) * n + lane / 4] =
            elementValue(base.bType, word(registers, base.b[r], lane) >> (e * bits));
  readAccumulators(base.cType, base.c, n, registers, sums.data());
  multiplyMatrices(warp, base, 16, a.data(), b.data(), sums.data());
  writeAccumulators(base, registers, sums.data());
  return After::next;
}

/// Reads `rows` rows of `columns` elements, starting at row `first`, and stores element (r, c) at
/// index r * rowStep + c * columnStep of `to`.
static bool readShared(Warp &warp, const Op *op, uint64_t bits, Modifier type, bool isTransposed,
                       unsigned first, unsigned rows, unsigned columns, double sign, double *to,
                       size_t rowStep, size_t columnStep, AsyncId id) {
  AccessTeller teller(warp, op, AccessKind::read, Proxy::async, id);
  const MatrixDescriptor descriptor(bits);
  if (descriptor.baseOffset != 0) {
    fault(warp, op, Error::vgpuFault, "matrix descriptors with a base offset are not supported");
    return false;
  }
  const uint32_t bytes = ptx::bitsOf(type) / 8;
  // Each 16 bytes of elements are consecutive along the contiguous dimension.
  const unsigned per = 16 / bytes;
  for (unsigned r = 0; r < rows; ++r)
    for (unsigned c = 0; c < columns; ++c) {
      const uint32_t offset = descriptor.addressOf(first + r, c, bytes, isTransposed);
      if (uint64_t(offset) + bytes > warp.sharedBytes) {
        fault(warp, op, Error::vgpuAccess,
              concat("a matrix descriptor refers to byte ", offset, ", but shared memory has ",
                     warp.sharedBytes, " bytes"));
        return false;
      }
      if ((isTransposed ? first + r : c) % per == 0)
        teller.range(flatAddress(warp, Space::shared, offset), 16);
      uint32_t element = 0;
      std::memcpy(&element, warp.shared + offset, bytes);
      to[r * rowStep + c * columnStep] = sign * elementValue(type, element);
    }
  return true;
}

static bool performSparseWgmma(Warp &warp, const Op *op, std::byte *registers,
                               const WgmmaIssue &issue, AsyncId id) {
  SparseForm form = *static_cast<const SparseForm *>(op->extra);
  MatrixForm &base = form.base;
  const std::byte *kinds = registers; // where the registers of A and the metadata are
  if (issue.a) {
    kinds = issue.a;
    for (uint32_t r = 0; r < base.a.size(); ++r)
      base.a[r] = 128 * r;
    form.metadata = 128 * static_cast<uint32_t>(base.a.size());
  }
  const unsigned n = base.n, k = base.k;
  std::vector<double> kept(size_t(16) * k / 2), a(size_t(16) * k), b(size_t(k) * n),
      sums(size_t(16) * n);
  const double signA = base.negatesA ? -1 : 1, signB = base.negatesB ? -1 : 1;
  if (!base.aIsDescriptor)
    readKept(base, kinds, signA, kept.data());
  else if (!readShared(warp, op, issue.aDescriptor, base.aType, base.transposesA,
                       16 * (warp.index % 4), 16, k / 2, signA, kept.data(), k / 2, 1, id))
    return false;
  if (!spread(warp, op, form, kinds, kept.data(), a.data()) ||
      !readShared(warp, op, issue.bDescriptor, base.bType, base.transposesB, 0, n, k, signB,
                  b.data(), 1, n, id))
    return false;
  if (issue.adds)
    readAccumulators(base.dType, base.d, n, registers, sums.data());
  multiplyMatrices(warp, base, 16, a.data(), b.data(), sums.data());
  writeAccumulators(base, registers, sums.data());
  return true;
}

After runSparseWgmma(Warp &warp, const Op *op, std::byte *registers, uint32_t, uint32_t active) {
  const auto &form = *static_cast<const SparseForm *>(op->extra);
  std::vector<uint32_t> copied = form.base.a;
  copied.push_back(form.metadata);
  return issueMatrix(warp, op, registers, active, form.base, copied, performSparseWgmma);
}

} // namespace tilewright::vgpu::machine
