// Propagates layouts through views.
#include "tilewright/dialect/sm/ViewMap.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

#include <limits>

using namespace tilewright::sm;
using llvm::ArrayRef, llvm::SmallVector, llvm::SmallVectorImpl;

ViewMap ViewMap::identity(ArrayRef<int64_t> shape) {
  ViewMap map{SmallVector<int64_t>(shape), SmallVector<int64_t>(shape), {}};
  for (auto [dim, size] : llvm::enumerate(shape))
    map.source.push_back({0, {{static_cast<int64_t>(dim), 1, std::max<int64_t>(size, 1), 1}}});
  return map;
}

SmallVector<int64_t> ViewMap::apply(ArrayRef<int64_t> index) const {
  SmallVector<int64_t> at;
  for (const ViewIndex &form : source) {
    int64_t sum = form.constant;
    for (const ViewPiece &piece : form.pieces)
      sum += index[piece.dim] / piece.stride % piece.size * piece.weight;
    at.push_back(sum);
  }
  return at;
}

//===- Layouts of sources and results -------------------------------------===//

namespace {
/// The digits of one dimension. take() removes the digits that a part of the index uses.
class DigitRange {
public:
  explicit DigitRange(const Layout::Digits &digits) : digits(digits), taken(digits.size()) {}

  /// Takes the digits with weights from `stride` to below `stride * size` (to the last digit if
  /// `toEnd`), most significant first. nullopt if a digit cannot be split at these bounds or was
  /// taken before.
  std::optional<Layout::Digits> take(int64_t stride, int64_t size, bool toEnd) {
    if (!cutAt(stride) || (!toEnd && !cutAt(stride * size)))
      return std::nullopt;
    Layout::Digits found;
    int64_t weight = 1;
    for (size_t i = digits.size(); i-- > 0; weight *= digits[i].size) {
      if (weight < stride || (!toEnd && weight >= stride * size) || digits[i].size == 1)
        continue;
      if (taken[i])
        return std::nullopt; // a digit cannot be taken twice
      taken[i] = true;
      found.insert(found.begin(), digits[i]);
    }
    int64_t product = 1;
    for (const Digit &digit : found)
      product *= digit.size;
    // The digits do not cover the whole range, for example in a dimension of size 1.
    if (!toEnd && product != size)
      return std::nullopt;
    return found;
  }

  /// The digits that take() has not removed.
  Layout::Digits rest() const {
    Layout::Digits left;
    for (size_t i = 0; i < digits.size(); ++i)
      if (!taken[i])
        left.push_back(digits[i]);
    return left;
  }

private:
  /// Splits the digit that crosses weight `at`. Returns false if it cannot be split evenly.
  bool cutAt(int64_t at) {
    int64_t weight = 1;
    for (size_t i = digits.size(); i-- > 0; weight *= digits[i].size) {
      if (weight >= at)
        return weight == at || at % weight == 0;
      if (weight * digits[i].size <= at)
        continue;
      const int64_t inside = at / weight;
      if (at % weight != 0 || digits[i].size % inside != 0)
        return false;
      Digit digit = digits[i];
      digits[i] = {inside, digit.axis, digit.stride};
      digits.insert(digits.begin() + i, {digit.size / inside, digit.axis, digit.stride * inside});
      taken.insert(taken.begin() + i, taken[i]);
      return true;
    }
    return weight >= at ? weight == at : true;
  }

  Layout::Digits digits;
  SmallVector<bool> taken;
};
} // namespace

/// The pieces by increasing weight, if they are digits: each weight is the product of the sizes of
/// all smaller pieces, and no piece is reversed.
static std::optional<SmallVector<ViewPiece>> digitsOf(const ViewIndex &form) {
  SmallVector<ViewPiece> pieces(
      llvm::make_filter_range(form.pieces, [](const ViewPiece &piece) { return piece.size != 1; }));
  llvm::sort(pieces, [](const ViewPiece &a, const ViewPiece &b) { return a.weight < b.weight; });
  int64_t covered = 1;
  for (const ViewPiece &piece : pieces) {
    if (piece.weight != covered)
      return std::nullopt;
    covered *= piece.size;
  }
  return pieces;
}

