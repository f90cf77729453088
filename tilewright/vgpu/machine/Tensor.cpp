// cp.async.bulk.tensor: boxes of tensors between global and shared memory.
#include "tilewright/support/Concat.h"
#include "tilewright/vgpu/machine/Async.h"

#include <bit>

namespace tilewright::vgpu::machine {

/// On the absolute address, as matrix descriptors have it too.
static uint32_t swizzled(TensorSwizzle swizzle, uint32_t address) {
  const uint32_t bits = swizzle == TensorSwizzle::bytes128  ? 0x70
                        : swizzle == TensorSwizzle::bytes64 ? 0x30
                        : swizzle == TensorSwizzle::bytes32 ? 0x10
                                                            : 0;
  return address ^ ((address >> 3) & bits);
}

/// What elements outside the tensor become.
static void fillRow(const TensorMap &map, std::byte *to, uint32_t bytes) {
  std::memset(to, 0, bytes);
  if (!map.fillsNan)
    return;
  const unsigned size = bytesOf(map.element);
  uint64_t nan = 0;
  switch (map.element) {
  case TensorElement::f16:
    nan = 0x7fff;
    break;
  case TensorElement::bf16:
    nan = 0x7fff;
    break;
  case TensorElement::f64:
    nan = 0x7fffffffffffffffu;
    break;
  case TensorElement::f32:
  case TensorElement::f32Ftz:
  case TensorElement::tf32:
  case TensorElement::tf32Ftz:
    nan = 0x7fffffffu;
    break;
  default:
    return;
  }
  for (uint32_t i = 0; i + size <= bytes; i += size)
    std::memcpy(to + i, &nan, size);
}

namespace {
/// A box of a tensor, row by row: rows run along dimension 0.
struct Box {
  const TensorMap &map;
  int64_t start[5] = {};

