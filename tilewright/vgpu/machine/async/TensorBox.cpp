#include "tilewright/vgpu/machine/async/TensorBox.h"

#include "tilewright/support/Concat.h"

#include <cstring>

namespace tilewright::vgpu::machine {

uint64_t Box::addressAt(std::span<const int64_t> coordinates) const {
  uint64_t address = map.address;
  for (unsigned i = 1; i < map.rank; ++i) {
    const int64_t at = coordinates[i - 1];
    if (at < 0 || static_cast<uint64_t>(at) >= map.size[i])
      return 0;
    address += static_cast<uint64_t>(at) * map.stride[i];
  }
  return address;
}

uint64_t Box::rowAddress(uint32_t row) const {
  if (!chosen.empty())
    return chosen[row];
  int64_t at[4];
  for (unsigned i = 1; i < map.rank; ++i) {
    at[i - 1] = start[i] + int64_t(row % count(i)) * map.step[i];
    row /= count(i);
  }
  return addressAt(at);
}

Status Box::chooseRows(std::span<const int32_t, 4> rows) {
  if (map.box[1] != 1)
    return Status(Code::invalidArgument,
                  concat("tile::gather4 and tile::scatter4 require a tensor map whose box has one "
                         "row, got ",
                         map.box[1]));
  for (const int64_t row : rows)
    chosen.push_back(addressAt({&row, 1}));
  return Status();
}

Status Box::walkPixels(std::span<const uint16_t> offsets) {
  auto refuse = [](auto... parts) { return Status(Code::invalidArgument, concat(parts...)); };
  const bool isWide = map.mode != TensorMode::im2col;
  const unsigned spatial = map.rank - 2, walked = isWide ? 1 : spatial;
  uint32_t count = map.mode == TensorMode::im2colW128 ? 128 : map.pixels;
  int64_t shift[3] = {}; // of the pixels that are read
  const uint32_t limit = isWide || map.rank == 5 ? 32 : map.rank == 4 ? 1 << 8 : 1 << 16;
  for (unsigned i = isWide ? 1 : 0; i < offsets.size(); ++i) {
    if (offsets[i] >= limit)
      return refuse("offsets of ", nameOf(map.mode), " must be below ", limit, ", got ",
                    offsets[i]);
    shift[isWide ? 0 : i] = offsets[i];
  }
  if (isWide) {
    const uint32_t halo = offsets[0];
    if (map.mode == TensorMode::im2colW128 && halo != 0)
      return refuse("im2col::w::128 with a halo is not supported, because PTX shows the place of "
                    "halo pixels only in a figure; use im2col::w");
    if (halo >= 512)
      return refuse("the halo of im2col::w must be below 512, got ", halo);
    count += halo;
  }
  int64_t at[4], last[3];
  std::copy_n(start + 1, map.rank - 1, at);
  for (unsigned i = 0; i < walked; ++i) {
    last[i] = static_cast<int64_t>(map.size[i + 1]) - 1 + map.upper[i];
    // im2col::w may begin left of its box.
    if (at[i] > last[i] || (!isWide && at[i] < map.lower[i]))
      return refuse("coordinate ", i + 1, " of ", nameOf(map.mode), " must be in the box from ",
                    map.lower[i], " to ", last[i], ", got ", at[i]);
  }
  for (; count != 0; --count) {
    int64_t pixel[4];
    for (unsigned i = 0; i < map.rank - 1; ++i)
      pixel[i] = at[i] + (i < spatial ? shift[i] : 0);
    chosen.push_back(addressAt(pixel));
    unsigned i = 0;
    while (i < walked && (at[i] += map.step[i + 1]) > last[i]) {
      at[i] = map.lower[i];
      ++i;
    }
    if (i == walked)
      ++at[spatial];
  }
  return Status();
}

Status Box::check() const {
  const int64_t whole = group.isPadded() ? 128 : int64_t(group.elements);
  if (start[0] % whole != 0)
    return Status(Code::invalidArgument,
                  concat("the first coordinate must be a multiple of ", whole,
                         " for elements of less than a byte, got ", start[0]));
  return Status();
}

uint32_t swizzled(TensorSwizzle swizzle, uint32_t address) {
  switch (swizzle) {
  case TensorSwizzle::none:
    return address;
  case TensorSwizzle::bytes32:
    return address ^ (address >> 3 & 0x10);
  case TensorSwizzle::bytes64:
    return address ^ (address >> 3 & 0x30);
  case TensorSwizzle::bytes128:
    return address ^ (address >> 3 & 0x70);
  case TensorSwizzle::atoms32:
  case TensorSwizzle::atoms32Flipped: // refused by TensorMap::check
    return address ^ (address >> 2 & 0x60);
  case TensorSwizzle::atoms64:
    return address ^ (address >> 1 & 0x40);
  }
  return address;
}

/// The number of data bytes in a 16-byte chunk of shared memory.
static uint32_t chunkBytes(const Box &box) {
  return box.group.isPadded() ? box.group.inGlobal : 16;
}

void rowToShared(const Box &box, const std::byte *row, std::byte *shared, uint32_t place) {
  const uint32_t bytes = box.rowBytes(), data = chunkBytes(box);
  // Swizzles permute chunks of 16 bytes. A chunk's padding keeps its contents: PTX leaves it
  // undefined.
  for (uint32_t from = 0; from < bytes; from += data, place += 16) {
    std::byte *to = shared + swizzled(box.map.swizzle, place);
    const uint32_t length = std::min(data, bytes - from);
    if (length == 16)
      std::memcpy(to, row + from, 16); // inlined, because the size is constant
    else
      std::memcpy(to, row + from, length);
  }
}

/// Packs 16 six-bit elements. Stores find each of them in a byte of its own.
static void packSixBits(std::byte *to, const std::byte *from) {
  for (unsigned i = 0; i < 4; ++i) {
    uint32_t bits = 0;
    for (unsigned e = 0; e < 4; ++e)
      bits |= (uint32_t(from[4 * i + e]) & 63) << 6 * e;
    std::memcpy(to + 3 * i, &bits, 3);
  }
}

void rowFromShared(const Box &box, std::byte *row, const std::byte *shared, uint32_t place) {
  const uint32_t bytes = box.rowBytes(), data = chunkBytes(box);
  for (uint32_t to = 0; to < bytes; to += data, place += 16) {
    const std::byte *from = shared + swizzled(box.map.swizzle, place);
    const uint32_t length = std::min(data, bytes - to);
    if (box.map.element == TensorElement::u6Padded)
      packSixBits(row + to, from);
    else if (length == 16)
      std::memcpy(row + to, from, 16);
    else
      std::memcpy(row + to, from, length);
  }
}

} // namespace tilewright::vgpu::machine