std::optional<Layout> tilewright::sm::sourceLayout(const Layout &result, const ViewMap &map) {
  if (!result.getFlips().empty() || result.getPad().amount != 0)
    return std::nullopt;
  SmallVector<DigitRange> ranges;
  for (const Layout::Digits &digits : result.getDims())
    ranges.emplace_back(digits);
  SmallVector<Layout::Digits> dims(map.source.size());
  int64_t nextRegister = result.extent(Axis::reg);
  for (auto [dim, form] : llvm::enumerate(map.source)) {
    std::optional<SmallVector<ViewPiece>> pieces = digitsOf(form);
    if (!pieces)
      return std::nullopt;
    int64_t covered = 1;
    for (auto [i, piece] : llvm::enumerate(*pieces)) {
      // The last piece may include indices outside of the tile, which the layout also covers.
      const bool atEnd = piece.stride * piece.size >= map.resultShape[piece.dim];
      const bool toEnd = atEnd && i + 1 == pieces->size() && form.constant == 0;
      auto digits = ranges[piece.dim].take(piece.stride, piece.size, toEnd);
      if (!digits)
        return std::nullopt;
      dims[dim].insert(dims[dim].begin(), digits->begin(), digits->end());
      covered *= piece.size;
    }
    int64_t covers = 1;
    for (const Digit &digit : dims[dim])
      covers *= digit.size;
    if (covers >= map.sourceShape[dim] && form.constant == 0)
      continue;
    // The view is a slice: put the other blocks of the source into additional registers.
    if (covers != covered || form.constant % covered != 0)
      return std::nullopt;
    const int64_t blocks = llvm::divideCeil(map.sourceShape[dim], covered);
    dims[dim].insert(dims[dim].begin(), {blocks, Axis::reg, nextRegister});
    nextRegister *= blocks;
  }
  Layout::Digits copies(result.getCopies());
  for (const DigitRange &range : ranges)
    llvm::append_range(copies, range.rest());
  Layout layout(dims, copies);
  if (!layout.problem().empty())
    return std::nullopt;
  return compactRegisters(layout).canonical();
}

std::optional<Layout> tilewright::sm::resultLayout(const Layout &source, const ViewMap &map) {
  if (!source.getFlips().empty() || source.getPad().amount != 0)
    return std::nullopt;
  // Each piece takes its digits from the source; then each dimension of the result is assembled
  // from its pieces.
  struct StridedDigits {
    int64_t stride, size;
    Layout::Digits digits;
  };
  SmallVector<SmallVector<StridedDigits>> parts(map.resultShape.size());
  for (auto [dim, form] : llvm::enumerate(map.source)) {
    DigitRange range(source.getDims()[dim]);
    for (const ViewPiece &piece : form.pieces) {
      if (piece.size == 1)
        continue;
      if (piece.weight < 1)
        return std::nullopt;
      const bool atEnd = piece.stride * piece.size >= map.resultShape[piece.dim];
      const bool wholeTop = piece.weight * piece.size >= map.sourceShape[dim];
      auto digits = range.take(piece.weight, piece.size, atEnd && wholeTop);
      if (!digits)
        return std::nullopt;
      parts[piece.dim].push_back({piece.stride, piece.size, *digits});
    }
    // A slice may drop digits of registers, but not digits of threads.
    for (const Digit &digit : range.rest())
      if (digit.size != 1 && digit.axis != Axis::reg)
        return std::nullopt;
    if (form.constant != 0) {
      int64_t covered = 1;
      for (const ViewPiece &piece : form.pieces)
        covered *= piece.size;
      if (form.constant % covered != 0)
        return std::nullopt;
    }
  }
  Layout::Digits copies(source.getCopies());
  int64_t nextRegister = source.extent(Axis::reg);
  SmallVector<Layout::Digits> dims;
  for (auto [dim, found] : llvm::enumerate(parts)) {
    Layout::Digits &digits = dims.emplace_back();
    llvm::sort(found,
               [](const StridedDigits &a, const StridedDigits &b) { return a.stride < b.stride; });
    int64_t covered = 1;
    // Adds digits that the source lacks (a broadcast) until the dimension covers `goal` values.
    auto broadcastTo = [&](int64_t goal) {
      for (size_t i = copies.size(); i-- > 0 && covered < goal;) {
        const int64_t want = llvm::divideCeil(goal, covered);
        Digit &copy = copies[i];
        if (copy.axis == Axis::reg || copy.size == 1)
          continue;
        const bool atEnd = goal == map.resultShape[dim];
        int64_t share = std::min<int64_t>(copy.size, llvm::PowerOf2Ceil(want));
        if (copy.size % share != 0 || (!atEnd && want % share != 0))
          continue;
        digits.insert(digits.begin(), {share, copy.axis, copy.stride});
        copy = {copy.size / share, copy.axis, copy.stride * share};
        covered *= share;
      }
      const int64_t left = llvm::divideCeil(goal, covered);
      if (left > 1) {
        digits.insert(digits.begin(), {left, Axis::reg, nextRegister});
        nextRegister *= left;
        covered *= left;
      }
    };
    for (const StridedDigits &part : found) {
      if (part.stride % covered != 0)
        return std::nullopt;
      broadcastTo(part.stride);
      if (covered != part.stride)
        return std::nullopt;
      digits.insert(digits.begin(), part.digits.begin(), part.digits.end());
      for (const Digit &digit : part.digits)
        covered *= digit.size;
    }
    broadcastTo(map.resultShape[dim]);
  }
  Layout layout(dims, copies);
  if (!layout.problem().empty())
    return std::nullopt;
  return compactRegisters(layout).canonical();
}

