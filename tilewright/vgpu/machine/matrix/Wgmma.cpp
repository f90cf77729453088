// wgmma: each warp computes its own 16 of the 64 rows, so the four warps of a warpgroup need not
// synchronise at the instruction.
#include "tilewright/vgpu/machine/matrix/Matrix.h"

#include "tilewright/support/Concat.h"
#include "tilewright/vgpu/machine/async/AsyncQueue.h"
#include "tilewright/vgpu/machine/matrix/MatrixDescriptor.h"

#include <algorithm>
#include <array>
#include <bit>
#include <memory>
#include <utility>

namespace tilewright::vgpu::machine {

using ptx::Modifier;

void observeChunks(Warp &warp, const Op *op, uint32_t rank, AsyncId id,
                   std::span<const uint32_t> offsets) {
  AccessTeller teller(warp, op, AccessKind::read, Proxy::async, id);
  if (!teller)
    return;
  // A bitmap with one bit for each 16 bytes, so that the ranges are sorted and merged.
  static thread_local std::vector<uint64_t> used;
  uint32_t low = ~0u, high = 0;
  for (uint32_t offset : offsets) {
    low = std::min(low, offset);
    high = std::max(high, offset);
  }
  if (offsets.empty())
    return;
  used.resize(std::max<size_t>(used.size(), high / 1024 + 1));
  for (uint32_t offset : offsets)
    used[offset / 1024] |= uint64_t(1) << (offset / 16 % 64);
  for (uint32_t index = low / 1024; index <= high / 1024; ++index) {
    // A bit stands for 16 bytes; report at most 128 bytes, 8 bits, at a time.
    for (uint64_t rest = std::exchange(used[index], 0); rest != 0;) {
      const auto chunk = static_cast<uint32_t>(std::countr_zero(rest));
      const auto length =
          std::min(static_cast<uint32_t>(std::countr_one(rest >> chunk)), 8 - chunk % 8);
      rest &= ~(((uint64_t(1) << length) - 1) << chunk);
      teller.range(sharedWindow | sharedAddress(rank, index * 1024 + chunk * 16), length * 16);
    }
  }
}

/// Computes the offsets of the chunks of `rows` rows, starting at row `first`, in the order in
/// which TileProduct reads them. Returns false if a chunk is outside of shared memory.
static bool locateMatrix(Warp &warp, const Op *op, uint64_t bits, Modifier type, bool isTransposed,
                         unsigned first, unsigned rows, unsigned k, AsyncId id,
                         std::vector<uint32_t> &offsets) {
  const MatrixDescriptor descriptor(bits);
  if (descriptor.baseOffset != 0) {
    fault(warp, op, Error::vgpuFault,
          "a matrix descriptor has a base offset, whose meaning is not modelled");
    return false;
  }
  const uint32_t elementBits = ptx::bitsOf(type);
  const uint32_t per = TileProduct::perChunk(type), bytes = std::max(elementBits / 8, 1u);
  offsets.clear();
  if (isTransposed) {
    // Along a row of the matrix only these distances differ.
    const unsigned chunks = rows / per;
    uint32_t distances[64]; // 256 columns have 64 chunks at most
    for (unsigned c = 0; c < chunks; ++c)
      distances[c] = descriptor.unswizzled(first + c * per, 0, bytes, true) - descriptor.start;
    offsets.resize(size_t(k) * chunks);
    for (unsigned l = 0; l < k; ++l) {
      const uint32_t row = descriptor.unswizzled(0, l, bytes, true);
      for (unsigned c = 0; c < chunks; ++c)
        offsets[l * chunks + c] = descriptor.swizzled(row + distances[c]);
    }
  } else {
    // The pattern repeats every eight rows, unless their stride changes the address bits that the
    // swizzle uses.
    const unsigned chunks = k / per;
    const bool repeats = descriptor.swizzle == 0 || descriptor.stride % 1024 == 0;
    const unsigned computed = repeats ? std::min(rows, 8u) : rows;
    for (unsigned r = 0; r < computed; ++r)
      for (unsigned l = 0; l < k; l += per)
        // b1: eight elements per byte.
        offsets.push_back(
            descriptor.addressOf(first + r, elementBits == 1 ? l / 8 : l, bytes, false));
    const size_t pattern = offsets.size();
    offsets.resize(size_t(rows) * chunks);
    const uint32_t *from = offsets.data();
    uint32_t distance = descriptor.stride;
    for (size_t at = pattern; at < offsets.size(); at += pattern, distance += descriptor.stride) {
      uint32_t *to = offsets.data() + at;
      for (size_t i = 0; i < pattern; ++i)
        to[i] = from[i] + distance;
    }
  }
  uint32_t most = 0;
  for (uint32_t offset : offsets)
    most = std::max(most, offset);
  if (uint64_t(most) + 16 > warp.sharedBytes) {
    fault(warp, op, Error::vgpuAccess,
          concat("a matrix descriptor refers to byte ", most, ", but shared memory has ",
                 warp.sharedBytes, " bytes"));
    return false;
  }
  observeChunks(warp, op, warp.block->rank, id, offsets);
  return true;
}

WgmmaIssue issueWgmma(const MatrixForm &form, const std::byte *registers, uint32_t active) {
  const auto lane = static_cast<unsigned>(std::countr_zero(active));
  WgmmaIssue issue;
  if (form.aIsDescriptor)
    issue.aDescriptor = longWord(registers, form.aDescriptor, lane);
  issue.bDescriptor = longWord(registers, form.bDescriptor, lane);
  issue.adds = predicateOf(registers, form.scaleD) >> lane & 1;
  return issue;
}

namespace {
/// Matrices B that the first warp of a warpgroup has packed, for the other three, which run later.
/// All four warps' wgmma with the same number are one instruction, and B cannot change before each
/// of them has read it.
class PackedMatrices {
public:
  struct Key {
    uint64_t grid, block;
    uint32_t warpgroup;
    uint64_t number, descriptor;
    const Op *op;
    bool operator==(const Key &) const = default;
  };

