// Tests a hundred thousand random layouts against brute force: tables of every index and every
// copy.
#include "tilewright/dialect/sm/BankConflicts.h"
#include "tilewright/dialect/sm/ViewMap.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"
#include "llvm/Support/MathExtras.h"
#include "gtest/gtest.h"

#include <map>
#include <random>
#include <set>

using namespace tilewright::sm;
using llvm::ArrayRef, llvm::SmallVector;

namespace {

using Index = std::vector<int64_t>;
/// Every position, and the index that is there.
using Table = std::map<std::array<int64_t, axisCount>, Index>;

class Random {
public:
  explicit Random(uint64_t seed) : engine(seed) {}
  int64_t below(int64_t limit) {
    return static_cast<int64_t>(engine() % static_cast<uint64_t>(limit));
  }
  bool chance(int64_t percent) { return below(100) < percent; }

private:
  std::mt19937_64 engine;
};

struct Choices {
  std::vector<Axis> axes = {Axis::reg, Axis::lane, Axis::warp, Axis::cta, Axis::offset};
  int64_t maxRank = 3, maxElements = 40, maxCopies = 4;
  bool binary = false, gaps = true, flips = true, pads = true, copies = true;
};

/// A valid random layout. Strides are assigned axis by axis in a random order of digits.
Layout randomLayout(Random &random, const Choices &choices) {
  static constexpr int64_t sizes[] = {2, 2, 4, 3, 2, 8, 5, 1, 6};
  SmallVector<Layout::Digits> dims(1 + random.below(choices.maxRank));
  Layout::Digits copies;
  int64_t elements = 1, copied = 1;
  auto digit = [&]() -> Digit {
    const int64_t size = choices.binary ? int64_t(1) << random.below(3) : sizes[random.below(9)];
    return {size, choices.axes[random.below(choices.axes.size())], 1};
  };
  for (int64_t tries = 1 + random.below(7); tries-- > 0;) {
    const Digit next = digit();
    if (elements * next.size > choices.maxElements)
      break;
    elements *= next.size;
    dims[random.below(dims.size())].push_back(next);
  }
  for (int64_t tries = choices.copies ? random.below(3) : 0; tries-- > 0;) {
    const Digit next = digit();
    if (copied * next.size > choices.maxCopies)
      break;
    copied *= next.size;
    copies.push_back(next);
  }
  for (Axis axis : choices.axes) {
    std::vector<Digit *> digits;
    for (Layout::Digits &list : dims)
      for (Digit &entry : list)
        if (entry.axis == axis)
          digits.push_back(&entry);
    for (Digit &entry : copies)
      if (entry.axis == axis)
        digits.push_back(&entry);
    // Often in order, so that digits that can be merged occur.
    std::reverse(digits.begin(), digits.end());
    if (random.chance(60))
      for (size_t i = digits.size(); i > 1; --i)
        std::swap(digits[i - 1], digits[random.below(i)]);
    int64_t stride = 1;
    for (Digit *entry : digits) {
      if (choices.gaps && random.chance(10))
        stride *= choices.binary ? 2 : 2 + random.below(2);
      if (axis == Axis::offset && choices.gaps && !choices.binary && random.chance(10))
        stride += random.below(3);
      entry->stride = stride;
      stride *= entry->size;
    }
  }
  Layout plain(dims, copies);
  SmallVector<Flip> flips;
  if (choices.flips && random.chance(40)) {
    std::vector<std::pair<Axis, int64_t>> bits;
    for (Axis axis : choices.axes)
      for (int64_t bit = 0; bit < 8; ++bit)
        if (plain.ownerOf(axis, bit).value_or(-1) >= 0)
          bits.emplace_back(axis, bit);
    if (bits.size() > 1) {
      const auto sources =
          static_cast<size_t>(1 + random.below(static_cast<int64_t>(bits.size()) - 1));
      for (size_t i = bits.size(); i > 1; --i)
        std::swap(bits[i - 1], bits[random.below(i)]);
      for (int64_t count = 1 + random.below(3); count-- > 0;) {
        auto from = bits[random.below(sources)],
             to = bits[sources + random.below(bits.size() - sources)];
        flips.push_back({from.first, from.second, to.first, to.second});
      }
    }
  }
  Pad pad;
  if (choices.pads && random.chance(20))
    pad = {1 + random.below(12), 1 + random.below(4)};
  // Use the padding only if it fits the rows.
  Layout padded(dims, copies, flips, pad);
  return padded.problem().empty() ? padded : Layout(dims, copies, flips);
}

/// All copies of all elements, from the definition.
Table tableOf(const Layout &layout) {
  std::vector<std::pair<Index, Coordinates>> all = {{Index(layout.rank(), 0), Coordinates()}};
  // Each digit multiplies the entries by its values.
  auto multiply = [&](const Digit &digit, int64_t dim, int64_t weight) {
    const size_t count = all.size();
    for (int64_t value = 1; value < digit.size; ++value)
      for (size_t i = 0; i < count; ++i) {
        auto entry = all[i];
        if (dim >= 0)
          entry.first[dim] += value * weight;
        entry.second[digit.axis] += value * digit.stride;
        all.push_back(entry);
      }
  };
  for (int64_t dim = 0; dim < layout.rank(); ++dim) {
    int64_t weight = layout.cover(dim);
    for (const Digit &digit : layout.getDims()[dim]) {
      weight /= digit.size;
      multiply(digit, dim, weight);
    }
  }
  for (const Digit &digit : layout.getCopies())
    multiply(digit, -1, 0);
  Table table;
  for (auto &[index, at] : all) {
    Coordinates place = at;
    for (const Flip &flip : layout.getFlips())
      if (at[flip.fromAxis] & (int64_t(1) << flip.from))
        place[flip.toAxis] ^= int64_t(1) << flip.to;
    if (layout.getPad().amount != 0)
      place[Axis::offset] +=
          place[Axis::offset] / layout.getPad().interval * layout.getPad().amount;
    EXPECT_TRUE(table.emplace(place, index).second) << "two indices at one place: " << layout.str();
  }
  return table;
}

SmallVector<int64_t> covers(const Layout &layout) {
  SmallVector<int64_t> shape;
  for (int64_t dim = 0; dim < layout.rank(); ++dim)
    shape.push_back(layout.cover(dim));
  return shape;
}

/// The same function in another form: digits split, strides instead of padding, copies in another
/// order.
Layout rewritten(Random &random, const Layout &layout) {
  auto split = [&](ArrayRef<Digit> digits) {
    Layout::Digits result;
    for (const Digit &digit : digits) {
      const int64_t factor = digit.size % 2 == 0 ? 2 : digit.size % 3 == 0 ? 3 : 1;
      if (random.chance(50) && factor > 1) {
        result.push_back({digit.size / factor, digit.axis, digit.stride * factor});
        result.push_back({factor, digit.axis, digit.stride});
      } else {
        result.push_back(digit);
      }
      if (random.chance(10))
        result.push_back({1, Axis::lane, 7});
    }
    return result;
  };
  SmallVector<Layout::Digits> dims;
  for (const Layout::Digits &digits : layout.getDims())
    dims.push_back(split(digits));
  Layout::Digits copies = split(layout.getCopies());
  std::reverse(copies.begin(), copies.end());
  SmallVector<Flip> flips(layout.getFlips());
  std::reverse(flips.begin(), flips.end());
  if (!flips.empty() && random.chance(50))
    flips.append({flips.front(), flips.front()});
  return Layout(dims, copies, flips, layout.getPad());
}

/// A small change, or none.
Layout changed(Random &random, const Layout &layout) {
  SmallVector<Layout::Digits> dims(layout.getDims());
  Layout::Digits copies(layout.getCopies());
  SmallVector<Flip> flips(layout.getFlips());
  Pad pad = layout.getPad();
  Layout::Digits &digits = dims[random.below(dims.size())];
  switch (random.below(6)) {
  case 0:
    if (digits.size() > 1)
      std::swap(digits[0], digits[random.below(digits.size())]);
    break;
  case 1:
    if (!flips.empty())
      flips.pop_back();
    break;
  case 2:
    if (!digits.empty())
      digits[random.below(digits.size())].stride *= 2;
    break;
  case 3:
    pad = pad.amount == 0 ? Pad{4, 1} : Pad{};
    break;
  case 4: // padding expressed by strides
    if (pad.amount != 0)
      for (Layout::Digits &list : dims)
        for (Digit &digit : list)
          if (digit.axis == Axis::offset)
            digit.stride += digit.stride / pad.interval * pad.amount;
    pad = {};
    break;
  default:
    if (!copies.empty())
      copies.pop_back();
    break;
  }
  return Layout(dims, copies, flips, pad);
}

#define SCOPED_LAYOUT(layout) SCOPED_TRACE((layout).str())

TEST(LayoutProperty, FunctionInverseTextAndCanonicalForm) {
  Random random(20261);
  int64_t equal = 0, different = 0;
  for (int round = 0; round < 100000; ++round) {
    const Layout layout = randomLayout(random, {});
    SCOPED_LAYOUT(layout);
    ASSERT_EQ(layout.problem(), "");
    ASSERT_EQ(Layout::parse(layout.str()), layout);
    const Table table = tableOf(layout);
    std::set<Index> seen;
    Coordinates highest;
    for (const auto &[place, index] : table) {
      Coordinates at;
      llvm::copy(place, at.begin());
      auto found = layout.indexOf(at);
      ASSERT_TRUE(found && llvm::equal(*found, index));
      if (seen.insert(index).second) {
        Coordinates first = layout.apply(index);
        auto entry = table.find(first);
        ASSERT_TRUE(entry != table.end() && entry->second == index);
      }
      for (size_t axis = 0; axis < axisCount; ++axis)
        highest[static_cast<Axis>(axis)] = std::max(highest[static_cast<Axis>(axis)], place[axis]);
    }
    for (size_t axis = 0; axis < axisCount; ++axis)
      ASSERT_EQ(layout.extent(static_cast<Axis>(axis)), highest[static_cast<Axis>(axis)] + 1);

    const Layout canonical = layout.canonical();
    ASSERT_EQ(canonical.problem(), "") << canonical.str();
    ASSERT_EQ(canonical, canonical.canonical());
    ASSERT_EQ(tableOf(canonical), table) << canonical.str();
    const Layout same = rewritten(random, layout);
    ASSERT_EQ(same.canonical(), canonical) << same.str();
    const Layout other = changed(random, layout);
    if (!other.problem().empty())
      continue;
    const bool equals = covers(other) == covers(layout) && tableOf(other) == table;
    (equals ? equal : different) += 1;
    ASSERT_EQ(other.sameAs(layout), equals)
        << other.str() << " is " << other.canonical().str() << " and not " << canonical.str();
  }
  EXPECT_GT(equal, 1000);
  EXPECT_GT(different, 1000);
}

/// Layouts of registers, as a kernel's tiles have.
Choices ofRegisters() {
  Choices choices;
  choices.axes = {Axis::reg, Axis::lane, Axis::warp};
  choices.gaps = choices.pads = choices.flips = false;
  return choices;
}

TEST(LayoutProperty, CodeOfTheInverse) {
  Random random(7);
  for (int round = 0; round < 10000; ++round) {
    const Layout layout = randomLayout(random, ofRegisters());
    SCOPED_LAYOUT(layout);
    SmallVector<IndexForm> forms = layout.indexForms();
    for (const auto &[place, index] : tableOf(layout))
      for (int64_t dim = 0; dim < layout.rank(); ++dim) {
        int64_t sum = forms[dim].registers[place[static_cast<size_t>(Axis::reg)]];
        for (const IndexTerm &term : forms[dim].terms)
          sum += place[static_cast<size_t>(term.axis)] / term.stride % term.size * term.weight;
        ASSERT_EQ(sum, index[dim]);
      }
  }
}

TEST(LayoutProperty, ProductsAndQuotients) {
  Random random(11);
  Choices choices;
  choices.maxElements = 12, choices.maxRank = 1, choices.pads = false, choices.gaps = false;
  int64_t divided = 0, refused = 0;
  for (int round = 0; round < 20000; ++round) {
    Layout blocks = randomLayout(random, choices), atom = randomLayout(random, choices);
    SCOPED_TRACE(blocks.str() + " times " + atom.str());
    bool binary = blocks.getFlips().empty();
    if (!binary)
      binary = llvm::all_of(choices.axes,
                            [&](Axis axis) { return llvm::isPowerOf2_64(atom.extent(axis)); });
    if (!binary)
      continue;
    const Layout product = blocks.times(atom);
    ASSERT_EQ(product.problem(), "") << product.str();
    const Table table = tableOf(product);
    for (int64_t block = 0; block < blocks.cover(0); ++block)
      for (int64_t inside = 0; inside < atom.cover(0); ++inside) {
        Coordinates at = blocks.apply({block}), low = atom.apply({inside});
        for (size_t i = 0; i < axisCount; ++i) {
          const auto axis = static_cast<Axis>(i);
          at[axis] = at[axis] * atom.extent(axis) + low[axis];
        }
        ASSERT_EQ(table.at(at), Index{block * atom.cover(0) + inside});
      }
    std::optional<Layout> quotient = product.divide(atom);
    ASSERT_TRUE(quotient) << product.str();
    ASSERT_TRUE(quotient->sameAs(blocks)) << quotient->str();

    // For any two layouts: a quotient is correct, and if there is none, no function is a quotient.
    Choices plain = choices;
    plain.flips = plain.copies = false, plain.maxElements = 24;
    const Layout any = randomLayout(random, plain);
    plain.maxElements = 4;
    const Layout small = randomLayout(random, plain);
    std::optional<Layout> maybe = any.divide(small);
    bool exists = any.cover(0) % small.cover(0) == 0;
    for (int64_t i = 0; exists && i < any.cover(0); ++i) {
      const int64_t inside = i % small.cover(0);
      const Coordinates at = any.apply({i}), base = any.apply({i - inside}),
                        low = small.apply({inside});
      for (size_t a = 0; a < axisCount; ++a) {
        const auto axis = static_cast<Axis>(a);
        exists &= base[axis] % small.extent(axis) == 0 && at[axis] - base[axis] == low[axis];
      }
    }
    ASSERT_EQ(maybe.has_value(), exists) << any.str() << " divided by " << small.str();
    if (maybe)
      ASSERT_TRUE(maybe->times(small).sameAs(any));
    (maybe ? divided : refused) += 1;
  }
  EXPECT_GT(divided, 500);
  EXPECT_GT(refused, 500);
}

TEST(LayoutProperty, Reductions) {
  Random random(13);
  for (int round = 0; round < 20000; ++round) {
    const Layout layout = randomLayout(random, ofRegisters());
    SCOPED_LAYOUT(layout);
    const int64_t dim = random.below(layout.rank());
    std::optional<Layout> reduced = layout.reduce({dim});
    ASSERT_TRUE(reduced);
    ASSERT_EQ(reduced->problem(), "") << reduced->str();
    // Each thread holds the same elements as before, without the dimension, each in one register.
    using Thread = std::pair<int64_t, int64_t>;
    auto threadOf = [](const auto &place) {
      return Thread(place[static_cast<size_t>(Axis::lane)], place[static_cast<size_t>(Axis::warp)]);
    };
    std::map<Thread, std::set<Index>> expected;
    for (auto [place, index] : tableOf(layout)) {
      index.erase(index.begin() + dim);
      expected[threadOf(place)].insert(index);
    }
    std::map<Thread, std::vector<Index>> got;
    for (const auto &[place, index] : tableOf(*reduced))
      got[threadOf(place)].push_back(index);
    ASSERT_EQ(got.size(), expected.size());
    for (auto &[thread, indices] : got) {
      ASSERT_EQ(std::set<Index>(indices.begin(), indices.end()), expected[thread])
          << reduced->str();
      ASSERT_EQ(indices.size(), expected[thread].size()) << reduced->str();
    }
    ASSERT_TRUE(reduced->isDense(Axis::reg));
  }
}

/// A random view of a tile of this shape: dimensions split, permuted, merged, broadcast, one
/// sliced.
ViewMap randomView(Random &random, ArrayRef<int64_t> shape) {
  ViewMap map;
  map.sourceShape.assign(shape.begin(), shape.end());
  map.source.resize(shape.size());
  // Pieces of the source's dimensions, lowest first; each is a dimension of the result for now.
  struct Piece {
    size_t source;
    int64_t size, weight;
  };
  std::vector<Piece> pieces;
  for (size_t dim = 0; dim < shape.size(); ++dim) {
    int64_t weight = 1, rest = shape[dim];
    while (rest > 1) {
      int64_t size = rest;
      for (int64_t factor : {2, 3, 5})
        if (random.chance(30) && rest % factor == 0)
          size = factor;
      // A slice omits the highest piece and selects one of its values.
      if (size == rest && weight > 1 && random.chance(15)) {
        map.source[dim].constant = random.below(size) * weight;
      } else {
        pieces.push_back({dim, size, weight});
      }
      weight *= size;
      rest /= size;
    }
  }
  if (random.chance(40))
    pieces.push_back({shape.size(), 2 + random.below(3), 0}); // a broadcast
  for (size_t i = pieces.size(); i > 1; --i)
    if (random.chance(60))
      std::swap(pieces[i - 1], pieces[random.below(i)]);
  for (const Piece &piece : pieces) {
    if (map.resultShape.empty() || random.chance(50))
      map.resultShape.push_back(1);
    const int64_t dim = static_cast<int64_t>(map.resultShape.size()) - 1;
    if (piece.source < shape.size())
      map.source[piece.source].pieces.push_back(
          {dim, map.resultShape[dim], piece.size, piece.weight});
    map.resultShape[dim] *= piece.size;
  }
  return map;
}

TEST(LayoutProperty, ViewsBothWays) {
  Random random(17);
  Choices choices = ofRegisters();
  choices.maxElements = 48;
  int64_t forward = 0, backward = 0;
  for (int round = 0; round < 20000; ++round) {
    const Layout source = randomLayout(random, choices);
    const ViewMap map = randomView(random, covers(source));
    SCOPED_LAYOUT(source);
    std::optional<Layout> result = resultLayout(source, map);
    if (result) {
      ++forward;
      ASSERT_EQ(result->problem(), "") << result->str();
      for (size_t dim = 0; dim < map.resultShape.size(); ++dim)
        ASSERT_GE(result->cover(dim), map.resultShape[dim]) << result->str();
      ASSERT_TRUE(registersOfView(*result, source, map)) << result->str();
    }
    // Any layout of the result has a source layout, if its digits can be split.
    Layout any;
    int64_t vector = 1 + random.below(2);
    auto order = llvm::to_vector(llvm::seq<int64_t>(map.resultShape.size()));
    if (random.chance(50))
      std::reverse(order.begin(), order.end());
    any = Layout::blocked(map.resultShape, order, vector, 4, 2);
    std::optional<Layout> needed = sourceLayout(any, map);
    if (needed) {
      ++backward;
      ASSERT_EQ(needed->problem(), "") << needed->str();
      for (int64_t dim = 0; dim < source.rank(); ++dim)
        ASSERT_GE(needed->cover(dim), source.cover(dim)) << needed->str() << " for " << any.str();
      ASSERT_TRUE(registersOfView(any, *needed, map)) << needed->str() << " for " << any.str();
    }
  }
  EXPECT_GT(forward, 8000);
  EXPECT_GT(backward, 8000);
}

TEST(LayoutProperty, ConflictDegreesAndSwizzles) {
  Random random(19);
  int64_t conflicts = 0, solved = 0;
  for (int round = 0; round < 10000; ++round) {
    const int64_t rows = int64_t(8) << random.below(3), columns = int64_t(8) << random.below(3);
    const int64_t elementBytes = int64_t(1) << random.below(4), vector = int64_t(1)
                                                                         << random.below(3);
    if (vector * elementBytes > 16)
      continue;
    auto order = [&] {
      return random.chance(50) ? SmallVector<int64_t>{0, 1} : SmallVector<int64_t>{1, 0};
    };
    // Random lanes: the bits of a blocked layout, permuted.
    auto threads = [&](int64_t vector, ArrayRef<int64_t> order) {
      Layout blocked = Layout::blocked({rows, columns}, order, vector, 32, 1);
      return blocked;
    };
    Layout memory = Layout::packed({rows, columns}, {1, 0});
    if (random.chance(50)) {
      SmallVector<Flip> flips;
      const int64_t bits = llvm::Log2_64(rows * columns), middle = 1 + random.below(bits - 1);
      for (int64_t count = random.below(4); count-- > 0;)
        flips.push_back({Axis::offset, middle + random.below(bits - middle), Axis::offset,
                         random.below(middle)});
      memory = Layout(memory.getDims(), {}, flips);
    }
    const SharedAccess access{threads(vector, order()), vector};
    SCOPED_TRACE(access.threads.str() + " to " + memory.str());
    // Only consecutive elements can be one access.
    const SharedAccess real{access.threads,
                            std::min(vector, sharedVector(access.threads, memory, elementBytes))};
    auto count = [&](const SharedAccess &access, const Layout &memory) {
      int64_t worst = 1;
      for (int64_t reg = 0; reg < access.threads.extent(Axis::reg); reg += access.vector) {
        SmallVector<int64_t> addresses;
        for (int64_t lane = 0; lane < 32; ++lane)
          addresses.push_back(memory.apply(*access.threads.indexOf(reg, lane))[Axis::offset] *
                              elementBytes);
        worst = std::max(worst, conflictDegree(addresses, access.vector * elementBytes));
      }
      return worst;
    };
    const int64_t degree = conflictDegree(real, memory, elementBytes);
    ASSERT_EQ(degree, count(real, memory)) << "vector " << real.vector << " of " << elementBytes;
    conflicts += degree > 1;

    const Layout packed = Layout::packed({rows, columns}, {1, 0});
    SharedAccess accesses[] = {{threads(1, order()), 1}, {threads(vector, {1, 0}), vector}};
    for (SharedAccess &access : accesses)
      access.vector = std::min(access.vector, sharedVector(access.threads, packed, elementBytes));
    std::optional<Layout> swizzled = swizzleFor(packed, accesses, elementBytes);
    if (!swizzled)
      continue;
    ++solved;
    ASSERT_EQ(swizzled->problem(), "");
    for (const SharedAccess &access : accesses) {
      ASSERT_EQ(count(access, *swizzled), 1)
          << swizzled->str() << " read by " << access.threads.str();
      ASSERT_GE(sharedVector(access.threads, *swizzled, elementBytes), access.vector)
          << swizzled->str();
    }
  }
  EXPECT_GT(conflicts, 1000);
  EXPECT_GT(solved, 4000);
}

} // namespace
