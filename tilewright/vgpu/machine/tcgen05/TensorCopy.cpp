#include "tilewright/vgpu/machine/tcgen05/TensorCopy.h"

#include "tilewright/support/Concat.h"
#include "tilewright/vgpu/machine/async/Async.h"
#include "tilewright/vgpu/machine/tcgen05/SharedMatrix.h"
#include "tilewright/vgpu/machine/tcgen05/TensorMemory.h"
#include "tilewright/vgpu/machine/tcgen05/TensorPipe.h"

namespace tilewright::vgpu::machine {

/// The lane of copy `copy` of row `row`.
static uint32_t laneOf(const TensorCopyForm &form, uint32_t row, uint32_t copy) {
  if (form.isInterleaved)
    return row % 32 + 64 * (row / 32) + 32 * copy;
  return row * form.laneStep + form.rows * copy;
}

/// The bytes of a chunk that hold elements.
static unsigned usedBytes(PaddedFormat format) {
  return format == PaddedFormat::bits4 ? 8 : format == PaddedFormat::bits6 ? 12 : 16;
}

/// Copies within one block.
static bool copyIn(Warp &warp, const Op *op, Block &block, const CopyRequest &request, AsyncId id) {
  const auto &form = *static_cast<const TensorCopyForm *>(op->extra);
  const auto address = static_cast<uint32_t>(request.to);
  const uint32_t lane = address >> 16, column = address & 0xffff, columns = 4 * form.chunks;
  const uint32_t last = laneOf(form, form.rows - 1, form.copies - 1);
  TensorMemory *memory =
      resolveTensor(warp, op, {&block, lane, last + 1, column, columns}, "tcgen05.cp writes");
  static thread_local std::vector<uint32_t> offsets;
  if (!memory || !locateShared(warp, op, block, SharedMatrix(request.from), false, form.rows,
                               form.chunks, usedBytes(form.format), id, offsets))
    return false;
  AccessTeller teller(warp, op, AccessKind::write, Proxy::generic, id);
  for (uint32_t copy = 0; copy < form.copies; ++copy)
    for (uint32_t row = 0; row < form.rows; ++row) {
      const uint32_t at = lane + laneOf(form, row, copy);
      teller.range(flatTensorAddress(block, at, column), 4 * columns);
      for (uint32_t chunk = 0; chunk < form.chunks; ++chunk) {
        const std::byte *from = block.shared + offsets[row * form.chunks + chunk];
        uint32_t *to = memory->at(at, column + 4 * chunk);
        if (form.format == PaddedFormat::none) {
          std::memcpy(to, from, 16);
          continue;
        }
        uint8_t bytes[16];
        for (unsigned i = 0; i < 16; ++i)
          bytes[i] = inByte(form.format, paddedElement(form.format, from, i));
        std::memcpy(to, bytes, 16);
      }
    }
  return true;
}

/// Performs an operation in the block, and in its peer if the form is for a pair.
template <typename Perform>
static bool inGroup(Warp &warp, const Op *op, bool isPair, Perform perform) {
  if (!perform(*warp.block))
    return false;
  if (!isPair)
    return true;
  if (Block *peer = peerOf(*warp.block))
    return perform(*peer);
  fault(warp, op, Error::vgpuFault, "cta_group::2 needs a cluster in which the block has a peer");
  return false;
}

static bool performCopies(Warp &warp, const Op *op, std::span<const CopyRequest> requests,
                          AsyncId id, Part, std::span<std::vector<std::byte>>) {
  const auto &form = *static_cast<const TensorCopyForm *>(op->extra);
  return inGroup(warp, op, form.isPair,
                 [&](Block &block) { return copyIn(warp, op, block, requests[0], id); });
}

After runTensorCopy(Warp &warp, const Op *op, std::byte *registers, uint32_t, uint32_t active) {
  const auto &form = *static_cast<const TensorCopyForm *>(op->extra);
  return issueTensor(warp, op, active, false, performCopies,
                     [&](unsigned lane, CopyRequest &request) {
                       request.to = laneAddress(form.to, registers, lane);
                       request.from = longWord(registers, form.descriptor, lane);
                     });
}

// tcgen05.shift: moves the 32 bytes of each of 32 lanes, except the last, to the next lane. We read
// "down" as "to the next lane"; PTX shows it only in a figure.

static bool shiftIn(Warp &warp, const Op *op, Block &block, uint32_t address, AsyncId id) {
  const uint32_t lane = address >> 16, column = address & 0xffff;
  if (lane % 32 != 0) {
    fault(warp, op, Error::vgpuFault,
          concat("the lane of tcgen05.shift must be a multiple of 32, got ", lane));
    return false;
  }
  TensorMemory *memory =
      resolveTensor(warp, op, {&block, lane, 32, column, 8}, "tcgen05.shift accesses");
  if (!memory)
    return false;
  for (const AccessKind kind : {AccessKind::read, AccessKind::write}) {
    AccessTeller teller(warp, op, kind, Proxy::generic, id);
    for (uint32_t row = 0; row < 32; ++row)
      if (row != (kind == AccessKind::read ? 31 : 0))
        teller.range(flatTensorAddress(block, lane + row, column), 32);
  }
  for (uint32_t row = 31; row > 0; --row)
    std::memcpy(memory->at(lane + row, column), memory->at(lane + row - 1, column), 32);
  return true;
}

static bool performShift(Warp &warp, const Op *op, std::span<const CopyRequest> requests,
                         AsyncId id, Part, std::span<std::vector<std::byte>>) {
  const auto &form = *static_cast<const TensorCopyForm *>(op->extra);
  return inGroup(warp, op, form.isPair, [&](Block &block) {
    return shiftIn(warp, op, block, static_cast<uint32_t>(requests[0].to), id);
  });
}

After runTensorShift(Warp &warp, const Op *op, std::byte *registers, uint32_t, uint32_t active) {
  const auto &form = *static_cast<const TensorCopyForm *>(op->extra);
  return issueTensor(warp, op, active, true, performShift,
                     [&](unsigned lane, CopyRequest &request) {
                       request.to = laneAddress(form.to, registers, lane);
                     });
}

} // namespace tilewright::vgpu::machine