  /// The matrix with this key; null if it is not cached.
  const float *find(const Key &key) const {
    for (const Entry &entry : entries)
      if (entry.key == key)
        return entry.packed.data();
    return nullptr;
  }
  /// Memory for the matrix of a key that is not cached.
  float *add(const Key &key, size_t elements) {
    Entry &entry = entries[next++ % entries.size()];
    entry.key = key;
    entry.packed.resize(elements);
    return entry.packed.data();
  }

private:
  struct Entry {
    Key key{};
    std::vector<float> packed;
  };
  // The maximum number that a warp issues before it waits for the other warps.
  std::array<Entry, 16> entries;
  size_t next = 0;
};
} // namespace

bool performWgmma(Warp &warp, const Op *op, std::byte *registers, const WgmmaIssue &issue,
                  AsyncId id) {
  const auto &form = *static_cast<const MatrixForm *>(op->extra);
  static thread_local std::vector<uint32_t> offsets;
  TileProduct &product = threadProduct();
  const Grid &grid = *warp.block->group->grid;
  const bool isFast = isFastProduct(form, grid.arithmetic);
  product.begin(form.aType, form.bType, form.n, form.k, isFast);
  // If both factors are negated, the product is not.
  const bool isNegated = form.negatesA != form.negatesB;
  if (form.aIsDescriptor) {
    if (!locateMatrix(warp, op, issue.aDescriptor, form.aType, form.transposesA,
                      16 * (warp.index % 4), 16, form.k, id, offsets))
      return false;
    product.readA(warp.shared, offsets, form.transposesA, isNegated);
  } else {
    const uint32_t copied[] = {0, 128, 256, 384};
    locateFragmentA(issue.a ? std::span(copied, form.a.size()) : std::span(form.a), true, offsets);
    product.readA(issue.a ? issue.a : registers, offsets, false, isNegated);
  }
  // On the heap: a library that is loaded late has little memory for thread-local variables.
  static thread_local std::unique_ptr<PackedMatrices> others;
  // An observer must see each warp read B.
  const bool isShared = isFast && !grid.observer;
  const PackedMatrices::Key key{grid.id,      warp.block->linear, warp.index / 4,
                                issue.number, issue.bDescriptor,  op};
  if (isShared && !others)
    others = std::make_unique<PackedMatrices>();
  const float *packed = isShared ? others->find(key) : nullptr;
  if (packed) {
    product.shareB(packed);
  } else {
    if (!locateMatrix(warp, op, issue.bDescriptor, form.bType, form.transposesB, 0, form.n, form.k,
                      id, offsets))
      return false;
    product.readB(warp.shared, offsets, form.transposesB,
                  isShared ? others->add(key, size_t(form.n) * form.k) : nullptr);
  }
  accumulateProduct(product, form, grid.arithmetic, issue.adds, registers, form.d, form.d);
  return true;
}

After issueMatrix(Warp &warp, const Op *op, std::byte *registers, uint32_t active,
                  const MatrixForm &form, std::span<const uint32_t> copied, PerformMatrix perform) {
  WgmmaIssue issue = issueWgmma(form, registers, active);
  issue.number = ++warp.matricesIssued;
  AsyncQueue *queue = warp.block->group->async.get();
  if (!queue)
    return perform(warp, op, registers, issue, 0) ? After::next : After::stop;

  auto operation = std::make_unique<AsyncOperation>();
  operation->warp = &warp;
  operation->op = op;
  operation->mask = active;
  operation->group = GroupKind::matrix;
  operation->performMatrix = perform;
  operation->registers = registers;
  operation->matrix = issue;
  operation->matrixA.resize(copied.size() * 128);
  for (size_t r = 0; r < copied.size(); ++r)
    std::memcpy(operation->matrixA.data() + 128 * r, registers + copied[r], 128);
  if (!copied.empty())
    operation->matrix.a = operation->matrixA.data();
  if (!queue->issue(std::move(operation)))
    return After::stop;
  if (warp.block->group->grid->observer)
    checkMatrixRegisters(warp, op, registers, active);
  return After::next;
}

After runWgmma(Warp &warp, const Op *op, std::byte *registers, uint32_t, uint32_t active) {
  const auto &form = *static_cast<const MatrixForm *>(op->extra);
  return issueMatrix(warp, op, registers, active, form, form.a, performWgmma);
}

} // namespace tilewright::vgpu::machine