//===- Registers of a view ------------------------------------------------===//

namespace {
/// The indices that a layout's threads hold, precomputed for repeated queries.
class HeldIndices {
public:
  explicit HeldIndices(const Layout &layout) : layout(layout), rank(layout.rank()) {
    // Without flips, the index is a sum over the axes.
    if (!layout.getFlips().empty())
      return;
    for (const IndexForm &form : layout.indexForms()) {
      registers.push_back(form.registers);
      for (auto [i, axis] : llvm::enumerate(axes)) {
        SmallVector<int64_t> part(layout.extent(axis), 0);
        for (const IndexTerm &term : form.terms)
          if (term.axis == axis)
            for (auto [at, index] : llvm::enumerate(part))
              index += static_cast<int64_t>(at) / term.stride % term.size * term.weight;
        parts[i].push_back(std::move(part));
      }
    }
  }

  void get(int64_t reg, const int64_t (&thread)[4], SmallVectorImpl<int64_t> &index) const {
    if (!layout.getFlips().empty()) {
      auto found = layout.indexOf(reg, thread[0], thread[1], thread[2], thread[3]);
      index.assign(rank, std::numeric_limits<int64_t>::max());
      if (found)
        index = *found;
      return;
    }
    index.resize(rank);
    for (int64_t dim = 0; dim < rank; ++dim)
      index[dim] = registers[dim][reg] + parts[0][dim][thread[0]] + parts[1][dim][thread[1]] +
                   parts[2][dim][thread[2]] + parts[3][dim][thread[3]];
  }

private:
  static constexpr Axis axes[4] = {Axis::lane, Axis::warp, Axis::group, Axis::cta};
  const Layout &layout;
  int64_t rank;
  SmallVector<SmallVector<int64_t>> registers;
  SmallVector<SmallVector<int64_t>> parts[4];
};
} // namespace

std::optional<SmallVector<int64_t>>
tilewright::sm::registersOfView(const Layout &result, const Layout &source, const ViewMap &map) {
  const int64_t registers = result.extent(Axis::reg), sources = source.extent(Axis::reg);
  for (Axis axis : {Axis::lane, Axis::warp, Axis::group, Axis::cta})
    if (result.extent(axis) != source.extent(axis) || !result.isDense(axis) ||
        !source.isDense(axis))
      return std::nullopt;
  if (!result.isDense(Axis::reg) || !source.isDense(Axis::reg))
    return std::nullopt;
  const HeldIndices held(result), there(source);
  SmallVector<int64_t> from(registers, -1), index, found;
  int64_t thread[4];
  auto holds = [&](int64_t candidate, const SmallVector<int64_t> &wanted) {
    there.get(candidate, thread, found);
    return found == wanted;
  };
  for (thread[3] = 0; thread[3] < result.extent(Axis::cta); ++thread[3])
    for (thread[2] = 0; thread[2] < result.extent(Axis::group); ++thread[2])
      for (thread[1] = 0; thread[1] < result.extent(Axis::warp); ++thread[1])
        for (thread[0] = 0; thread[0] < result.extent(Axis::lane); ++thread[0])
          for (int64_t reg = 0; reg < registers; ++reg) {
            held.get(reg, thread, index);
            bool inside = true;
            for (size_t dim = 0; inside && dim < index.size(); ++dim)
              inside = index[dim] < map.resultShape[dim];
            if (!inside)
              continue;
            const SmallVector<int64_t> wanted = map.apply(index);
            for (int64_t candidate = 0; candidate < sources && from[reg] < 0; ++candidate)
              if (holds(candidate, wanted))
                from[reg] = candidate;
            if (from[reg] < 0 || !holds(from[reg], wanted))
              return std::nullopt;
          }
  return from;
}
