#include "tilewright/vgpu/machine/tcgen05/ProductOperands.h"

#include "tilewright/support/Concat.h"
#include "tilewright/vgpu/machine/matrix/BlockScales.h"
#include "tilewright/vgpu/machine/matrix/Matrix.h"
#include "tilewright/vgpu/machine/tcgen05/SharedMatrix.h"
#include "tilewright/vgpu/machine/tcgen05/TensorCopy.h"
#include "tilewright/vgpu/machine/tcgen05/TensorMemory.h"

namespace tilewright::vgpu::machine {

using ptx::Modifier;

/// The number of elements in 16 bytes. Elements of 4 and 6 bits are padded, except in the kinds
/// that have 4-bit elements only.
static unsigned perChunk(ProductKind kind, ProductType type) {
  switch (type) {
  case ProductType::f16:
  case ProductType::bf16:
    return 8;
  case ProductType::tf32:
    return 4;
  default:
    return kind == ProductKind::mxf4 || kind == ProductKind::mxf4nvf4 ? 32 : 16;
  }
}

/// The bytes of a chunk that hold elements; the rest is padding.
static unsigned usedBytes(ProductKind kind, ProductType type) {
  if (perChunk(kind, type) != 16)
    return 16;
  return type == ProductType::e2m1                                ? 8
         : type == ProductType::e2m3 || type == ProductType::e3m2 ? 12
                                                                  : 16;
}

/// The type of the elements if TileKernels::widen() reads them.
static Modifier widenedType(ProductType type) {
  switch (type) {
  case ProductType::f16:
    return Modifier::f16;
  case ProductType::bf16:
    return Modifier::bf16;
  case ProductType::tf32:
    return Modifier::tf32;
  case ProductType::e4m3:
    return Modifier::e4m3;
  case ProductType::e5m2:
    return Modifier::e5m2;
  case ProductType::u8:
    return Modifier::u8;
  case ProductType::s8:
    return Modifier::s8;
  default:
    return Modifier::none;
  }
}

/// Converts chunks of 16 bytes to floats. In tensor memory, an element of 4 or 6 bits takes a byte.
static void widenChunks(ProductKind kind, ProductType type, bool inBytes, const std::byte *base,
                        std::span<const uint32_t> offsets, float *to) {
  if (const Modifier plain = widenedType(type); plain != Modifier::none) {
    tileKernels().widen(tileElementOf(plain), elementTable(plain), base, offsets.data(),
                        static_cast<unsigned>(offsets.size()), to);
    return;
  }
  const unsigned per = perChunk(kind, type);
  const PaddedFormat format = type == ProductType::e2m1 ? PaddedFormat::bits4 : PaddedFormat::bits6;
  for (const uint32_t offset : offsets)
    for (unsigned i = 0; i < per; ++i) {
      const std::byte *chunk = base + offset;
      uint8_t element;
      if (per == 32) // two elements in a byte, without padding
        element = static_cast<uint8_t>(static_cast<uint8_t>(chunk[i / 2]) >> 4 * (i % 2) & 15);
      else if (inBytes)
        element = static_cast<uint8_t>(static_cast<uint8_t>(chunk[i]) >>
                                       (format == PaddedFormat::bits4 ? 2 : 0));
      else
        element = paddedElement(format, chunk, i);
      *to++ = valueOfElement(type, element);
    }
}

bool ProductReader::readShared(Block &block, uint64_t descriptor, ProductType type,
                               bool isTransposed, unsigned rows, std::vector<float> &values) const {
  static thread_local std::vector<uint32_t> offsets;
  static thread_local std::vector<float> turned;
  const unsigned per = perChunk(form.mode.kind, type), k = product.k;
  const unsigned used = usedBytes(form.mode.kind, type);
  const SharedMatrix matrix(descriptor);
  values.resize(size_t(rows) * k);
  if (!isTransposed) {
    if (!locateShared(warp, op, block, matrix, false, rows, k / per, used, id, offsets))
      return false;
    widenChunks(form.mode.kind, type, false, block.shared, offsets, values.data());
    return true;
  }
  const unsigned across = (rows + per - 1) / per * per;
  if (!locateShared(warp, op, block, matrix, true, k, across / per, used, id, offsets))
    return false;
  turned.resize(size_t(across) * k);
  widenChunks(form.mode.kind, type, false, block.shared, offsets, turned.data());
  for (unsigned row = 0; row < rows; ++row)
    for (unsigned l = 0; l < k; ++l)
      values[size_t(row) * k + l] = turned[size_t(l) * across + row];
  return true;
}

bool ProductReader::readTensor(Block &block, uint32_t address, const ProductLayout &layout,
                               std::vector<float> &values) const {
  static thread_local std::vector<uint32_t> offsets;
  const unsigned per = perChunk(form.mode.kind, product.a), chunks = product.k / per;
  const uint32_t lane = address >> 16, column = address & 0xffff;
  TensorMemory *memory = resolveTensor(
      warp, op, {&block, lane, layout.laneOf(layout.rows - 1) + 1, column, 4 * chunks},
      "tcgen05.mma reads A from");
  if (!memory)
    return false;
  AccessTeller teller(warp, op, AccessKind::read, Proxy::generic, id);
  offsets.clear();
  for (unsigned row = 0; row < layout.rows; ++row) {
    // .ashift: each row except the first is read from the lane before it.
    const uint32_t at = lane + layout.laneOf(form.shiftsA && row > 0 ? row - 1 : row);
    teller.range(flatTensorAddress(block, at, column), 16 * chunks);
    for (unsigned chunk = 0; chunk < chunks; ++chunk)
      offsets.push_back(TensorMemory::offsetOf(at, column + 4 * chunk));
  }
  values.resize(size_t(layout.rows) * product.k);
  widenChunks(form.mode.kind, product.a, true, memory->bytes(), offsets, values.data());
  return true;
}

bool ProductReader::readScales(Block &block, uint32_t address, unsigned rows, unsigned firstByte,
                               bool isHalved, std::vector<float> &scales) const {
  const unsigned count = product.k / form.block;
  const uint32_t column = address & 0xffff;
  const ScalePlace last = placeOfScale(rows - 1, count - 1, firstByte, rows, isHalved);
  TensorMemory *memory = resolveTensor(warp, op, {&block, 0, 128, column, last.column + 1},
                                       "tcgen05.mma reads scales from");
  if (!memory)
    return false;
  if (warp.block->group->grid->observer) {
    AccessTeller teller(warp, op, AccessKind::read, Proxy::generic, id);
    for (uint32_t lane = 0; lane < 128; ++lane)
      teller.range(flatTensorAddress(block, lane, column), 4 * (last.column + 1));
  }
  scales.resize(size_t(rows) * count);
  const uint32_t copies = isHalved ? 2 : 4;
  for (uint32_t i = 0; i < rows; ++i)
    for (uint32_t s = 0; s < count; ++s) {
      const ScalePlace place = placeOfScale(i, s, firstByte, rows, isHalved);
      uint8_t bits = 0;
      for (uint32_t copy = 0; copy < copies; ++copy) {
        const auto here = static_cast<uint8_t>(
            *memory->at(place.lane + 32 * copy, column + place.column) >> 8 * place.byte);
        if (copy == 0)
          bits = here;
        else if (here != bits) {
          fault(warp, op, Error::vgpuFault,
                concat("scale ", s, " of row ", i, " is ", unsigned(bits), " in lane ", place.lane,
                       " of tensor memory, but ", unsigned(here), " in its copy in lane ",
                       place.lane + 32 * copy));
          return false;
        }
      }
      scales[size_t(i) * count + s] = scaleValue(product.hasE8Scales, bits);
    }
  return true;
}

} // namespace tilewright::vgpu::machine
