#include "tilewright/dialect/sm/BankConflicts.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

#include <map>
#include <set>

using namespace tilewright::sm;
using llvm::ArrayRef, llvm::SmallVector;

static constexpr int64_t bankBytes = 4, roundBytes = 128;

int64_t tilewright::sm::conflictDegree(ArrayRef<int64_t> addresses, int64_t bytes) {
  const int64_t unit = std::max(bytes, bankBytes), units = roundBytes / unit;
  int64_t worst = 1;
  for (size_t first = 0; first < addresses.size(); first += units) {
    std::map<int64_t, std::set<int64_t>> banks;
    for (int64_t address :
         addresses.slice(first, std::min<size_t>(units, addresses.size() - first)))
      for (int64_t word = address / bankBytes; word <= (address + bytes - 1) / bankBytes; ++word)
        banks[word % (roundBytes / bankBytes)].insert(word);
    for (const auto &[bank, words] : banks)
      worst = std::max(worst, static_cast<int64_t>(words.size()));
  }
  return worst;
}

bool tilewright::sm::isLinear(const Layout &layout) {
  auto binary = [](const Digit &digit) {
    return llvm::isPowerOf2_64(digit.size) && llvm::isPowerOf2_64(digit.stride);
  };
  return layout.getPad().amount == 0 && llvm::all_of(layout.getCopies(), binary) &&
         llvm::all_of(layout.getDims(),
                      [&](const Layout::Digits &digits) { return llvm::all_of(digits, binary); });
}

/// The offset of the element at the thread and register `at`. Indices that the memory layout does
/// not cover wrap around; there are no valid elements at these indices.
static int64_t offsetOf(const Layout &threads, const Layout &memory, const Coordinates &at) {
  std::optional<SmallVector<int64_t>> index = threads.indexOf(at);
  if (!index)
    return 0;
  for (int64_t dim = 0; dim < memory.rank(); ++dim)
    (*index)[dim] %= memory.cover(dim);
  return memory.apply(*index)[Axis::offset];
}

/// The offset that each bit of a coordinate on `axis` maps to; 0 for bits that select among copies.
static SmallVector<int64_t> imagesOf(Axis axis, const Layout &threads, const Layout &memory) {
  SmallVector<int64_t> images;
  for (int64_t bit = 1; bit < threads.extent(axis); bit *= 2) {
    Coordinates at;
    at[axis] = bit;
    images.push_back(offsetOf(threads, memory, at));
  }
  return images;
}

/// Rank over GF(2).
static int64_t rankOf(SmallVector<int64_t> vectors) {
  int64_t rank = 0;
  for (size_t i = 0; i < vectors.size(); ++i) {
    if (vectors[i] == 0)
      continue;
    ++rank;
    const int64_t pivot = vectors[i] & -vectors[i];
    for (size_t j = i + 1; j < vectors.size(); ++j)
      if (vectors[j] & pivot)
        vectors[j] ^= vectors[i];
  }
  return rank;
}

/// The number of elements that a lane moves at once, at least as many as fill a bank.
static int64_t unitOf(int64_t vector, int64_t elementBytes) {
  return std::max<int64_t>(vector, std::max<int64_t>(bankBytes / elementBytes, 1));
}

/// The images (see imagesOf) of the lane bits that distinguish lanes which access memory in the
/// same round. Lanes of different rounds never conflict.
static SmallVector<int64_t> roundImages(const SharedAccess &access, const Layout &memory,
                                        int64_t elementBytes) {
  SmallVector<int64_t> images = imagesOf(Axis::lane, access.threads, memory);
  const int64_t unit = unitOf(access.vector, elementBytes);
  const auto bits = static_cast<size_t>(llvm::Log2_64(roundBytes / (unit * elementBytes)));
  images.truncate(std::min(images.size(), bits));
  return images;
}

int64_t tilewright::sm::conflictDegree(const SharedAccess &access, const Layout &memory,
                                       int64_t elementBytes) {
  const Layout &threads = access.threads;
  const int64_t unit = unitOf(access.vector, elementBytes);
  if (isLinear(threads) && isLinear(memory) && llvm::isPowerOf2_64(elementBytes) &&
      llvm::isPowerOf2_64(access.vector)) {
    SmallVector<int64_t> words, banks;
    for (int64_t image : roundImages(access, memory, elementBytes)) {
      words.push_back(image / unit);
      banks.push_back(image / unit % (roundBytes / (unit * elementBytes)));
    }
    return int64_t(1) << (rankOf(words) - rankOf(banks));
  }
  int64_t worst = 1;
  for (int64_t warp = 0; warp < threads.extent(Axis::warp); ++warp)
    for (int64_t reg = 0; reg < threads.extent(Axis::reg); reg += access.vector) {
      SmallVector<int64_t> addresses;
      for (int64_t lane = 0; lane < threads.extent(Axis::lane); ++lane) {
        Coordinates at;
        at[Axis::reg] = reg, at[Axis::lane] = lane, at[Axis::warp] = warp;
        addresses.push_back(offsetOf(threads, memory, at) * elementBytes);
      }
      worst = std::max(worst, conflictDegree(addresses, access.vector * elementBytes));
    }
  return worst;
}