  uint32_t count(unsigned i) const { return (map.box[i] + map.step[i] - 1) / map.step[i]; }
  uint32_t rowBytes() const { return count(0) * bytesOf(map.element); }
  uint32_t rows() const {
    uint32_t total = 1;
    for (unsigned i = 1; i < map.rank; ++i)
      total *= count(i);
    return total;
  }
  /// The address of coordinate 0 in row `row`; 0 if the row is outside.
  uint64_t rowAddress(uint32_t row) const {
    uint64_t address = map.address;
    for (unsigned i = 1; i < map.rank; ++i) {
      const int64_t at = start[i] + int64_t(row % count(i)) * map.step[i];
      row /= count(i);
      if (at < 0 || static_cast<uint64_t>(at) >= map.size[i])
        return 0;
      address += static_cast<uint64_t>(at) * map.stride[i];
    }
    return address;
  }
};
} // namespace

/// Copies row by row. `shared` is the base of a block's memory, `offset` where the box lies in it.
static void copyBox(const CopyForm &form, const Box &box, std::byte *shared, uint32_t offset) {
  const TensorMap &map = box.map;
  const unsigned size = bytesOf(map.element);
  const uint32_t bytes = box.rowBytes(), columns = box.count(0);
  std::vector<std::byte> row(bytes);
  for (uint32_t r = 0; r < box.rows(); ++r) {
    const uint64_t address = box.rowAddress(r);
    const uint32_t place = offset + r * bytes;
    // Swizzles move 16 bytes at a time.
    auto moveChunks = [&](bool toShared) {
      for (uint32_t i = 0; i < bytes; i += 16) {
        std::byte *chunk = shared + swizzled(map.swizzle, place + i);
        const uint32_t part = std::min(16u, bytes - i);
        if (toShared)
          std::memcpy(chunk, row.data() + i, part);
        else
          std::memcpy(row.data() + i, chunk, part);
      }
    };
    // The columns of the row that are inside the tensor.
    const int64_t step = map.step[0], first = box.start[0];
    const int64_t begin = first >= 0 ? 0 : (-first + step - 1) / step;
    const int64_t end =
        std::min<int64_t>(columns, (int64_t(map.size[0]) - first + step - 1) / step);
    if (form.isStore) {
      if (!address || begin >= end)
        continue;
      moveChunks(false);
      for (int64_t i = begin; i < end;) {
        const int64_t run = step == 1 ? end - i : 1;
        auto *to =
            reinterpret_cast<std::byte *>(address + static_cast<uint64_t>(first + i * step) * size);
        if (form.reduction) {
          for (int64_t e = 0; e < run; ++e) {
            uint64_t operand = 0;
            std::memcpy(&operand, row.data() + (i + e) * size, size);
            atomicApply(*form.reduction, to + e * size, operand, 0);
          }
        } else {
          std::memcpy(to, row.data() + i * size, static_cast<size_t>(run) * size);
        }
        i += run;
      }
      continue;
    }
    if (!address || begin > 0 || end < int64_t(columns))
      fillRow(map, row.data(), bytes);
    for (int64_t i = begin; address && i < end;) {
      const int64_t run = step == 1 ? end - i : 1;
      const auto *from = reinterpret_cast<const std::byte *>(
          address + static_cast<uint64_t>(first + i * step) * size);
      std::memcpy(row.data() + i * size, from, static_cast<size_t>(run) * size);
      i += run;
    }
    moveChunks(true);
  }
}

static AtomicType reductionType(TensorElement element) {
  switch (element) {
  case TensorElement::s32:
    return AtomicType::s32;
  case TensorElement::u64:
    return AtomicType::u64;
  case TensorElement::s64:
    return AtomicType::s64;
  case TensorElement::f16:
    return AtomicType::f16;
  case TensorElement::bf16:
    return AtomicType::bf16;
  case TensorElement::f32:
  case TensorElement::f32Ftz:
    return AtomicType::f32;
  case TensorElement::f64:
    return AtomicType::f64;
  default:
    return AtomicType::u32;
  }
}

/// The rows of global memory that a box touches.
static void observeRows(Warp &warp, const Op *op, unsigned lane, const CopyForm &form,
                        const Box &box) {
  const TensorMap &map = box.map;
  const int64_t first = std::max<int64_t>(box.start[0], 0);
  const int64_t end = std::min<int64_t>(box.start[0] + int64_t(map.box[0]), int64_t(map.size[0]));
  const AccessKind kind = !form.isStore    ? AccessKind::read
                          : form.reduction ? AccessKind::atomic
                                           : AccessKind::write;
  for (uint32_t row = 0; row < box.rows(); ++row)
    if (const uint64_t address = box.rowAddress(row); address && first < end)
      observeRange(warp, op, lane, Space::global,
                   address + static_cast<uint64_t>(first) * bytesOf(map.element),
                   static_cast<uint32_t>(end - first) * bytesOf(map.element), kind, Proxy::async);
}

After runTensor(Warp &warp, const Op *op, std::byte *registers, uint32_t, uint32_t active) {
  const auto &form = *static_cast<const CopyForm *>(op->extra);
  auto refuse = [&](const std::string &why) {
    fault(warp, op, Error::vgpuAccess, why);
    return After::stop;
  };
  for (uint32_t rest = active; rest != 0; rest &= rest - 1) {
    const auto lane = static_cast<unsigned>(std::countr_zero(rest));
    const AddressForm &place = form.isStore ? form.to : form.from; // of the map
    const std::byte *encoded =
        resolve(warp, op, Space::generic, laneAddress(place, registers, lane), lane, 64);
    if (!encoded)
      return After::stop;
    const TensorMap map = TensorMap::decode(encoded);
    if (Status status = map.check(); !status.isOk())
      return refuse("the tensor map is not valid: " + status.message());
    if (map.rank != form.rank)
      return refuse(
          concat("the tensor map has ", map.rank, " dimensions, the instruction ", form.rank));
    if (map.interleave != 0)
      return refuse("interleaved tensors are not modelled");
    Box box{map};
    for (unsigned i = 0; i < form.rank; ++i)
      box.start[i] = static_cast<int32_t>(word(registers, form.coordinates[i], lane));

    if (warp.block->group->grid->observer)
      observeRows(warp, op, lane, form, box);
    CopyForm local = form;
    if (local.reduction) {
      local.reduction->type = reductionType(map.element);
      local.reduction->bytes = static_cast<uint8_t>(bytesOf(map.element));
    }
    const AddressForm &memory = form.isStore ? form.from : form.to;
    const uint64_t address = laneAddress(memory, registers, lane);
    const uint32_t total = box.rowBytes() * box.rows();
    uint32_t targets = 0;
    if (form.isMulticast) {
      uint16_t mask;
      std::memcpy(&mask, registers + form.multicast + 2 * size_t(lane), 2);
      targets = mask;
    }
    const uint64_t mbarrier = form.hasMbarrier ? laneAddress(form.mbarrier, registers, lane) : 0;
    for (unsigned rank = 0; rank < (form.isMulticast ? 16u : 1u); ++rank) {
      if (form.isMulticast && !(targets >> rank & 1))
        continue;
      auto inBlock = [&](uint64_t one) {
        return form.isMulticast
                   ? (one & ~uint64_t(0xff000000u)) | uint64_t(rank + 1) << sharedOffsetBits
                   : one;
      };
      const uint32_t alignment = map.swizzle == TensorSwizzle::none ? 16 : 128;
      if (address % alignment != 0)
        return refuse(concat("the box lies at offset ", address & sharedOffsetMask,
                             " of shared memory, which must be a multiple of ", alignment));
      std::byte *first = resolve(warp, op, memory.space, inBlock(address), lane, 16);
      if (!first)
        return After::stop;
      if (total > 16 && !resolve(warp, op, memory.space, inBlock(address) + total - 16, lane, 16))
        return After::stop;
      const auto offset = static_cast<uint32_t>(address & sharedOffsetMask);
      observeRange(warp, op, lane, memory.space, inBlock(address), total,
                   form.isStore ? AccessKind::read : AccessKind::write, Proxy::async);
      copyBox(local, box, first - offset, offset);
      if (form.hasMbarrier &&
          !completeBytes(warp, op, form.mbarrier, inBlock(mbarrier), lane, total))
        return After::stop;
    }
  }
  return After::next;
}

/// mapField: 0 address, 1 rank, 2 box, 3 size, 4 stride, 5 step, 6 type, 7 interleave,
/// 8 swizzle, 9 fill.
After runTensormapReplace(Warp &warp, const Op *op, std::byte *registers, uint32_t,
                          uint32_t active) {
  const auto &form = *static_cast<const CopyForm *>(op->extra);
  for (uint32_t rest = active; rest != 0; rest &= rest - 1) {
    const auto lane = static_cast<unsigned>(std::countr_zero(rest));
    std::byte *where =
        resolve(warp, op, form.to.space, laneAddress(form.to, registers, lane), lane, 128);
    if (!where)
      return After::stop;
    TensorMap map = TensorMap::decode(where);
    const bool isLong = form.mapField == 0 || form.mapField == 4;
    const uint64_t value =
        isLong ? longWord(registers, form.sizeSlot, lane) : word(registers, form.sizeSlot, lane);
    const unsigned i = std::min(form.ordinal, 4u);
    // The instruction numbers types otherwise than the driver.
    static constexpr TensorElement types[] = {
        TensorElement::u8,     TensorElement::u16, TensorElement::u32,  TensorElement::s32,
        TensorElement::u64,    TensorElement::s64, TensorElement::f16,  TensorElement::f32,
        TensorElement::f32Ftz, TensorElement::f64, TensorElement::bf16, TensorElement::tf32,
        TensorElement::tf32Ftz};
    switch (form.mapField) {
    case 0:
      map.address = value;
      break;
    case 1:
      map.rank = static_cast<unsigned>(std::min<uint64_t>(value, 4)) + 1;
      break;
    case 2:
      map.box[i] = static_cast<uint32_t>(value);
      break;
    case 3:
      map.size[i] = value;
      break;
    case 4:
      map.stride[std::min(i + 1, 4u)] = value;
      break;
    case 5:
      map.step[i] = static_cast<uint32_t>(value);
      break;
    case 6:
      if (value < std::size(types))
        map.element = types[value];
      break;
    case 7:
      map.interleave = static_cast<uint8_t>(value);
      break;
    case 8:
      map.swizzle = static_cast<TensorSwizzle>(value & 3);
      break;
    default:
      map.fillsNan = value != 0;
      break;
    }
    map.encode(where);
  }
  return After::next;
}

After runTensormapCopy(Warp &warp, const Op *op, std::byte *registers, uint32_t, uint32_t active) {
  const auto &form = *static_cast<const CopyForm *>(op->extra);
  const auto lane = static_cast<unsigned>(std::countr_zero(active));
  std::byte *to =
      resolve(warp, op, form.to.space, laneAddress(form.to, registers, lane), lane, 128);
  const std::byte *from =
      to ? resolve(warp, op, form.from.space, laneAddress(form.from, registers, lane), lane, 128)
         : nullptr;
  if (!from)
    return After::stop;
  std::memcpy(to, from, TensorMap::encodedBytes);
  return After::next;
}

} // namespace tilewright::vgpu::machine
