// cp.async.bulk.tensor: boxes of tensors between global and shared memory.
#include "tilewright/support/Concat.h"
#include "tilewright/vgpu/machine/async/Async.h"
#include "tilewright/vgpu/machine/async/AsyncQueue.h"
#include "tilewright/vgpu/machine/async/TensorBox.h"

#include <bit>

namespace tilewright::vgpu::machine {

/// Fills a row with the value of elements outside the tensor.
static void fillRow(const TensorMap &map, std::byte *to, uint32_t bytes) {
  std::memset(to, 0, bytes);
  if (!map.fillsNan)
    return;
  const unsigned size = groupOf(map.element).inGlobal;
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

static bool roundsLoads(const TensorMap &map) {
  return map.element == TensorElement::tf32 || map.element == TensorElement::tf32Ftz;
}

/// Rounds f32 to the 10 mantissa bits of tf32, to nearest even; only loads do this. We assume that
/// .ftz flushes before rounding.
static void roundRow(const TensorMap &map, std::byte *row, uint32_t bytes) {
  if (!roundsLoads(map))
    return;
  for (uint32_t i = 0; i < bytes; i += 4) {
    uint32_t bits;
    std::memcpy(&bits, row + i, 4);
    if (map.element == TensorElement::tf32Ftz && (bits & 0x7f800000u) == 0)
      bits &= 0x80000000u;
    if ((bits & 0x7f800000u) != 0x7f800000u)
      bits = (bits + 0xfffu + (bits >> 13 & 1)) & 0xffffe000u;
    std::memcpy(row + i, &bits, 4);
  }
}

namespace {
/// The thread that issued the operation; accesses to global memory are attributed to it.
struct Issuer {
  Warp &warp;
  const Op *op;
  uint32_t lane;

  std::byte *memoryAt(uint64_t address, uint64_t bytes) const {
    return resolveGlobal(warp, op, address, lane, bytes);
  }
};
} // namespace

/// Copies a box between global and shared memory, row by row. `shared` is the block's shared
/// memory, `offset` the offset of the box in it. A store can be performed in two parts: the first
/// reads the box into `staged`, unswizzled, and the second writes it to global memory. Returns
/// false after a fault.
static bool copyBox(const Issuer &issuer, const CopyForm &form, const Box &box, std::byte *shared,
                    uint32_t offset, Part part, std::vector<std::byte> *staged) {
  const TensorMap &map = box.map;
  const unsigned size = box.group.inGlobal;
  const uint32_t bytes = box.rowBytes(), columns = box.columns();
  const int64_t step = map.step[0], first = box.firstColumn();
  const int64_t begin = box.beginInside(), end = box.endInside();
  static thread_local std::vector<std::byte> one;
  one.resize(bytes);
  for (uint32_t r = 0; r < box.rows(); ++r) {
    std::byte *row = part == Part::whole ? one.data() : staged->data() + size_t(r) * bytes;
    const uint64_t address = box.rowAddress(r);
    const uint32_t place = offset + r * box.sharedRowBytes();
    if (form.isStore) {
      if (!address || begin >= end)
        continue;
      if (part != Part::writes)
        rowFromShared(box, row, shared, place);
      if (part == Part::reads)
        continue;
      for (int64_t i = begin; i < end;) {
        const int64_t run = step == 1 ? end - i : 1;
        std::byte *to = issuer.memoryAt(address + static_cast<uint64_t>(first + i * step) * size,
                                        static_cast<uint64_t>(run) * size);
        if (!to)
          return false;
        if (form.reduction) {
          for (int64_t e = 0; e < run; ++e) {
            uint64_t operand = 0;
            std::memcpy(&operand, row + (i + e) * size, size);
            atomicApply(*form.reduction, to + e * size, operand, 0);
          }
        } else {
          std::memcpy(to, row + i * size, static_cast<size_t>(run) * size);
        }
        i += run;
      }
      continue;
    }
    const bool isWhole = address && begin == 0 && end == int64_t(columns) && step == 1;
    if (isWhole && !roundsLoads(map)) {
      const std::byte *from = issuer.memoryAt(address + static_cast<uint64_t>(first) * size, bytes);
      if (!from)
        return false;
      rowToShared(box, from, shared, place);
      continue;
    }
    if (!isWhole)
      fillRow(map, row, bytes);
    for (int64_t i = begin; address && i < end;) {
      const int64_t run = step == 1 ? end - i : 1;
      const std::byte *from =
          issuer.memoryAt(address + static_cast<uint64_t>(first + i * step) * size,
                          static_cast<uint64_t>(run) * size);
      if (!from)
        return false;
      std::memcpy(row + i * size, from, static_cast<size_t>(run) * size);
      i += run;
    }
    roundRow(map, row, bytes);
    rowToShared(box, row, shared, place);
  }
  return true;
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

/// Reports to the observer the rows of global memory that a box covers. `stored` holds the values
/// that they get, if known.
static void observeRows(Warp &warp, const Op *op, AsyncId id, const CopyForm &form, const Box &box,
                        const std::byte *stored) {
  const TensorMap &map = box.map;
  // A row with a traversal stride counts as a whole.
  const int64_t begin = box.beginInside() * map.step[0];
  const int64_t end = std::min<int64_t>(
      box.endInside() * map.step[0], int64_t(map.size[0] / box.group.elements) - box.firstColumn());
  if (begin >= end)
    return;
  const AccessKind kind = !form.isStore    ? AccessKind::read
                          : form.reduction ? AccessKind::atomic
                                           : AccessKind::write;
  AccessTeller teller(warp, op, kind, Proxy::async, id,
                      form.reduction ? Order::relaxed : Order::weak,
                      form.reduction ? Scope::gpu : Scope::none);
  const unsigned size = box.group.inGlobal;
  const bool hasValues = stored && kind == AccessKind::write && map.step[0] == 1;
  for (uint32_t row = 0; row < box.rows(); ++row)
    if (const uint64_t address = box.rowAddress(row))
      teller.range(address + static_cast<uint64_t>(box.firstColumn() + begin) * size,
                   static_cast<uint32_t>(end - begin) * size,
                   hasValues
                       ? stored + size_t(row) * box.rowBytes() + static_cast<size_t>(begin) * size
                       : nullptr);
}

/// Positions the box at the coordinates in the operands.
static Status placeBox(Box &box, const CopyForm &form, const CopyRequest &request) {
  const TensorMap &map = box.map;
  for (unsigned i = 0; i < form.rank; ++i)
    box.start[i] = request.coordinates[i];
  TILEWRIGHT_TRY(box.check());
  if (form.choosesRows)
    return box.chooseRows(std::span<const int32_t, 4>(request.coordinates + 1, 4));
  if (form.mode == TensorMode::tile)
    return Status();
  for (unsigned i = 0; form.isStore && i < form.rank - 2; ++i)
    if (map.lower[i] < 0 || map.upper[i] > 0)
      return Status(Code::invalidArgument,
                    concat("a store of im2col pixels must stay within the tensor, but corners ", i,
                           " of its map are ", map.lower[i], " and ", map.upper[i]));
  return box.walkPixels({request.offsets, form.offsetCount});
}

static bool performTensor(Warp &warp, const Op *op, const CopyRequest &request, AsyncId id,
                          Part part, std::vector<std::byte> *staged) {
  const auto &form = *static_cast<const CopyForm *>(op->extra);
  const uint32_t lane = request.lane;
  const Issuer issuer{warp, op, lane};
  auto refuse = [&](const std::string &why) {
    fault(warp, op, Error::vgpuAccess, why);
    return false;
  };
  const uint64_t place = form.isStore ? request.to : request.from; // the tensor map
  // A store that has already read its source uses its staged copy of the map.
  const std::byte *encoded =
      part == Part::writes
          ? staged->data() + staged->size() - TensorMap::encodedBytes
          : resolveRange(warp, op, Space::generic, place, lane, TensorMap::encodedBytes, 64);
  if (!encoded)
    return false;
  if (part != Part::writes)
    AccessTeller(warp, op, AccessKind::read, Proxy::tensormap, id)
        .lane(lane, flatAddress(warp, Space::generic, place), TensorMap::encodedBytes);
  const TensorMap map = TensorMap::decode(encoded);
  if (Status status = map.check(); !status.isOk())
    return refuse("invalid tensor map: " + status.message());
  if (map.rank != form.rank)
    return refuse(concat("the tensor map has ", map.rank, " dimensions, but the instruction has ",
                         form.rank));
  if (map.interleave != 0)
    return refuse("interleaved tensors are not supported");
  if (map.mode != form.mode)
    return refuse(concat("the tensor map is for ", nameOf(map.mode),
                         ", but the instruction is for ", nameOf(form.mode)));
  Box box{map};
  if (Status status = placeBox(box, form, request); !status.isOk())
    return refuse(status.message());
  if (form.isStore && map.element == TensorElement::u4Padded)
    return refuse("padded elements of 4 bits can be loaded, but not stored");
  if (form.reduction && isBelowByte(map.element))
    return refuse("elements of less than a byte cannot be reduced");

  const bool isObserved = warp.block->group->grid->observer;
  if (isObserved && (!form.isStore || part == Part::writes))
    observeRows(warp, op, id, form, box, form.isStore ? staged->data() : nullptr);
  CopyForm local = form;
  if (local.reduction) {
    local.reduction->type = reductionType(map.element);
    local.reduction->bytes = static_cast<uint8_t>(box.group.inGlobal);
  }
  const AddressForm &memory = form.isStore ? form.from : form.to;
  const uint64_t address = form.isStore ? request.from : request.to;
  const uint32_t total = box.sharedBytes();
  if (part == Part::reads) {
    staged->resize(box.dataBytes());
    staged->insert(staged->end(), encoded, encoded + TensorMap::encodedBytes);
  }
  for (unsigned rank = 0; rank < (form.isMulticast ? 16u : 1u); ++rank) {
    if (form.isMulticast && !(request.targets >> rank & 1))
      continue;
    auto inBlock = [&](uint64_t one) { return form.isMulticast ? addressInBlock(one, rank) : one; };
    const uint32_t alignment = map.swizzle == TensorSwizzle::none ? 16 : 128;
    if (address % alignment != 0)
      return refuse(concat("the offset of the box in shared memory must be a multiple of ",
                           alignment, ", got ", address & sharedOffsetMask));
    std::byte *first = resolve(warp, op, memory.space, inBlock(address), lane, 16);
    if (!first)
      return false;
    if (total > 16 && !resolve(warp, op, memory.space, inBlock(address) + total - 16, lane, 16))
      return false;
    const auto offset = static_cast<uint32_t>(address & sharedOffsetMask);
    if (part != Part::writes)
      AccessTeller(warp, op, form.isStore ? AccessKind::read : AccessKind::write, Proxy::async, id)
          .lane(lane, flatAddress(warp, memory.space, inBlock(address)), total);
    if (isObserved && form.isStore && part == Part::whole) {
      // Tell the observer the values that will be written.
      std::vector<std::byte> rows(box.dataBytes());
      copyBox(issuer, local, box, first - offset, offset, Part::reads, &rows);
      observeRows(warp, op, id, form, box, rows.data());
      if (!copyBox(issuer, local, box, first - offset, offset, Part::writes, &rows))
        return false;
    } else if (!copyBox(issuer, local, box, first - offset, offset, part, staged)) {
      return false;
    }
    const uint64_t mbarrier =
        form.isPair ? pairMbarrier(request.mbarrier, form.isMulticast ? rank : warp.block->rank)
                    : inBlock(request.mbarrier);
    if (form.hasMbarrier &&
        !completeBytes(warp, op, form.mbarrier, mbarrier, lane, box.dataBytes(), id))
      return false;
  }
  return true;
}
static bool performTensors(Warp &warp, const Op *op, std::span<const CopyRequest> requests,
                           AsyncId id, Part part, std::span<std::vector<std::byte>> staged) {
  for (size_t i = 0; i < requests.size(); ++i)
    if (!performTensor(warp, op, requests[i], id, part, staged.empty() ? nullptr : &staged[i]))
      return false;
  return true;
}

After runTensor(Warp &warp, const Op *op, std::byte *registers, uint32_t, uint32_t active) {
  const auto &form = *static_cast<const CopyForm *>(op->extra);
  auto gather = [&](unsigned lane, CopyRequest &request) {
    request.to = laneAddress(form.to, registers, lane);
    request.from = laneAddress(form.from, registers, lane);
    request.targets = multicastTargets(form, registers, lane);
    request.mbarrier = form.hasMbarrier ? laneAddress(form.mbarrier, registers, lane) : 0;
    for (unsigned i = 0; i < form.coordinateCount; ++i)
      request.coordinates[i] = static_cast<int32_t>(word(registers, form.coordinates[i], lane));
    for (unsigned i = 0; i < form.offsetCount; ++i)
      request.offsets[i] = static_cast<uint16_t>(word(registers, form.offsets[i], lane));
  };
  return issueCopies(warp, op, active, form.isStore ? GroupKind::bulk : GroupKind::none,
                     form.isStore, performTensors, gather);
}

/// mapField: 0 address, 1 rank, 2 box, 3 size, 4 stride, 5 step, 6 type, 7 interleave, 8 swizzle, 9
/// fill, 10 atoms of the swizzle.
After runTensormapReplace(Warp &warp, const Op *op, std::byte *registers, uint32_t,
                          uint32_t active) {
  const auto &form = *static_cast<const CopyForm *>(op->extra);
  for (uint32_t rest = active; rest != 0; rest &= rest - 1) {
    const auto lane = static_cast<unsigned>(std::countr_zero(rest));
    std::byte *where =
        resolve(warp, op, form.to.space, laneAddress(form.to, registers, lane), lane, 128);
    if (!where)
      return After::stop;
    observeRange(warp, op, lane, form.to.space, laneAddress(form.to, registers, lane),
                 TensorMap::encodedBytes, AccessKind::write, Proxy::generic);
    TensorMap map = TensorMap::decode(where);
    const bool isLong = form.mapField == 0 || form.mapField == 4;
    const uint64_t value =
        isLong ? longWord(registers, form.sizeSlot, lane) : word(registers, form.sizeSlot, lane);
    const unsigned i = std::min(form.ordinal, 4u);
    // The instruction numbers the types differently from the driver.
    static constexpr TensorElement types[] = {
        TensorElement::u8,      TensorElement::u16,  TensorElement::u32,
        TensorElement::s32,     TensorElement::u64,  TensorElement::s64,
        TensorElement::f16,     TensorElement::f32,  TensorElement::f32Ftz,
        TensorElement::f64,     TensorElement::bf16, TensorElement::tf32,
        TensorElement::tf32Ftz, TensorElement::u4,   TensorElement::u4Padded,
        TensorElement::u6Padded};
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
    case 10: // the atoms of the 128-byte swizzle, which is set before
      if (map.swizzle >= TensorSwizzle::bytes128)
        map.swizzle = static_cast<TensorSwizzle>(uint64_t(TensorSwizzle::bytes128) + (value & 3));
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
  // PTX does not specify which lane performs the copy, so attribute it to all active lanes.
  auto all = [&](const AddressForm &address, AccessKind kind) {
    AccessTeller teller(warp, op, kind, Proxy::generic, 0);
    for (uint32_t rest = active; rest != 0; rest &= rest - 1)
      teller.lane(static_cast<uint32_t>(std::countr_zero(rest)),
                  flatAddress(warp, address.space, laneAddress(address, registers, lane)),
                  TensorMap::encodedBytes);
  };
  all(form.from, AccessKind::read);
  all(form.to, AccessKind::write);
  std::memcpy(to, from, TensorMap::encodedBytes);
  // The copy is attributed to all active lanes, so the fence covers all of them, too.
  tell(warp, {.warp = warp,
              .op = op,
              .mask = active,
              .kind = SyncKind::proxyFence,
              .order = Order::release,
              .scope = form.scope,
              .proxy = Proxy::tensormap});
  return After::next;
}

} // namespace tilewright::vgpu::machine