int64_t tilewright::sm::sharedVector(const Layout &threads, const Layout &memory,
                                     int64_t elementBytes) {
  const int64_t registers = threads.extent(Axis::reg);
  if (isLinear(threads) && isLinear(memory)) {
    // A vector of 2^n registers needs register bit i (i < n) to map to bit i of the offset alone,
    // and no other bit of a coordinate to change the bits of the offset below n.
    SmallVector<int64_t> bits = imagesOf(Axis::reg, threads, memory);
    SmallVector<int64_t> others = imagesOf(Axis::lane, threads, memory);
    llvm::append_range(others, imagesOf(Axis::warp, threads, memory));
    int64_t length = 1;
    for (size_t bit = 0; bit < bits.size() && length * 2 * elementBytes <= 16; ++bit, length *= 2) {
      llvm::append_range(others, ArrayRef(bits).drop_front(bit + 1));
      if (bits[bit] != length ||
          llvm::any_of(others, [&](int64_t image) { return image & length; }))
        break;
    }
    return length;
  }
  auto consecutive = [&](int64_t length) {
    for (int64_t warp = 0; warp < threads.extent(Axis::warp); ++warp)
      for (int64_t lane = 0; lane < threads.extent(Axis::lane); ++lane)
        for (int64_t reg = 0; reg < registers; reg += length) {
          Coordinates at;
          at[Axis::reg] = reg, at[Axis::lane] = lane, at[Axis::warp] = warp;
          const int64_t first = offsetOf(threads, memory, at);
          if (first % length != 0)
            return false;
          for (int64_t i = 1; i < length; ++i) {
            at[Axis::reg] = reg + i;
            if (offsetOf(threads, memory, at) != first + i)
              return false;
          }
        }
    return true;
  };
  int64_t length = 1;
  while (length * 2 * elementBytes <= 16 && registers % (length * 2) == 0 &&
         consecutive(length * 2))
    length *= 2;
  return length;
}

namespace {
/// Chooses, for each offset bit above the bank bits, which bank bits it flips; starts with the
/// lowest such bit. The swizzled difference of two lanes' offsets is known once the flips of its
/// highest bit are chosen, so solve() checks there that the lanes use different banks.
class SwizzleSearch {
public:
  SwizzleSearch(int64_t lowest, int64_t banksEnd, int64_t bits)
      : lowest(lowest), banksEnd(banksEnd), byTop(bits) {
    for (int64_t value = 0; value < int64_t(1) << (banksEnd - lowest); ++value)
      choices.push_back(value << lowest);
    llvm::sort(choices, [](int64_t a, int64_t b) {
      return std::pair(llvm::popcount(uint64_t(a)), a) < std::pair(llvm::popcount(uint64_t(b)), b);
    });
    flipsOf.assign(bits, 0);
  }

  /// Requires that the swizzled `difference` of two offsets has a bit in `bankMask`. Returns false
  /// if no swizzle can achieve that.
  bool require(int64_t difference, int64_t bankMask) {
    const int64_t top = llvm::Log2_64(difference);
    if (top < banksEnd)
      return (difference & bankMask) != 0;
    byTop[top].push_back({difference, bankMask});
    return true;
  }

  bool solve(int64_t bit) {
    if (bit == static_cast<int64_t>(flipsOf.size()))
      return true;
    for (int64_t choice : choices) {
      if (++steps > 100000)
        return false;
      flipsOf[bit] = choice;
      if (llvm::all_of(byTop[bit],
                       [&](auto pair) { return (swizzled(pair.first) & pair.second) != 0; }) &&
          solve(bit + 1))
        return true;
    }
    flipsOf[bit] = 0;
    return false;
  }

  SmallVector<Flip> flips() const {
    SmallVector<Flip> result;
    for (size_t from = 0; from < flipsOf.size(); ++from)
      for (int64_t to = lowest; to < banksEnd; ++to)
        if (flipsOf[from] >> to & 1)
          result.push_back({Axis::offset, static_cast<int64_t>(from), Axis::offset, to});
    return result;
  }

private:
  int64_t swizzled(int64_t offset) const {
    int64_t result = offset;
    for (size_t bit = banksEnd; bit < flipsOf.size(); ++bit)
      if (offset >> bit & 1)
        result ^= flipsOf[bit];
    return result;
  }

  int64_t lowest, banksEnd, steps = 0;
  SmallVector<SmallVector<std::pair<int64_t, int64_t>>> byTop;
  SmallVector<int64_t> choices, flipsOf;
};
} // namespace

std::optional<Layout> tilewright::sm::swizzleFor(const Layout &memory,
                                                 ArrayRef<SharedAccess> accesses,
                                                 int64_t elementBytes) {
  if (!isLinear(memory) || !memory.getFlips().empty() || !llvm::isPowerOf2_64(elementBytes))
    return std::nullopt;
  int64_t longest = 1;
  for (const SharedAccess &access : accesses) {
    if (!isLinear(access.threads) || !llvm::isPowerOf2_64(access.vector))
      return std::nullopt;
    longest = std::max(longest, unitOf(access.vector, elementBytes));
  }
  const int64_t lowest = llvm::Log2_64(longest);
  const int64_t banksEnd = llvm::Log2_64(roundBytes / elementBytes);
  const int64_t bits = std::max<int64_t>(llvm::Log2_64_Ceil(memory.extent(Axis::offset)), banksEnd);
  SwizzleSearch search(lowest, banksEnd, bits);
  for (const SharedAccess &access : accesses) {
    const int64_t unit = unitOf(access.vector, elementBytes);
    SmallVector<int64_t> images = roundImages(access, memory, elementBytes);
    for (int64_t lanes = 1; lanes < int64_t(1) << images.size(); ++lanes) {
      int64_t difference = 0;
      for (size_t bit = 0; bit < images.size(); ++bit)
        if (lanes >> bit & 1)
          difference ^= images[bit];
      difference &= -unit; // lanes that share a word do not conflict
      if (difference != 0 && !search.require(difference, ((int64_t(1) << banksEnd) - 1) & -unit))
        return std::nullopt;
    }
  }
  if (!search.solve(banksEnd))
    return std::nullopt;
  Layout result(memory.getDims(), memory.getCopies(), search.flips());
  if (!result.problem().empty())
    return std::nullopt;
  return result.canonical();
}
