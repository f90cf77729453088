// wgmma: a warp computes its 16 of the 64 rows when it executes the instruction,
// so the four warps of a group need not wait for each other.
#include "tilewright/vgpu/machine/Matrix.h"

#include "tilewright/support/Concat.h"
#include "tilewright/vgpu/machine/AsyncQueue.h"
#include "tilewright/vgpu/machine/MatrixDescriptor.h"

#include <algorithm>
#include <bit>

namespace tilewright::vgpu::machine {

using ptx::Modifier;

/// Tells the observer which bytes are read, in pieces of up to 128.
static void observePlaces(Warp &warp, const Op *op, AsyncId id, std::span<const uint32_t> places) {
  AccessTeller teller(warp, op, AccessKind::read, Proxy::async, id);
  if (!teller)
    return;
  // One bit for each 16 bytes, so that pieces come out sorted and joined.
  constexpr uint32_t chunks = (1u << sharedOffsetBits) / 16;
  static thread_local std::vector<uint64_t> used;
  uint32_t low = chunks, high = 0;
  for (uint32_t place : places) {
    low = std::min(low, place / 16);
    high = std::max(high, place / 16);
  }
  used.resize(std::max<size_t>(used.size(), high / 64 + 1));
  for (uint32_t place : places)
    used[place / 1024] |= uint64_t(1) << (place / 16 % 64);
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

/// Where the chunks of `rows` rows from `first` on lie, in the order that TileProduct
/// reads them. False if that is outside of shared memory.
static bool placeMatrix(Warp &warp, const Op *op, uint64_t bits, Modifier type, bool isTransposed,
                        unsigned first, unsigned rows, unsigned k, AsyncId id,
                        std::vector<uint32_t> &places) {
  const MatrixDescriptor descriptor(bits);
  if (descriptor.baseOffset != 0) {
    fault(warp, op, Error::vgpuFault,
          "a matrix descriptor has a base offset, whose meaning is not modelled");
    return false;
  }
  const uint32_t elementBits = ptx::bitsOf(type);
  const uint32_t per = TileProduct::perChunk(type), bytes = std::max(elementBits / 8, 1u);
  places.clear();
  if (isTransposed) {
    for (unsigned l = 0; l < k; ++l)
      for (unsigned r = 0; r < rows; r += per)
        places.push_back(descriptor.place(first + r, l, bytes, true));
  } else {
    // The pattern repeats from eight rows to the next, unless their distance would
    // change the bits that swizzle.
    const unsigned chunks = k / per;
    const bool repeats = descriptor.swizzle == 0 || descriptor.stride % 1024 == 0;
    const unsigned computed = repeats ? std::min(rows, 8u) : rows;
    for (unsigned r = 0; r < computed; ++r)
      for (unsigned l = 0; l < k; l += per)
        // b1: eight elements to a byte.
        places.push_back(descriptor.place(first + r, elementBits == 1 ? l / 8 : l, bytes, false));
    const size_t pattern = places.size();
    places.resize(size_t(rows) * chunks);
    const uint32_t *from = places.data();
    uint32_t distance = descriptor.stride;
    for (size_t at = pattern; at < places.size(); at += pattern, distance += descriptor.stride) {
      uint32_t *to = places.data() + at;
      for (size_t i = 0; i < pattern; ++i)
        to[i] = from[i] + distance;
    }
  }
  uint32_t most = 0;
  for (uint32_t place : places)
    most = std::max(most, place);
  if (uint64_t(most) + 16 > warp.sharedBytes) {
    fault(warp, op, Error::vgpuAccess,
          concat("a matrix descriptor leads to byte ", most, " of ", warp.sharedBytes,
                 " bytes of shared memory"));
    return false;
  }
  observePlaces(warp, op, id, places);
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

bool performWgmma(Warp &warp, const Op *op, std::byte *registers, const WgmmaIssue &issue,
                  AsyncId id) {
  const auto &form = *static_cast<const MatrixForm *>(op->extra);
  static thread_local std::vector<uint32_t> places;
  TileProduct &product = threadProduct();
  product.begin(form.aType, form.bType, form.n, form.k);
  // The product of two negated factors is not negated.
  const bool isNegated = form.negatesA != form.negatesB;
  if (form.aIsDescriptor) {
    if (!placeMatrix(warp, op, issue.aDescriptor, form.aType, form.transposesA,
                     16 * (warp.index % 4), 16, form.k, id, places))
      return false;
    product.readA(warp.shared, places, form.transposesA, isNegated);
  } else {
    const uint32_t copied[] = {0, 128, 256, 384};
    placeFragmentA(issue.a ? std::span(copied, form.a.size()) : std::span(form.a), true, places);
    product.readA(issue.a ? issue.a : registers, places, false, isNegated);
  }
  if (!placeMatrix(warp, op, issue.bDescriptor, form.bType, form.transposesB, 0, form.n, form.k, id,
                   places))
    return false;
  product.readB(warp.shared, places, form.transposesB);
  accumulateProduct(product, form, warp.block->group->grid->exactTensor, issue.adds, registers,
                    form.d, form.d);
  return true;
}

After issueMatrix(Warp &warp, const Op *op, std::byte *registers, uint32_t active,
                  const MatrixForm &form, std::span<const uint32_t> copied, PerformMatrix perform) {
  const WgmmaIssue issue = issueWgmma(form, registers, active);
  ++warp.matricesIssued;
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
