#include "tilewright/vgpu/machine/tcgen05/SharedMatrix.h"

#include "tilewright/support/Concat.h"
#include "tilewright/vgpu/machine/async/AsyncQueue.h"
#include "tilewright/vgpu/machine/matrix/Matrix.h"

#include <algorithm>

namespace tilewright::vgpu::machine {

std::string SharedMatrix::problem(bool isTransposed) const {
  if (version != 1)
    return concat("bits 46 to 48 of a matrix descriptor must be 1, got ", version);
  if (swizzle == 3 || swizzle == 5 || swizzle == 7)
    return concat("the swizzle of a matrix descriptor must be 0, 1, 2, 4 or 6, got ", swizzle);
  // Swizzles use address bits, so a base offset can only repeat them.
  if (baseOffset != 0 && baseOffset != (start >> 7 & 7))
    return concat("a matrix descriptor has the base offset ", baseOffset,
                  ", but its address implies ", start >> 7 & 7);
  if (swizzle == 1 && !isTransposed)
    return "a swizzle of 128 bytes in atoms of 32 bytes requires a transposed matrix";
  if (isAbsolute && (swizzle != 2 || isTransposed))
    return "an absolute leading dimension requires a matrix along k with a swizzle of 128 bytes";
  return {};
}

bool locateShared(Warp &warp, const Op *op, Block &block, const SharedMatrix &matrix,
                  bool isTransposed, unsigned rows, unsigned chunks, unsigned usedBytes, AsyncId id,
                  std::vector<uint32_t> &offsets) {
  if (const std::string problem = matrix.problem(isTransposed); !problem.empty()) {
    fault(warp, op, Error::vgpuFault, problem);
    return false;
  }
  offsets.resize(size_t(rows) * chunks);
  uint32_t most = 0;
  uint32_t *to = offsets.data();
  for (unsigned row = 0; row < rows; ++row)
    for (unsigned chunk = 0; chunk < chunks; ++chunk) {
      const uint32_t offset =
          isTransposed ? matrix.alongRows(row, chunk) : matrix.alongK(row, chunk);
      most = std::max(most, offset);
      *to++ = offset;
    }
  if (uint64_t(most) + 16 > warp.sharedBytes) {
    fault(warp, op, Error::vgpuAccess,
          concat("a matrix descriptor refers to byte ", most, ", but shared memory has ",
                 warp.sharedBytes, " bytes"));
    return false;
  }
  if (usedBytes == 16) {
    observeChunks(warp, op, block.rank, id, offsets);
    return true;
  }
  AccessTeller teller(warp, op, AccessKind::read, Proxy::async, id);
  for (const uint32_t offset : offsets)
    teller.range(sharedWindow | sharedAddress(block.rank, offset), usedBytes);
  return true;
}

} // namespace tilewright::vgpu::machine
